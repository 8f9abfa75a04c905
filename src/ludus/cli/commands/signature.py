"""``ludus signature``."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import option
from ludus.cli.errors import DONE, CheckError


class Signature(msgspec.Struct, frozen=True):
    """Print a hash of the behaviour of all games, and one per game.

    It changes when a game behaves differently, and is equal on every machine, compiler and thread count.
    With --expect, exit code 3 if it differs.
    """

    EXAMPLES: ClassVar = ("ludus signature",)

    expect: Annotated[str, option("the expected hash", "HEX")] = ""
    json: Annotated[bool, option("print one JSON document")] = False

    def run(self) -> int:
        """Print the hashes, compare them with ``--expect`` and return the exit code."""
        from ludus.games.registry import BUILT_IN
        from ludus.games.simulate import game_signature, signature

        whole = signature()
        games = {name: game_signature(name) for name in BUILT_IN}
        if self.json:
            console.document({"signature": whole, "games": games})
        else:
            console.result(whole)
            console.result(console.table(list(games.items()), indent="  "))
        if self.expect and self.expect != whole:
            raise CheckError(
                f"the signature is {whole}, expected {self.expect}: some game behaves differently"
            )
        return DONE

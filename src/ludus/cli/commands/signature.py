"""``ludus signature``."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ludus.cli import console
from ludus.cli.arguments import option
from ludus.cli.errors import DONE, CheckError


class Signature(msgspec.Struct, frozen=True):
    """One number for the behaviour of all games, and one for each: they change when a game's behaviour does.

    Equal on every machine, compiler and thread count. With --expect, exit code 3 if it is another."""

    expect: Annotated[str, option("the number that it has to be", "HEX")] = ""
    json: Annotated[bool, option("one JSON document on stdout")] = False

    def run(self) -> int:
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

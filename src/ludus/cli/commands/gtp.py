"""``ludus gtp``."""

from __future__ import annotations

import io
import secrets
import sys
from typing import Annotated, ClassVar

import msgspec

from ludus.cli.arguments import option, positional
from ludus.cli.errors import DONE
from ludus.cli.match_options import DeviceOption
from ludus.cli.params import game_spec, read_params

Natural = Annotated[int, msgspec.Meta(ge=0)]
MAX_SEED = 2**31 - 1
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Gtp(msgspec.Struct, frozen=True):
    """Run a Go engine for GTP programs and graphical boards.

    Speaks GTP 2 on stdin and stdout; diagnostics go to stderr.

    PLAYER is a bot (random, tactical), RUN@best, RUN@last, RUN@VERSION, RUN@PLAYER of a league or a weights
    file. Append +search:VISITS to search with the network; mcts:VISITS searches with random playouts. The
    controller sets board size and komi; a network keeps the size that it was trained on.
    """

    EXAMPLES: ClassVar = (
        "ludus gtp RUN@best+search:400 --resign 0.9",
        "ludus gtp mcts:200 --size 9",
    )

    player: Annotated[str, positional("the player that chooses the moves")]
    size: Annotated[Natural, option("initial board size (default: the player's own, or 19)", "N")] = 0
    param: Annotated[tuple[str, ...], option("set a parameter of the game; repeatable", "NAME=VALUE")] = ()
    resign: Annotated[
        Share, option("resign when the value falls below -VALUE; 0 = never (default: 0)", "VALUE")
    ] = 0.0
    greedy: Annotated[bool, option("play the network's most probable move instead of sampling")] = False
    ponder: Annotated[bool, option("search on the opponent's time too")] = False
    seed: Annotated[Natural, option("seed of the player; 0 = a random one (default: 0)", "N")] = 0
    device: DeviceOption = "auto"
    quiet: Annotated[bool, option("print nothing on stderr")] = False

    def run(self) -> int:
        """Serve GTP on stdin and stdout until ``quit`` or the end of input; return the exit code."""
        params = read_params(self.param)
        if self.size:
            params["size"] = self.size
        game_spec("go", params)
        from ludus.cli.console import note
        from ludus.gtp import console
        from ludus.gtp.engine import Engine
        from ludus.gtp.resolve import resolve_player
        from ludus.storage.references import labelled

        def log(text: str) -> None:
            if not self.quiet:
                note(text)

        text = {name: str(value) for name, value in params.items()}
        seed = self.seed or secrets.randbelow(MAX_SEED) + 1
        player = resolve_player(self.player, text, seed=seed, greedy=self.greedy, device=self.device)
        log(f"{labelled(player.name)}: seed {seed}")
        engine = Engine(player, text, seed=seed, resign=self.resign, log=log)
        # A stream is None where the caller has closed it.
        stdin = sys.stdin.buffer if sys.stdin else None
        console.run(engine, stdin, sys.stdout or io.StringIO(), ponder=self.ponder)
        return DONE

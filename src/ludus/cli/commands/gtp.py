"""``ludus gtp``."""

from __future__ import annotations

import secrets
import sys
from typing import Annotated

import msgspec

from ludus.cli.arguments import option, positional
from ludus.cli.errors import DONE
from ludus.cli.params import game_spec, read_params

Natural = Annotated[int, msgspec.Meta(ge=0)]
MAX_SEED = 2**31 - 1
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Gtp(msgspec.Struct, frozen=True):
    """A Go player for programs and graphical boards: GTP 2 on stdin and stdout, diagnostics on stderr.

    A player is a bot's name (random, tactical), RUN@best, RUN@last, RUN@VERSION or a weights file; these
    weights with +search:VISITS behind them search, mcts:VISITS searches with random matches. Size and
    komi are the controller's to change; a network keeps the size it was trained on."""

    player: Annotated[str, positional("who chooses the moves")]
    size: Annotated[
        Natural, option("lines of the board at the start (default: the player's, or 19)", "N")
    ] = 0
    param: Annotated[tuple[str, ...], option("a parameter of the rules; may be repeated", "NAME=VALUE")] = ()
    resign: Annotated[Share, option("give up where the value is below minus this; 0 = never", "VALUE")] = 0.0
    greedy: Annotated[bool, option("a network plays its likeliest move instead of drawing one")] = False
    ponder: Annotated[bool, option("a player that searches thinks on the opponent's time too")] = False
    seed: Annotated[Natural, option("of what the player draws; 0 = drawn anew", "N")] = 0
    quiet: Annotated[bool, option("nothing on stderr")] = False

    def run(self) -> int:
        params = read_params(self.param)
        if self.size:
            params["size"] = self.size
        game_spec("go", params)
        from ludus.gtp import console
        from ludus.gtp.engine import Engine
        from ludus.gtp.resolve import resolve_player

        def log(text: str) -> None:
            if not self.quiet:
                print(text, file=sys.stderr, flush=True)

        text = {name: str(value) for name, value in params.items()}
        seed = self.seed or secrets.randbelow(MAX_SEED) + 1
        player = resolve_player(self.player, text, seed=seed, greedy=self.greedy)
        log(f"{player.name}: seed {seed}")
        engine = Engine(player, text, seed=seed, resign=self.resign, log=log)
        console.run(engine, sys.stdin.buffer, sys.stdout, ponder=self.ponder)
        return DONE

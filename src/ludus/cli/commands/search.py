"""``ludus search bench``."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import option, positional
from ludus.cli.errors import DONE
from ludus.cli.match_options import DeviceOption
from ludus.cli.params import game_spec, read_game

Count = Annotated[int, msgspec.Meta(ge=1, le=1 << 16)]
Natural = Annotated[int, msgspec.Meta(ge=0, le=1 << 16)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=3600)]


class Bench(msgspec.Struct, frozen=True):
    """Measure search speed: simulations without a network, and self-play with one.

    Simulations use a free evaluator on one thread and include rules and observations. With --blocks, a
    residual network of that size is timed alone and in self-play, alternately.
    """

    EXAMPLES: ClassVar = (
        "ludus search bench connect_four",
        "ludus search bench connect_four --blocks 6 --filters 64",
    )

    game: Annotated[str, positional("a game's name")]
    slots: Annotated[Count, option("simultaneous matches per thread", "N")] = 64
    visits: Annotated[Count, option("visits per move", "N")] = 400
    blocks: Annotated[Natural, option("residual blocks of the network; 0 = no network (default: 0)", "N")] = 0
    filters: Annotated[Count, option("filters per convolution", "N")] = 64
    threads: Annotated[Natural, option("self-play threads; 0 = all processors (default: 0)", "N")] = 0
    seconds: Annotated[Seconds, option("measuring time in seconds, approximately", "S")] = 6.0
    param: Annotated[tuple[str, ...], option("set a parameter of the game; repeatable", "NAME=VALUE")] = ()
    device: DeviceOption = "auto"
    json: Annotated[bool, option("print one JSON document")] = False

    def run(self) -> int:
        """Measure, print the rates and return the exit code."""
        game, params = read_game(self.game, self.param)
        game_spec(game, params)
        from ludus.bench.search import bench_search
        from ludus.games import text_params
        from ludus.presets.config import RunConfig

        bench = bench_search(
            game,
            text_params(params),
            slots=self.slots,
            visits=self.visits,
            blocks=self.blocks,
            filters=self.filters,
            run=RunConfig(threads=self.threads, device=self.device),
            seconds=self.seconds,
        )
        if self.json:
            console.document(bench)
            return DONE
        si = console.si
        rows = [
            ("simulations", f"{si(bench.simulations_per_s)}/s on one thread, evaluator null"),
            ("moves", f"{si(bench.moves_per_s)}/s of {bench.visits} visits, {bench.slots} matches at once"),
            ("random matches", f"{si(bench.rollouts_per_s)}/s on one thread, from the leaves of a search"),
        ]
        if bench.network:
            rows += [
                (
                    "network",
                    f"{bench.network}, {bench.parameters:,} numbers, {bench.precision}, "
                    f"{bench.threads} threads on {bench.device}",
                ),
                ("alone", f"{si(bench.raw_per_s)} evaluations/s in batches of {bench.raw_batch}"),
                (
                    "self-play",
                    f"{si(bench.self_play_per_s)} evaluations/s: {console.percent(bench.share)} of it, "
                    f"batches filled to {console.percent(bench.batch_fill)}",
                ),
            ]
        console.result(console.table(rows))
        return DONE

"""``ludus bench sim``, ``ludus bench train`` and ``ludus bench cluster``."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import option, positional
from ludus.cli.errors import DONE, UserError
from ludus.cli.params import check_bot, game_spec, read_game
from ludus.flow.inputs.shown import shell

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ludus.flow.spec import GameSpec
    from ludus.games.simulate import SimBench
    from ludus.presets.config import ParamValue

Count = Annotated[int, msgspec.Meta(ge=1)]
Natural = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=3600)]
JSON = option("print one JSON document")
PROBE_TICKS = 50_000
UNIFORM = "uniform"


class BenchSim(msgspec.Struct, frozen=True):
    """Measure simulation speed of a game: bots against bots in the core, then the same through the pool.

    ns_per_tick is per core. pool_overhead is the share of ticks/s that the pool costs with the same bots and
    threads. A Python game is played at random by the pool's worker processes, in turns with its library
    without Ludus in as many processes, where the adapter can: share_of_bare is the pool's share of that.
    """

    EXAMPLES: ClassVar = (
        "ludus bench sim minirts",
        "ludus bench sim atari/Breakout --threads 2 --matches 8",
        "ludus bench sim go --param size=9 --threads 0 --json",
    )

    game: Annotated[str, positional("a game's name, or the path of a compiled game")]
    bots: Annotated[
        str, option("one bot for all seats, or one per seat (default: the game's first)", "A,B")
    ] = ""
    threads: Annotated[
        Natural, option("simulation threads, or worker processes; 0 = all processors", "N")
    ] = 1
    frame_skip: Annotated[Natural, option("ticks between decisions (default: the game's)", "N")] = 0
    seconds: Annotated[Seconds, option("measuring time in seconds, approximately", "S")] = 3.0
    matches: Annotated[Count, option("simultaneous matches per thread", "N")] = 16
    param: Annotated[tuple[str, ...], option("set a parameter of the game; repeatable", "NAME=VALUE")] = ()
    seed: Annotated[Natural, option("seed of the matches", "N")] = 1
    json: Annotated[bool, JSON] = False

    def run(self) -> int:
        """Measure, print the rates and return the exit code."""
        from ludus.games.registry import is_python
        from ludus.games.simulate import bench_sim

        game, params = read_game(self.game, self.param)
        spec = game_spec(game, params)
        threads = self.threads or usable_processors()
        if is_python(game):
            return self._hosted(game, params, threads)
        bots = self._bots(spec)
        skip = [self.frame_skip] if self.frame_skip else []

        def measure(ticks: int) -> SimBench:
            return bench_sim(
                game,
                params,
                bots=bots,
                frame_skip=skip,
                threads=threads,
                matches=self.matches,
                ticks=ticks,
                seed=self.seed,
            )

        probe = measure(PROBE_TICKS)
        bench = measure(max(PROBE_TICKS, round(probe.ticks_per_s / threads * self.seconds)))
        numbers: dict[str, object] = {
            **msgspec.to_builtins(bench),
            "ns_per_unit_tick": bench.ns_per_unit,
            "bots": bots,
            "frame_skip": self.frame_skip or spec.default_frame_skip,
        }
        if UNIFORM not in bots:
            pool = pool_ticks_per_s(
                game,
                params,
                bots,
                self.frame_skip,
                threads,
                self.matches,
                self.seconds / 2,
                self.seed,
            )
            numbers |= {"pool_ticks_per_s": pool, "pool_overhead": 1.0 - pool / bench.ticks_per_s}
        if self.json:
            console.document(numbers)
            return DONE
        unit = f", {bench.ns_per_unit:.2f} ns a unit" if bench.ns_per_unit is not None else ""
        rows = [
            ("ticks", f"{console.si(bench.ticks_per_s)}/s on {threads} thread{'s' if threads > 1 else ''}"),
            ("decisions", f"{console.si(bench.steps_per_s)}/s at frame skip {numbers['frame_skip']}"),
            ("a tick", f"{bench.ns_per_tick:.1f} ns on one core{unit}"),
            ("a state", f"{bench.state_bytes} bytes, cloned in {bench.clone_ns:.1f} ns"),
            (
                "matches",
                f"{bench.matches} of {bench.mean_match_ticks:.0f} ticks on average, {' against '.join(bots)}",
            ),
        ]
        if "pool_ticks_per_s" in numbers:
            overhead = 1.0 - pool / bench.ticks_per_s
            rows.append(("pool", f"{console.si(pool)} ticks/s: the pool costs {console.percent(overhead)}"))
        console.result(console.table(rows))
        return DONE

    def _hosted(self, game: str, params: Mapping[str, ParamValue], threads: int) -> int:
        """Measure a Python game, print the rates and return the exit code."""
        from ludus.bench.hosted import bench_hosted

        for option_name, given in (("--bots", self.bots), ("--frame-skip", self.frame_skip)):
            if given:
                raise UserError(
                    f"{option_name} {given}: {game} is written in Python, and the core has no bots and no "
                    f"frame skip for it; expected --param, see: ludus games show {shell(game)}"
                )
        b = bench_hosted(
            game, params, threads=threads, matches=self.matches, seconds=self.seconds, seed=self.seed
        )
        if self.json:
            console.document(b)
            return DONE
        si, of = console.si, f"{b.threads} process{'es' if b.threads > 1 else ''}"
        frames = f", {si(b.frames_per_s)} frames/s" if b.frames > 1 else ""
        rows = [("pool", f"{si(b.ticks_per_s)} ticks/s{frames} by {of}, {b.matches} matches")]
        if b.bare_ticks_per_s is not None and b.bare_frames_per_s is not None:
            frames = f", {si(b.bare_frames_per_s)} frames/s" if b.frames > 1 else ""
            rows.append(("library", f"{si(b.bare_ticks_per_s)} ticks/s{frames} by {of} without Ludus"))
        if b.share_of_bare is not None:
            rows.append(("share", f"the pool reaches {console.percent(b.share_of_bare)} of the library"))
        if b.failed:
            rows.append(("failed", f"{b.failed} matches: see ludus games check {shell(game)}"))
        console.result(console.table(rows))
        return DONE

    def _bots(self, spec: GameSpec) -> list[str]:
        """Return the bot of each seat. Raise :class:`UserError` for a wrong number or name."""
        names = [name.strip() for name in self.bots.split(",") if name.strip()]
        if not names:
            names = [spec.bots[0].name if spec.bots else UNIFORM]
        if len(names) == 1:
            names *= spec.seats
        if len(names) != spec.seats:
            raise UserError(
                f"--bots {self.bots}: {spec.name} has {spec.seats} seats; expected one bot or one per seat"
            )
        for name in names:
            check_bot(name, spec, self.game, (UNIFORM,))
        return names


class BenchTrain(msgspec.Struct, frozen=True):
    """Measure training speed of a preset, and compare it with the limits of this machine.

    The limits: the pool alone with random actions; the network alone (inference and learning) on the same
    batches; both together, an upper bound for any arrangement of the same work. Any setting of the preset
    can be given as for ludus train. Writes no files.
    """

    EXAMPLES: ClassVar = (
        "ludus bench train minirts",
        "ludus bench train minirts --run.threads 4 --seconds 60",
    )

    preset: Annotated[str, positional("name of a shipped preset, or a TOML file")]
    method: Annotated[
        str, option("Python file with the learning method to train by (sets algorithm.name)", "FILE.py")
    ] = ""
    seconds: Annotated[Seconds, option("measuring time in seconds, approximately", "S")] = 20.0
    json: Annotated[bool, JSON] = False
    overrides: dict[str, str] = {}

    def run(self) -> int:
        """Train for the measuring time, print the rates and return the exit code."""
        from ludus.presets.checks.game import check_game
        from ludus.presets.file import load_preset
        from ludus.presets.method_file import with_method

        loaded = load_preset(self.preset, with_method(self.method, self.overrides))
        check_game(loaded)
        from ludus.bench.training import bench_train

        b = bench_train(loaded.preset, self.seconds, name=loaded.name)
        if self.json:
            console.document(b)
            return DONE
        si, percent = console.si, console.percent
        alone, of_pool = si(b.pure_steps_per_s), percent(b.share_of_pure_simulation)
        rows = [
            ("", "ticks/s", "decisions/s", "share"),
            ("training", si(b.frames_per_s), si(b.steps_per_s), ""),
            ("simulation alone", si(b.pure_frames_per_s), alone, of_pool),
            ("network alone", "", si(b.network_steps_per_s), percent(b.share_of_learner_limit)),
            ("  inference", "", si(b.inference_steps_per_s), ""),
            ("  learning", "", si(b.learning_steps_per_s), ""),
            ("both together", "", si(b.combined_limit_steps_per_s), percent(b.share_of_combined_limit)),
        ]
        console.result(
            f"{b.preset}: {b.game}, {b.lag}, {b.threads} threads, {b.device}, {b.precision}, "
            f"{b.parameters:,} parameters, {b.matches} matches at once"
        )
        console.result(console.table(rows, indent="  "))
        console.result(
            f"lag {b.lag_versions:.2f} versions, sample reuse {b.sample_reuse:.2f}; waiting: sampler "
            f"{percent(b.sampler_wait_share)}, learner {percent(b.learner_wait_share)}"
        )
        console.result(b.advice)
        return DONE


class BenchCluster(msgspec.Struct, frozen=True):
    """Measure what the rollouts of a Ray cluster cost or gain, against one process.

    Rounds (a slab of every rollout, then an update) are timed in turns: one process plays all matches itself,
    then the rollouts play as many. Both run in sync, with cluster.cpus threads a process. With one rollout
    the difference is the overhead of the cluster. Any setting of the preset can be given as for ludus train.
    Writes no files.
    """

    EXAMPLES: ClassVar = (
        "ludus bench cluster minirts --rollouts 1",
        "ludus bench cluster minirts --rollouts 16 --cluster.address 10.0.0.1:6379 --json",
    )

    preset: Annotated[str, positional("name of a shipped preset, or a TOML file")]
    rollouts: Annotated[Count, option("number of rollouts", "N")] = 1
    seconds: Annotated[Seconds, option("measuring time in seconds, approximately", "S")] = 20.0
    json: Annotated[bool, JSON] = False
    overrides: dict[str, str] = {}

    def run(self) -> int:
        """Train both ways for the measuring time, print the rates and return the exit code."""
        from ludus.cli.commands.train import machines_of
        from ludus.presets.checks.game import check_game
        from ludus.presets.file import load_preset

        given = {"run.lag": "sync"} | self.overrides | {"cluster.rollouts": str(self.rollouts)}
        loaded = load_preset(self.preset, given)
        check_game(loaded)
        if loaded.preset.run.lag != "sync":
            raise UserError(
                f'run.lag = "{loaded.preset.run.lag}": expected "sync", in which both ways are equal'
            )
        from ludus.bench.cluster import bench_cluster

        with machines_of(loaded.preset) as machines:
            b = bench_cluster(loaded.preset, machines, self.seconds, name=loaded.name)
        if self.json:
            console.document(b)
            return DONE
        si = console.si
        rows = [
            ("", "a round", "decisions/s"),
            ("one process", f"{1000 * b.process_round_s:.1f} ms", si(b.process_steps_per_s)),
            (
                f"{b.rollouts} rollout{'s' if b.rollouts > 1 else ''}",
                f"{1000 * b.cluster_round_s:.1f} ms",
                si(b.cluster_steps_per_s),
            ),
        ]
        console.result(
            f"{b.preset}: {b.game}, {b.threads} thread{'s' if b.threads > 1 else ''} a process, "
            f"{b.matches} matches at once, {b.rounds} rounds each way"
        )
        console.result(console.table(rows, indent="  "))
        longer = "longer" if b.overhead_percent >= 0.0 else "shorter"
        console.result(f"a round of the cluster takes {abs(b.overhead_percent):.1f}% {longer}")
        same = "the same weights" if b.same_weights else "other weights: the machines compute differently"
        console.result(f"both ways led to {same}")
        return DONE


def pool_ticks_per_s(
    game: str,
    params: dict[str, str | int | float | bool],
    bots: list[str],
    frame_skip: int,
    threads: int,
    matches: int,
    seconds: float,
    seed: int,
) -> float:
    """Ticks per second of the pool with bots in every seat, with ``matches`` matches per thread."""
    from ludus.flow import Controller, Lineup, PoolOptions, SeatPlan
    from ludus.pool.native import NativePool

    plans = tuple(SeatPlan((Controller(bot=bot),), frame_skip=frame_skip) for bot in bots)
    workers = 0 if threads == 1 else threads
    groups = 1 if workers == 0 else 2
    with NativePool(
        game,
        params,
        Lineup(plans, rotate=False),
        PoolOptions(
            slots=matches * threads * groups, groups=groups, threads=workers, seed=seed, num_matches=2**40
        ),
    ) as pool:
        started, before = time.perf_counter(), pool.stats().ticks
        while (elapsed := time.perf_counter() - started) < seconds:
            for group in range(groups):
                pool.recv(group)
                pool.send(group)
        return (pool.stats().ticks - before) / elapsed


def usable_processors() -> int:
    """Return the number of processors available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

"""Speed of training by the rollouts of a cluster, against one process that plays the same matches.

Rounds are timed in turns, so that other load on the machine affects both alike.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from statistics import median

import msgspec
import torch

from ludus.bench.training import seat_first
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.training.actor_learner.build import Components, build
from ludus.training.actor_learner.trainer import make_rounds, slabs_of
from ludus.training.machines import JoinedMachines, Machines

WARM_ROUNDS = 3


class BenchClusterResult(msgspec.Struct, frozen=True):
    """Medians of the rounds of both ways.

    Attributes:
        preset: Name of the preset.
        game: Name of the game.
        rollouts: Number of rollouts.
        threads: Threads of each process.
        matches: Matches at once, over all rollouts.
        rounds: Number of rounds that were timed each way.
        process_round_s: Seconds of a round in one process.
        cluster_round_s: Seconds of a round by the rollouts.
        process_steps_per_s: Decisions per second in one process.
        cluster_steps_per_s: Decisions per second by the rollouts.
        overhead_percent: By which a round of the cluster is longer, negative where it is shorter.
        same_weights: Whether both ways led to the same weights, bit for bit.
    """

    preset: str
    game: str
    rollouts: int
    threads: int
    matches: int
    rounds: int
    process_round_s: float
    cluster_round_s: float
    process_steps_per_s: float
    cluster_steps_per_s: float
    overhead_percent: float
    same_weights: bool


def bench_cluster(
    preset: Preset, machines: Machines, seconds: float = 20.0, *, name: str = ""
) -> BenchClusterResult:
    """Time rounds of ``preset`` both ways for about ``seconds``. Write no files.

    Args:
        preset: Settings with ``cluster.rollouts`` >= 1 and ``run.lag = "sync"``.
        machines: Maker of the sampler over the rollouts.
        seconds: Measuring time.
        name: Name of the preset, for the result.

    Raises:
        ConfigError: The preset cannot be built, or ``seconds`` is not positive.
    """
    if seconds <= 0:
        raise ConfigError(f"seconds = {seconds}: expected more than 0")
    cluster = preset.cluster
    if cluster.learners > 1:
        raise ConfigError(f"cluster.learners = {cluster.learners}: expected 1, as in one process")
    run = msgspec.structs.replace(preset.run, threads=cluster.cpus)
    preset = msgspec.structs.replace(preset, run=run)
    with ExitStack() as opened:
        process = _Way(preset, JoinedMachines(cluster.rollouts), opened)
        rollouts = _Way(preset, machines, opened)
        for way in (process, rollouts) * WARM_ROUNDS:
            way.round()
        process.start()
        rollouts.start()
        end = time.perf_counter() + seconds
        while not rollouts.times or time.perf_counter() < end:
            process.round()
            rollouts.round()
        one, many = median(process.times), median(rollouts.times)
        return BenchClusterResult(
            preset=name or preset.title,
            game=process.components.spec.name,
            rollouts=cluster.rollouts,
            threads=cluster.cpus,
            matches=cluster.rollouts * preset.pool.slots,
            rounds=len(rollouts.times),
            process_round_s=one,
            cluster_round_s=many,
            process_steps_per_s=process.steps / sum(process.times),
            cluster_steps_per_s=rollouts.steps / sum(rollouts.times),
            overhead_percent=100.0 * (many / one - 1.0),
            same_weights=_equal(process.components, rollouts.components),
        )


class _Way:
    """A training from scratch whose rounds are timed."""

    def __init__(self, preset: Preset, machines: Machines, opened: ExitStack) -> None:
        self.components = build(preset, slabs_of(preset.run), 0, machines)
        opened.callback(self.components.close)
        seat_first(self.components, preset)
        threads, self._rounds = make_rounds(self.components, preset)
        opened.callback(threads.close)
        opened.callback(self._rounds.close)
        self.start()

    def start(self) -> None:
        """Forget the rounds so far."""
        self.steps, self.times = 0, list[float]()

    def round(self) -> None:
        """Collect a slab and learn from it."""
        start = time.perf_counter()
        self.steps += self._rounds.run(0.0).received
        self.times.append(time.perf_counter() - start)


def _equal(one: Components, other: Components) -> bool:
    mine, theirs = one.learner.network.state_dict(), other.learner.network.state_dict()
    return all(torch.equal(tensor, theirs[name]) for name, tensor in mine.items())

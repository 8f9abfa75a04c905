"""Decisions/s of thin rollouts and an inference server, against rollouts with networks, on two processors.

    python -m benchmarks.inference_server --turns 9
    python -m benchmarks.inference_server --turns 9 --memory lstm --memory-size 256

Both ways play the same preset, a residual network on Pommerman, from the same weights, without learning: some
slabs the one way, then as many the other way, in turns. All processes of both ways have the same two
processors; the other way's processes sleep meanwhile. Decisions per second of a processor depend less on
other programs of the machine. With ``--memory`` the memory of a row travels with each request and back, which
the same ratio without memory shows the cost of.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgspec
import ray

from ludus.cluster.fleet import Fleet
from ludus.cluster.inference.servers import InferenceServers
from ludus.cluster.processes.crew import Crew
from ludus.cluster.remote_sampler import RemoteSampler
from ludus.cluster.session import connect, disconnect
from ludus.flow import Orders
from ludus.presets.config import ClusterConfig, Preset
from ludus.presets.file import load_preset
from ludus.rollouts.commands import LoadWeights, SeatPlayers
from ludus.training.actor_learner.build import LocalWeights, build_learner

PRESET = "pommerman"
SETTINGS = {
    "policy.convolution": "residual",
    "run.lag": "sync",
    "run.threads": "1",
    "pool.rollout_length": "16",
}
PROCESSORS = 2
WARM = 1  # turns that are not counted


@contextmanager
def cluster(processors: int, processes: int) -> Iterator[None]:
    """Start a cluster on some processors that takes ``processes`` of one processor each.

    Args:
        processors: Processors that all of them share.
        processes: Number of processes.
    """
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:processors])
    start: Callable[..., object] = ray.init

    def init(**options: object) -> object:
        return start(num_cpus=processes, **options)

    ray.init = init
    try:
        connect(ClusterConfig())
    finally:
        ray.init = start
    try:
        yield
    finally:
        disconnect()


class Rates(NamedTuple):
    """Decisions per second, and per second of a processor."""

    per_s: float
    per_busy_s: float


def busy_s(pid: int) -> float:
    """Return the seconds of processors that a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Way:
    """A sampler over rollouts that plays slabs with the weights that a run starts with."""

    def __init__(self, preset: Preset, opened: ExitStack) -> None:
        """Start the processes of ``preset``. ``opened`` ends them."""
        servers = InferenceServers(preset) if preset.cluster.inference else None
        if servers is not None:
            opened.callback(servers.close)
        crew = Crew(preset)
        opened.callback(crew.close)
        fleet = Fleet(preset, crew=crew, servers=servers)
        self._sampler = RemoteSampler(fleet, 1)
        opened.callback(self._sampler.close)
        learner = build_learner(preset)
        self._sampler.send(LoadWeights({p: LocalWeights(learner) for p in self._sampler.facts.actors}))
        self._sampler.send(SeatPlayers(Orders()))
        self._pids = [*fleet.pids(), *([] if servers is None else servers.pids())]

    def turn(self, slabs: int) -> Rates:
        """Play ``slabs`` slabs and return the decisions."""
        start, busy, decisions = time.perf_counter(), self._busy(), 0
        for _ in range(slabs):
            decisions += self._sampler.play(self._sampler.facts.slabs[0]).decisions
        return Rates(decisions / (time.perf_counter() - start), decisions / (self._busy() - busy))

    def _busy(self) -> float:
        """Return the seconds of processors that the processes have had."""
        return sum(busy_s(pid) for pid in self._pids)


def measured(preset: Preset, turns: int, slabs: int) -> tuple[list[Rates], list[Rates]]:
    """Return the rates of each turn of rollouts with networks, and of thin ones with a server."""
    alone = msgspec.structs.replace(preset.cluster, inference=0)
    with cluster(PROCESSORS, 2 * preset.cluster.rollouts + preset.cluster.inference), ExitStack() as opened:
        own = Way(msgspec.structs.replace(preset, cluster=alone), opened)
        thin = Way(preset, opened)
        rates: tuple[list[Rates], list[Rates]] = ([], [])
        for turn in range(WARM + turns):
            order = (own, thin) if turn % 2 else (thin, own)
            found = {id(way): way.turn(slabs) for way in order}
            if turn >= WARM:
                rates[0].append(found[id(own)])
                rates[1].append(found[id(thin)])
        return rates


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("preset", nargs="?", default=PRESET)
    parser.add_argument("--turns", type=int, default=9, help="turns of each way")
    parser.add_argument("--slabs", type=int, default=4, help="slabs of a turn")
    parser.add_argument("--rollouts", type=int, default=2)
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--slots", type=int, default=0, help="matches of a rollout; 0 = the preset's")
    parser.add_argument("--memory", choices=("none", "gru", "lstm"), default="none")
    parser.add_argument("--memory-size", type=int, default=128)
    given = parser.parse_args()
    settings = SETTINGS | {
        "policy.memory": given.memory,
        "cluster.rollouts": str(given.rollouts),
        "cluster.inference": str(given.servers),
    }
    if given.slots:
        settings["pool.slots"] = str(given.slots)
    if given.memory != "none":
        settings["policy.memory_size"] = str(given.memory_size)
    own, thin = measured(load_preset(given.preset, settings).preset, given.turns, given.slabs)
    for unit, field in (("decisions/s", 0), ("decisions/s of a processor", 1)):
        found = sorted(b[field] / a[field] for a, b in zip(own, thin, strict=True))
        print(f"rollouts with networks: {median(rates[field] for rates in own):,.0f} {unit}")
        print(f"thin rollouts, servers: {median(rates[field] for rates in thin):,.0f} {unit}")
        print(f"ratio: {median(found):.3f} (of {len(found)} turns: {found[0]:.3f} to {found[-1]:.3f})")


if __name__ == "__main__":
    main()

"""Starts of rollouts, copies of acting weights, and rounds, on one machine that plays a cluster.

    python -m benchmarks.throughput.cluster starts --turns 7
    python -m benchmarks.throughput.cluster copies --record cluster-copies

``starts``: seconds until a rollout of MiniRTS that was asked for has started its process, built its matches
and filled a slab; then it is killed, and seconds until its successor has filled the next slab are counted.
``copies``: four raylets of this machine stand for machines, with two rollouts each. New weights of 40 MB are
sent; the bytes that come to each machine's object store are counted, minus a slab with old weights.
``rounds``: by how much a round in sync is longer by one rollout than in one process (``bench cluster``).
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

import ray
from ray._private.internal_api import node_stats
from ray.cluster_utils import Cluster

from ludus.bench.cluster import bench_cluster
from ludus.cluster.fleet import Fleet
from ludus.cluster.machines import RayMachines
from ludus.cluster.session import HEALTH, connect, disconnect
from ludus.cluster.weights import arrays_of
from ludus.presets.config import ClusterConfig, Preset
from ludus.presets.file import load_preset
from ludus.training.actor_learner.build import build_learner
from tools.figures import figure_of
from tools.new_record import add_record_options, own_command, published
from tools.raw_lines import Line, sampled
from tools.records import Figure, Wanted

PRESET = "minirts"
PRESETS = (PRESET,)
LARGE = {"policy.hidden": "[2200, 2200, 2200]", "pool.slots": "8", "pool.rollout_length": "8"}
MACHINES, ROLLOUTS = 4, 8
STORE = 400 << 20  # bytes of each machine's object store
START, SUCCESSOR = "first slab of a rollout", "slab of a killed one's successor"
COPIES = "copies on each of four machines with two rollouts"
OVERHEAD = "longer by one rollout"
SPREAD = "Median, least and greatest."
COUNTED = "Counted in the object store of each of four raylets of one machine."
#: Title, unit of the figures, the greatest number that was wanted and a note, by what is measured.
TEXTS: dict[str, tuple[str, str, float | None, str]] = {
    "starts": ("Until a new rollout of MiniRTS has filled its first slab, a thread each", "s", 4.0, ""),
    "copies": ("40 MB of acting weights, sent to eight rollouts", "copies", 1.01, COUNTED),
    "rounds": ("A round of MiniRTS in sync by a rollout, against one process", "%", None, ""),
}


def preset_of(rollouts: int, address: str = "local", more: dict[str, str] | None = None) -> Preset:
    """Return settings of rollouts with a thread each."""
    settings = {"run.lag": "sync", "cluster.rollouts": str(rollouts), "cluster.address": address}
    return load_preset(PRESET, settings | (more or {})).preset


def send(fleet: Fleet, preset: Preset, version: int) -> int:
    """Send weights as version ``version`` with the next slab. Return their bytes."""
    ((policy, actor),) = fleet.actors.items()
    build_learner(preset).copy_to(actor.network)
    arrays = arrays_of(actor.network)
    fleet.send_weights(policy, version, ray.put(arrays))
    return sum(array.nbytes for array in arrays.values())


def slab(fleet: Fleet) -> None:
    """Take a slab of every rollout."""
    for _ in fleet.play():
        pass


def starts(turns: int) -> Iterator[tuple[str, float]]:
    """Yield what was timed and its seconds; the first start, which reads files from the disk, is left out."""
    preset = preset_of(1)
    connect(ClusterConfig(rollouts=1))
    try:
        for turn in range(turns + 1):
            begin = time.perf_counter()
            with closing(Fleet(preset)) as fleet:
                send(fleet, preset, 1)
                slab(fleet)
                started = time.perf_counter()
                os.kill(fleet.pids()[0], signal.SIGKILL)
                killed = time.perf_counter()
                slab(fleet)
                replaced = time.perf_counter()
                assert fleet.deaths == 1
            if turn:
                yield START, started - begin
                yield SUCCESSOR, replaced - killed
    finally:
        disconnect()


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Open a cluster of a controller's machine that plays nothing, and four with two processors."""
    os.environ.update(HEALTH)
    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE},
    )
    try:
        for _ in range(MACHINES):
            made.add_node(num_cpus=ROLLOUTS // MACHINES, object_store_memory=STORE)
        connect(ClusterConfig(address=made.address))
        yield made
    finally:
        disconnect()
        made.shutdown()


def created(nodes: Sequence[dict[str, object]]) -> list[int]:
    """Return the bytes that ever came to the object store of each machine."""
    counted = []
    for node in nodes:
        stats = node_stats(node["NodeManagerAddress"], node["NodeManagerPort"], include_memory_info=False)
        counted.append(int(stats.store_stats.cumulative_created_bytes))
    return counted


def copies() -> Iterator[tuple[str, float]]:
    """Yield, for each machine that plays, the copies of the weights that came to it."""
    with cluster() as made:
        preset = preset_of(ROLLOUTS, made.address, LARGE)
        nodes = [n for n in ray.nodes() if n["Alive"] and n["Resources"].get("CPU", 0)]
        assert len(nodes) == MACHINES
        with closing(Fleet(preset)) as fleet:
            send(fleet, preset, 1)
            slab(fleet)
            before = created(nodes)
            slab(fleet)
            slabs = [b - a for a, b in zip(before, created(nodes), strict=True)]
            before = created(nodes)
            size = send(fleet, preset, 2)
            slab(fleet)
            came = [b - a for a, b in zip(before, created(nodes), strict=True)]
            print(f"weights: {size:,} bytes; came: {came}; with old weights: {slabs}", file=sys.stderr)
            for all_bytes, of_slabs in zip(came, slabs, strict=True):
                yield COPIES, (all_bytes - of_slabs) / size


def rounds(seconds: float) -> Iterator[tuple[str, float]]:
    """Yield by how many percent a round takes longer by one rollout than in one process."""
    preset = preset_of(1)
    with closing(RayMachines(preset, print)) as machines:
        result = bench_cluster(preset, machines, seconds)
        assert result.same_weights
        print(f"{result.rounds} rounds each way", file=sys.stderr)
        yield OVERHEAD, result.overhead_percent


def measure(what: str, turns: int) -> Iterator[tuple[str, float]]:
    """Measure one of :data:`TEXTS`, and yield labels and values."""
    if what == "starts":
        return starts(turns)
    return copies() if what == "copies" else rounds(20.0)


def lines_of(measured: list[tuple[str, float]]) -> list[Line]:
    """Return a line for each quantity, with all its readings."""
    labels = dict.fromkeys(label for label, _ in measured)
    return [sampled(label, [value for other, value in measured if other == label]) for label in labels]


def figures_of(lines: list[Line], unit: str) -> list[Figure]:
    """Return median, least and greatest of each quantity."""
    return [figure_of(lines, line.label, unit, "readings") for line in lines]


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=tuple(TEXTS))
    parser.add_argument("--turns", type=int, default=7, help="starts and deaths that are timed")
    add_record_options(parser)
    return parser


def main() -> None:
    """Run the command line."""
    args = parser_of().parse_args()
    title, unit, most, note = TEXTS[args.what]
    lines = lines_of(list(measure(args.what, args.turns)))
    figures = figures_of(lines, unit)
    for figure in figures:
        print(figure.text())
    published(
        args,
        section="throughput",
        title=title,
        lines=lines,
        figures=figures,
        commands=[own_command("benchmarks.throughput.cluster")],
        wanted=[] if most is None else [Wanted(figure.label, most=most) for figure in figures],
        notes=[SPREAD, *([note] if note else [])],
    )


if __name__ == "__main__":
    main()

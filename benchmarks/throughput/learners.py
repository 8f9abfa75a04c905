"""Learners of a group on one machine: an update by two of them against one, and the death of a rank.

    python -m benchmarks.throughput.learners updates --turns 9
    python -m benchmarks.throughput.learners deaths --record rank-deaths

``updates``: a network of 1.2 million parameters learns from slabs of MiniRTS that two rollouts played. One
learner with one thread and two learners with one thread each make updates in turns; the ratio of their times
is the figure. Sharing out the slab and the exchange of gradients are part of the time, playing is not.
``deaths``: the process of a rank is killed, and seconds until the next update of the run are counted: the
death is noticed, the process of a new rank starts, and the newest checkpoint is loaded.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

from benchmarks.throughput.cluster import SPREAD, figures_of, lines_of
from ludus.cluster.machines import RayMachines
from ludus.flow import Orders
from ludus.presets.config import Preset
from ludus.presets.file import load_preset
from ludus.reporting.metrics import UpdateMetrics
from ludus.reporting.sinks import Sink
from ludus.rollouts.commands import SeatPlayers
from ludus.training.actor_learner.build import Components, build
from ludus.training.runs import start_run
from tools.new_record import add_record_options, own_command, published
from tools.records import Wanted

PRESET = "minirts"
PRESETS = (PRESET,)
LARGE = {"policy.hidden": "[1024, 1024]", "pool.slots": "256", "pool.rollout_length": "64"}
FASTER, AGAIN = (
    "one learner's time of an update / two learners'",
    "until the next update after a rank's death",
)
#: Title, unit of the figures and what was wanted, by what is measured.
TEXTS = {
    "updates": ("An update by two learners on two processors, against one", "x", Wanted(FASTER, least=1.6)),
    "deaths": ("Training again after a rank of two was killed", "s", Wanted(AGAIN, most=15.0)),
}
EVERY = 8  # updates between two deaths
WARM = 2  # updates before the first that is timed


def preset_of(learners: int, **more: str) -> Preset:
    """Return settings of two rollouts, and of learners with a thread each."""
    settings = {
        "run.lag": "sync",
        "run.threads": "1",
        "cluster.rollouts": "2",
        "cluster.learners": str(learners),
        "evaluation.every_steps": "0",
        "evaluation.matches": "0",
        "evaluation.final_matches": "0",
    }
    return load_preset(PRESET, settings | {key.replace("__", "."): text for key, text in more.items()}).preset


class Way:
    """A learner whose updates are timed."""

    def __init__(self, learners: int, machines: RayMachines, opened: ExitStack) -> None:
        large = {key.replace(".", "__"): text for key, text in LARGE.items()}
        self.components: Components = build(preset_of(learners, **large), 1, 0, machines)
        opened.callback(self.components.close)
        self.components.sampler.send(SeatPlayers(Orders()))

    def seconds(self) -> float:
        """Play a slab, and return the seconds in which it was learned from."""
        sampler, learner = self.components.sampler, self.components.learner
        (slab,) = sampler.facts.slabs
        sampler.play(slab)
        start = time.perf_counter()
        learner.start(slab, 0.0).help(0)
        learner.finish()
        return time.perf_counter() - start


def updates(turns: int) -> Iterator[tuple[str, float]]:
    """Yield how many times longer one learner needs for an update than two."""
    with closing(RayMachines(preset_of(2), print)) as machines, ExitStack() as opened:
        two, one = Way(2, machines, opened), Way(1, machines, opened)
        for turn in range(WARM + turns):
            alone, together = one.seconds(), two.seconds()
            print(f"one {alone:.3f} s, two {together:.3f} s", file=sys.stderr)
            if turn >= WARM:
                yield FASTER, alone / together


class Killer(Sink):
    """Kills rank 1 after every few updates, and times the next update."""

    def __init__(self, machines: Looked) -> None:
        self._machines = machines
        self._killed = 0.0
        self._seen = 0  # updates since the last death
        self.seconds: list[float] = []

    def update(self, metrics: UpdateMetrics) -> None:
        """See :meth:`Sink.update`."""
        if self._killed:
            self.seconds.append(time.perf_counter() - self._killed)
            self._killed, self._seen = 0.0, 0
        self._seen += 1
        if self._seen == EVERY:
            os.kill(self._machines.pid, signal.SIGKILL)
            self._killed = time.perf_counter()


class Looked(RayMachines):
    """Machines whose rank 1 can be found."""

    @property
    def pid(self) -> int:
        """Process id of rank 1."""
        assert self._ranks is not None
        return self._ranks.pids[0]


def deaths(turns: int) -> Iterator[tuple[str, float]]:
    """Yield the seconds from each death of a rank to the next update."""
    decisions = 2 * 16 * 16  # of an update
    preset = preset_of(
        2,
        pool__slots="16",
        pool__rollout_length="16",
        run__max_steps=str(decisions * EVERY * (turns + 1)),
        run__checkpoint_every_minutes="0.001",
    )
    with closing(Looked(preset, print)) as machines, tempfile.TemporaryDirectory() as folder:
        killer = Killer(machines)
        start_run(preset, Path(folder) / "run", sinks=[killer], machines=machines)
        for seconds in killer.seconds[:turns]:
            yield AGAIN, seconds


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=tuple(TEXTS))
    parser.add_argument("--turns", type=int, default=9, help="updates, or deaths, that are timed")
    add_record_options(parser)
    return parser


def main() -> None:
    """Run the command line."""
    args = parser_of().parse_args()
    title, unit, wanted = TEXTS[args.what]
    lines = lines_of(list(updates(args.turns) if args.what == "updates" else deaths(args.turns)))
    figures = figures_of(lines, unit)
    for figure in figures:
        print(figure.text())
    published(
        args,
        section="throughput",
        title=title,
        lines=lines,
        figures=figures,
        commands=[own_command("benchmarks.throughput.learners")],
        wanted=[wanted],
        notes=[SPREAD],
    )


if __name__ == "__main__":
    main()

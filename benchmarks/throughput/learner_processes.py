"""How fast two processes learn from each minibatch, against one, on the same slab in the same minutes.

    python -m benchmarks.throughput.learner_processes [minirts] [--parts 2] [--seconds 20]

A sampler plays one slab of the preset; then it is idle. One learner with ``algorithm.parts = 1`` and one with
``algorithm.parts = 2`` in two processes make the same update in turns, each from its first state. The figure
is the ratio of learned decisions a second: the mean of the middle half of the turns, and their quartiles.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from contextlib import ExitStack

from ludus.algorithms.learner import SlabLearner
from ludus.bench.training import seat_first
from ludus.flow import Slab
from ludus.presets.config import Preset
from ludus.presets.file import load_preset
from ludus.training.actor_learner.build import Components, build
from ludus.training.actor_learner.learner_threads import LearnerThreads

WARM = 2  # turns before the first that counts
QUIET = {"evaluation.every_steps": "0", "evaluation.matches": "0", "evaluation.final_matches": "0"}


class Way:
    """A learner whose updates are timed."""

    def __init__(self, preset: Preset, opened: ExitStack) -> None:
        """Build the learner, its sampler and its threads."""
        self.components: Components = build(preset, 1)
        opened.callback(self.components.close)
        self.threads = LearnerThreads(self.components.learner_threads(1))
        opened.callback(self.threads.close)
        seat_first(self.components, preset)
        self._first = self.components.learner.state()

    def play(self) -> Slab:
        """Play and return a slab."""
        (slab,) = self.components.sampler.facts.slabs
        self.components.sampler.play(slab)
        return slab

    def rate(self, slab: Slab) -> float:
        """Make an update from the first state; return learned decisions a second."""
        learner = self.components.learner
        learner.load_state(*self._first)
        assert isinstance(learner, SlabLearner)
        learner.prepare()
        start = time.perf_counter()
        plan = learner.start(slab, 0.0)
        self.threads.start(plan)
        plan.help(0)
        update = learner.finish()
        seconds = time.perf_counter() - start
        self.threads.settle()
        return update.learned / seconds


def measured(preset: str, parts: int, seconds: float, settings: dict[str, str]) -> dict[str, float]:
    """Return the rates of both ways and the ratio of ``parts`` processes to one."""
    with ExitStack() as opened:
        one, more = (
            Way(load_preset(preset, QUIET | settings | {"algorithm.parts": str(n)}).preset, opened)
            for n in (1, parts)
        )
        slab = one.play()
        slab.version[:] = -1  # a version behind, as in a pipelined run
        pairs: list[tuple[float, float]] = []
        end = 0.0
        while len(pairs) < WARM + 3 or time.perf_counter() < end:
            pairs.append((one.rate(slab), more.rate(slab)))
            if len(pairs) == WARM:
                end = time.perf_counter() + seconds
    pairs = pairs[WARM:]
    ratios = sorted(b / a for a, b in pairs)
    low, _, high = statistics.quantiles(ratios, n=4)
    middle = [r for r in ratios if low <= r <= high]
    return {
        "turns": len(pairs),
        "one_decisions_per_s": statistics.median(a for a, _ in pairs),
        "parts_decisions_per_s": statistics.median(b for _, b in pairs),
        "ratio": statistics.mean(middle),
        "ratio_low": low,
        "ratio_high": high,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("preset", nargs="?", default="minirts")
    parser.add_argument("--parts", type=int, default=2, help="parts of a minibatch, and processes")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="another setting")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    settings = dict(text.split("=", 1) for text in options.set)
    out = measured(options.preset, options.parts, options.seconds, settings)
    if options.json:
        print(json.dumps(out))
        return
    print(
        f"{options.preset}: {out['one_decisions_per_s']:,.0f} learned decisions/s by one process, "
        f"{out['parts_decisions_per_s']:,.0f} by {options.parts}: "
        f"{out['ratio']:.2f} times [{out['ratio_low']:.2f}, {out['ratio_high']:.2f}] in {out['turns']} turns"
    )


if __name__ == "__main__":
    main()

"""Statistics of AlphaZero's learner over several blocks of minibatches."""

from __future__ import annotations

import math

from ludus.algorithms.learner import UpdateStats

ENDS = ("loss/ownership", "loss/score")  # means over the samples whose match was counted
SUMS = ("learner/minibatches", "learner/counted")


def join_stats(first: UpdateStats, second: UpdateStats) -> UpdateStats:
    """Return the statistics of two blocks of minibatches of one update, in order."""
    if not first.gradient_steps:
        return second
    if not second.gradient_steps:
        return first
    numbers = {name: _joined(name, first, second) for name in {**first.numbers, **second.numbers}}
    numbers["learner/learning_rate"] = second.numbers["learner/learning_rate"]
    return UpdateStats(
        second.version,
        first.samples + second.samples,
        first.learned + second.learned,
        numbers=numbers,
        gradient_steps=first.gradient_steps + second.gradient_steps,
    )


def finite_losses(stats: UpdateStats) -> bool:
    """Return whether every loss is a finite number."""
    return all(math.isfinite(x) for name, x in stats.numbers.items() if name.startswith("loss/"))


def _joined(name: str, first: UpdateStats, second: UpdateStats) -> float:
    both = [s for s in (first, second) if name in s.numbers]
    if name in SUMS:
        return sum(s.numbers[name] for s in both)
    counts = [s.numbers["learner/counted"] if name in ENDS else float(s.samples) for s in both]
    return sum(s.numbers[name] * n for s, n in zip(both, counts, strict=True)) / sum(counts)

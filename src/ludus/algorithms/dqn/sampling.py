"""Draws from the replay buffer: evenly, or by priority (Schaul et al. 2016)."""

from __future__ import annotations

import numpy as np

from ludus.algorithms.returns import Floats
from ludus.algorithms.updates.samples import Index

FLOOR = 1e-3  # added to errors, so that no decision is never drawn again


def draw_evenly(decisions: Index, count: int, random: np.random.Generator) -> tuple[Index, Floats]:
    """Draw ``count`` of ``decisions``, with replacement, and their importance weights, which are 1."""
    return decisions[random.integers(len(decisions), size=count)], np.ones(count, np.float32)


def draw_by_priority(
    priorities: Floats, count: int, beta: float, random: np.random.Generator
) -> tuple[Index, Floats]:
    """Draw ``i`` with probability ``P(i) = p_i / sum p``, one from each of ``count`` equal parts of the sum.

    Args:
        priorities: ``float32[M]``, >= 0, some above 0.
        count: Number of draws.
        beta: Exponent of the importance weights ``(number * P(i))^-beta``, divided by the largest of them
            (section 3.4); the number counts priorities above 0.
        random: Source of the draws.

    The largest weight is over the rank's draws: a group of learners does not share it.

    Returns:
        Numbers ``int64[count]`` and importance weights ``float32[count]`` in (0, 1].
    """
    sums = np.cumsum(priorities, dtype=np.float64)
    at = (np.arange(count) + random.random(count)) / count * sums[-1]
    last = int(np.searchsorted(sums, sums[-1], side="left"))  # of the priorities above 0
    drawn = np.minimum(np.searchsorted(sums, at, side="right"), last)
    number = np.count_nonzero(priorities)
    weight = (number * priorities[drawn].astype(np.float64) / sums[-1]) ** -beta
    return drawn.astype(np.int64), (weight / weight.max()).astype(np.float32)


def priority_of(error: Floats, alpha: float) -> Floats:
    """Return ``(|error| + floor)^alpha`` (Schaul et al. 2016, equation 1, proportional)."""
    priority: Floats = ((np.abs(error) + np.float32(FLOOR)) ** np.float32(alpha)).astype(np.float32)
    return priority

"""Values that move while the budget of a run is spent. No torch, so that settings can be read without it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

Schedule = Literal["constant", "linear", "cosine", "steps"]
#: From the spent share of the budget, 0 to 1, to a setting's value.
ByBudget = Callable[[float], float]


def linear(first: float, final: float, progress: float) -> float:
    """Return the value at the share ``progress`` of the way from ``first`` to ``final``."""
    return first + progress * (final - first)


def rate_factor(schedule: Schedule, progress: float, final: float = 0.0, drops: int = 0) -> float:
    """Return the factor of the learning rate.

    Args:
        schedule: ``linear`` and ``cosine`` fall from 1 to ``final`` over the budget, ``steps`` multiplies by
            ``final`` at each drop.
        progress: Spent share of the budget, in [0, 1].
        final: Factor at the end of the budget, or of each drop.
        drops: Number of drops so far.
    """
    if schedule == "constant":
        return 1.0
    if schedule == "steps":
        return float(final**drops)
    left = 1.0 - progress if schedule == "linear" else 0.5 + 0.5 * math.cos(math.pi * progress)
    return final + (1.0 - final) * left

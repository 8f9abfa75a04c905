"""Confidence intervals of win rates."""

from __future__ import annotations

import math
from statistics import NormalDist

import msgspec


class Interval(msgspec.Struct, frozen=True):
    """A rate in 0..1 with its bounds, ``low <= rate <= high``."""

    rate: float
    low: float
    high: float


def wilson_interval(wins: int, matches: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval of ``wins`` successes in ``matches`` independent trials.

    Keeps its coverage where the normal approximation fails, near 0 and 1 and for few matches
    (Wilson 1927). Without matches nothing is known: rate 0.5 in [0, 1].
    Raises ``ValueError`` unless ``0 <= wins <= matches`` and ``0 < confidence < 1``.
    """
    if not 0 <= wins <= matches:
        raise ValueError(f"wins must lie in 0..matches, got wins={wins}, matches={matches}")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence}")
    if matches == 0:
        return Interval(0.5, 0.0, 1.0)
    z = NormalDist().inv_cdf(0.5 + confidence / 2.0)
    p = wins / matches
    shrink = 1.0 + z * z / matches
    centre = (p + z * z / (2.0 * matches)) / shrink
    half = z / shrink * math.sqrt(p * (1.0 - p) / matches + z * z / (4.0 * matches * matches))
    low = 0.0 if wins == 0 else max(0.0, centre - half)
    high = 1.0 if wins == matches else min(1.0, centre + half)
    return Interval(p, low, high)

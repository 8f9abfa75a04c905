"""Confidence intervals of win rates and of mean returns."""

from __future__ import annotations

import math
from statistics import NormalDist

import msgspec
import numpy as np
import numpy.typing as npt


class Interval(msgspec.Struct, frozen=True):
    """A rate in 0..1 with its bounds, ``low <= rate <= high``."""

    rate: float
    low: float
    high: float


def wilson_interval(wins: float, matches: int, confidence: float = 0.95) -> Interval:
    """Return Wilson's score interval of ``wins`` successes in ``matches`` independent trials.

    Keeps its coverage where the normal approximation fails, near 0 and 1 and for few matches
    (Wilson 1927). Without matches the rate is 0.5 in [0, 1]. A drawn match may count as half a success: the
    interval is too wide then, never too narrow.
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


EXACT = 100  # degrees of freedom from which a series gives Student's t, to 1e-6 at 99.9%


class MeanInterval(msgspec.Struct, frozen=True):
    """A mean with its bounds, and the standard deviation of single values."""

    mean: float
    low: float
    high: float
    deviation: float


def student_quantile(probability: float, freedom: int) -> float:
    """Return a quantile of Student's t with ``freedom`` degrees of freedom, ``0 < probability < 1``.

    Solves the distribution's finite sums (Abramowitz and Stegun 26.7.3 and 26.7.4) for the angle atan(t /
    sqrt(freedom)), in which they stay tame where t is huge.
    """
    if probability < 0.5:
        return -student_quantile(1.0 - probability, freedom)
    wanted = 2.0 * probability - 1.0
    low, high = 0.0, math.pi / 2
    for _ in range(80):
        angle = 0.5 * (low + high)
        low, high = (angle, high) if _within(angle, freedom) < wanted else (low, angle)
    return math.sqrt(freedom) * math.tan(0.5 * (low + high))


def _within(angle: float, freedom: int) -> float:
    """Return the probability of -t to t, t = sqrt(freedom) tan(angle)."""
    sine, square = math.sin(angle), math.cos(angle) ** 2
    if freedom % 2:
        term = math.cos(angle)
        total = 0.0
        for k in range(1, freedom - 1, 2):
            total += term
            term *= square * (k + 1) / (k + 2)
        return 2.0 / math.pi * (angle + sine * total)
    term, total = 1.0, 0.0
    for k in range(0, freedom - 1, 2):
        total += term
        term *= square * (k + 1) / (k + 2)
    return sine * total


def _student(z: float, freedom: int) -> float:
    """Return Student's t from the normal quantile ``z`` (three terms of Abramowitz and Stegun 26.7.5)."""
    return (
        z
        + (z**3 + z) / (4.0 * freedom)
        + (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / (96.0 * freedom**2)
        + (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / (384.0 * freedom**3)
    )


def check_finite(values: npt.NDArray[np.float64]) -> None:
    """Raise ``ValueError`` with the first of ``values`` that is not finite, and its index."""
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        place = [int(i) for i in wrong[0]]
        where, value = place[0] if len(place) == 1 else place, values[tuple(place)]
        raise ValueError(f"value {where} is {value}, expected finite numbers")


def mean_interval(values: npt.ArrayLike, confidence: float = 0.95) -> MeanInterval:
    """Return Student's interval of the mean of independent ``values: [N]``.

    Bounds of fewer than two values are the value itself; without any, everything is 0. Raises ``ValueError``
    for values that are not finite, and unless ``0 < confidence < 1``.
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence}")
    array = np.asarray(values, np.float64)
    check_finite(array)
    if array.size == 0:
        return MeanInterval(0.0, 0.0, 0.0, 0.0)
    mean = float(array.mean())
    if array.size == 1:
        return MeanInterval(mean, mean, mean, 0.0)
    deviation = float(array.std(ddof=1))
    upper, freedom = 0.5 + confidence / 2.0, array.size - 1
    normal = NormalDist().inv_cdf(upper)
    t = student_quantile(upper, freedom) if freedom < EXACT else _student(normal, freedom)
    half = t * deviation / math.sqrt(array.size)
    return MeanInterval(mean, mean - half, mean + half, deviation)

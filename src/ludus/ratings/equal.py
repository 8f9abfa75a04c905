"""Sequential test of whether two players are equal, on results with a better and a worse side.

Results are looked at up to four times. Equal players are found different with a probability of at most
:data:`ERROR`, over all looks together: each look has its share of it, and the shares add up (Bonferroni).
Nearly all of it is left to the last look, which therefore finds about what one test of all results would.

Of equal players each decided result goes either way with probability 1/2. Where seats differ and players
take them in turn, the number of better results has the same mean and a smaller variance, so the test errs on
the safe side.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Literal

import msgspec

from ludus.ratings.interval import Interval, wilson_interval

ERROR = 0.001  # probability that equal players are found different
LOOKS = (0.05, 0.05, 0.1, 0.8)  # shares of it
MARGIN = 0.1  # a share of 40% or 60% in place of 50% is a difference
FEWEST = 20  # results between two looks

Verdict = Literal["equal", "differ", "undecided"]


class Equality(msgspec.Struct, frozen=True):
    """Verdict on two players by their results.

    ``interval``: the share of better results among the decided ones, with its 95% interval. ``verdict``:
    ``differ`` if equal players give such results in fewer than one of 1,000 tests; ``equal`` if no result
    was decided, or if the interval lies less than :data:`MARGIN` around one half; else ``undecided``.
    ``decided``: number of decided results that would give one of the other verdicts if the share stays.
    """

    better: int
    worse: int
    interval: Interval
    verdict: Verdict
    decided: int


def stages(total: int) -> list[int]:
    """Return the numbers of results between looks, even but for the last: ``total`` in all, at least 1."""
    part = total // len(LOOKS) // 2 * 2
    if part < FEWEST:
        return [total]
    return [part] * (len(LOOKS) - 1) + [total - part * (len(LOOKS) - 1)]


def judge(better: int, worse: int, look: int = len(LOOKS) - 1) -> Equality:
    """Return what the results of all looks so far say.

    Args:
        better: Number of results that are better for the first player.
        worse: Number of results that are worse for it; equal ones do not count.
        look: Number of the look from 0; the last where there is one only.

    Raises:
        ValueError: No such look, or a negative number.
    """
    if min(better, worse) < 0 or not 0 <= look < len(LOOKS):
        raise ValueError(f"judge: better={better}, worse={worse}, look={look}")
    decided = better + worse
    interval = wilson_interval(better, decided)
    if 2.0 * lower_tail(min(better, worse), decided) <= ERROR * LOOKS[look]:
        return Equality(better, worse, interval, "differ", decided)
    if not decided:
        return Equality(0, 0, interval, "equal", 0)
    inside = interval.low > 0.5 - MARGIN and interval.high < 0.5 + MARGIN
    return Equality(better, worse, interval, "equal" if inside else "undecided", _decisive(interval.rate))


def lower_tail(most: int, count: int) -> float:
    """Return the probability of at most ``most`` heads in ``count`` tosses of a fair coin."""
    half = count * math.log(2.0)
    whole = math.lgamma(count + 1)
    terms = (
        math.exp(whole - math.lgamma(k + 1) - math.lgamma(count - k + 1) - half) for k in range(most + 1)
    )
    return min(1.0, math.fsum(terms))


def _decisive(share: float) -> int:
    """Return the number of decided results after which ``share`` differs from 1/2, or is equal to it."""
    distance = abs(share - 0.5)
    counts = []
    if distance > 0.0:
        counts.append(_results(1.0 - ERROR * LOOKS[-1] / 2.0, distance))
    if distance < MARGIN:
        counts.append(_results(0.975, MARGIN - distance))
    return math.ceil(min(counts))


def _results(quantile: float, distance: float) -> float:
    """Return the number of results whose share is known to within ``distance``."""
    return float((0.5 * NormalDist().inv_cdf(quantile) / distance) ** 2)

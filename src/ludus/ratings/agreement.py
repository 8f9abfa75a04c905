"""Whether two measurements of one player agree: exact tests of two counts, and of two means."""

from __future__ import annotations

import math
from statistics import NormalDist

from ludus.ratings.interval import MeanInterval, student_quantile

#: Error of a check: a right figure is refused one time in a thousand.
LEVEL = 0.001
_SLACK = 1.0 + 1e-9  # equal probabilities that rounding makes unequal
MOST_FREEDOM = 100_000


def counts_differ(first: tuple[int, int], second: tuple[int, int], level: float = LEVEL) -> bool:
    """Return whether two rates differ: (successes, trials) of each, by Fisher's exact test (two-sided).

    The test refuses equal rates at most with probability ``level``, for any number of trials.
    Raises ``ValueError`` for counts outside of ``0..trials``.
    """
    return fisher_probability(first, second) < level


def fisher_probability(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Return the two-sided probability of Fisher's exact test of (successes, trials) twice."""
    (won, matches), (others, other_matches) = first, second
    for successes, trials in (first, second):
        if not 0 <= successes <= trials:
            raise ValueError(f"successes must lie in 0..trials, got {successes} of {trials}")
    total = won + others
    least, most = max(0, total - other_matches), min(total, matches)
    whole = _log_choose(matches + other_matches, total)

    def probability(k: int) -> float:
        return math.exp(_log_choose(matches, k) + _log_choose(other_matches, total - k) - whole)

    seen = probability(won) * _SLACK
    return min(1.0, math.fsum(p for p in map(probability, range(least, most + 1)) if p <= seen))


def means_differ(
    first: tuple[MeanInterval, int], second: tuple[MeanInterval, int], level: float = LEVEL
) -> bool:
    """Return whether two means differ, by Welch's test: each a mean and the number of its samples.

    Only ``mean`` and ``deviation`` of an interval are read.
    """
    parts = [interval.deviation**2 / max(1, count) for interval, count in (first, second)]
    spread = sum(parts)
    apart = abs(first[0].mean - second[0].mean)
    if spread == 0.0:
        return apart > 0.0
    below = sum(p * p / max(1, n - 1) for p, (_, n) in zip(parts, (first, second), strict=True))
    freedom = max(1, min(MOST_FREEDOM, math.floor(spread * spread / below)))
    return apart > student_quantile(1.0 - level / 2.0, freedom) * math.sqrt(spread)


def deviation_of(low: float, high: float, count: int, confidence: float = 0.95) -> float:
    """Return the deviation of single samples from Student's interval of the mean of ``count`` of them."""
    if count < 2:
        return 0.0
    quantile = student_quantile(0.5 + confidence / 2.0, count - 1)
    return (high - low) / 2.0 * math.sqrt(count) / quantile


def expected_range(rate: float, matches: int, trials: int, level: float = LEVEL) -> tuple[float, float]:
    """Return about which rates of ``trials`` agree with ``rate`` of ``matches``, for people to read."""
    spread = math.sqrt(max(rate * (1.0 - rate), 0.25 / matches) * (1.0 / matches + 1.0 / trials))
    reach = NormalDist().inv_cdf(1.0 - level / 2.0) * spread
    return max(0.0, rate - reach), min(1.0, rate + reach)


def _log_choose(count: int, chosen: int) -> float:
    return math.lgamma(count + 1) - math.lgamma(chosen + 1) - math.lgamma(count - chosen + 1)

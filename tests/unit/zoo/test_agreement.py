"""Tests of two counts and of two means refuse a difference, and a right figure hardly ever."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ludus.ratings.agreement import LEVEL, counts_differ, deviation_of, fisher_probability, means_differ
from ludus.ratings.interval import mean_interval

PAIRS = [
    ((841, 1000), (40, 50)),
    ((97, 100), (80, 100)),
    ((0, 50), (50, 50)),
    ((5, 5), (3, 9)),
    ((0, 3), (0, 7)),
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_probability_is_scipys(first: tuple[int, int], second: tuple[int, int]) -> None:
    table = [[won, total - won] for won, total in (first, second)]
    expected = float(stats.fisher_exact(table).pvalue)
    assert fisher_probability(first, second) == pytest.approx(expected, rel=1e-6)
    assert counts_differ(first, second) == (expected < LEVEL)


@pytest.mark.parametrize("rate", [0.02, 0.5, 0.9])
def test_a_right_card_fails_at_most_one_time_in_a_thousand(rate: float) -> None:
    matches, again = 400, 50
    total = 0.0
    shares = stats.binom(again, rate).pmf(range(again + 1))
    for won, share in enumerate(stats.binom(matches, rate).pmf(range(matches + 1))):
        if share > 1e-7:
            refused = [
                k for k in range(again + 1) if shares[k] > 1e-9 and counts_differ((won, matches), (k, again))
            ]
            total += share * sum(shares[k] for k in refused)
    assert 0.0 < total < LEVEL


def test_a_player_of_another_strength_is_refused() -> None:
    assert counts_differ((841, 1000), (25, 50))
    assert not counts_differ((841, 1000), (36, 50))


def test_wrong_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="successes must lie"):
        counts_differ((3, 2), (1, 2))


def test_means_are_compared_as_by_welch() -> None:
    draw = np.random.default_rng(3)
    refused = 0
    for shift in (0.0, 0.3, 1.0):
        one, two = draw.normal(0.0, 1.0, 400), draw.normal(shift, 2.0, 50)
        a, b = mean_interval(one), mean_interval(two)
        expected = float(stats.ttest_ind(one, two, equal_var=False).pvalue) < LEVEL
        assert means_differ((a, 400), (b, 50)) == expected
        refused += expected
        assert deviation_of(a.low, a.high, 400) == pytest.approx(a.deviation, rel=1e-6)
    assert 0 < refused < 3


def test_equal_samples_do_not_differ() -> None:
    same, other = mean_interval([2.0, 2.0]), mean_interval([3.0, 3.0])
    assert not means_differ((same, 2), (same, 2))
    assert means_differ((same, 2), (other, 2))

"""Wilson intervals against published values and their defining equation."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ludus.ratings import mean_interval, wilson_interval

Z95 = 1.959963984540054


def test_known_values() -> None:
    # Newcombe (1998), table I, method 3.
    r = wilson_interval(81, 263)
    assert (round(r.low, 4), round(r.high, 4)) == (0.2553, 0.3662)
    r = wilson_interval(15, 148)
    assert (round(r.low, 4), round(r.high, 4)) == (0.0624, 0.1605)
    r = wilson_interval(0, 20)
    assert (r.low, round(r.high, 4)) == (0.0, 0.1611)
    r = wilson_interval(29, 29)
    assert (round(r.low, 4), r.high) == (0.8830, 1.0)


@given(st.integers(1, 20_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_bounds_solve_the_score_equation(case: tuple[int, int]) -> None:
    wins, matches = case
    r = wilson_interval(wins, matches)
    p = wins / matches
    assert r.low <= p <= r.high
    for bound in (r.low, r.high):
        if 0 < bound < 1:
            assert math.isclose(
                (p - bound) ** 2 * matches, Z95**2 * bound * (1 - bound), rel_tol=1e-6, abs_tol=1e-9
            )


def test_without_matches_the_interval_is_everything() -> None:
    assert wilson_interval(0, 0) == wilson_interval(0, 0, 0.5)
    assert (wilson_interval(0, 0).low, wilson_interval(0, 0).high) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("wins", "matches", "confidence"), [(-1, 3, 0.95), (4, 3, 0.95), (1, 3, 0.0), (1, 3, 1.0)]
)
def test_refuses(wins: int, matches: int, confidence: float) -> None:
    with pytest.raises(ValueError, match="must lie"):
        wilson_interval(wins, matches, confidence)


# Student's t, two-sided, by degrees of freedom: a published table (Fisher and Yates 1963, table III).
T95 = {
    1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228,
    11: 2.201, 12: 2.179, 13: 2.160, 15: 2.131, 20: 2.086, 30: 2.042, 60: 2.000, 120: 1.980,
}  # fmt: skip
T90 = {1: 6.314, 2: 2.920, 3: 2.353, 4: 2.132, 5: 2.015}
T999 = {1: 636.619, 2: 31.599, 3: 12.924, 4: 8.610, 5: 6.869, 10: 4.587, 120: 3.373}
T99 = {
    1: 63.657,
    2: 9.925,
    3: 5.841,
    4: 4.604,
    5: 4.032,
    10: 3.169,
    15: 2.947,
    20: 2.845,
    30: 2.750,
    60: 2.660,
}


@pytest.mark.parametrize(
    ("confidence", "freedom", "t"),
    [(c, n, t) for c, of in ((0.9, T90), (0.95, T95), (0.99, T99), (0.999, T999)) for n, t in of.items()],
)
def test_means_have_students_interval(confidence: float, freedom: int, t: float) -> None:
    """n values have n - 1 degrees of freedom; the half width is t s / sqrt(n), s over n - 1."""
    n = freedom + 1
    values = [float(i * i % 7) for i in range(n)]
    mean = sum(values) / n
    deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / freedom)
    got = mean_interval(values, confidence)
    assert got.mean == pytest.approx(mean)
    assert got.deviation == pytest.approx(deviation)
    for half in (got.high - mean, mean - got.low):
        assert half * math.sqrt(n) / deviation == pytest.approx(t, abs=1e-3)

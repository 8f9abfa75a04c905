"""The sequential test of two players: how often equal ones are found different, which losses are found."""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt
import pytest

from ludus.ratings.equal import ERROR, LOOKS, judge, lower_tail, stages

Floats = npt.NDArray[np.float64]


def binomial(count: int, share: float) -> Floats:
    """Return the probabilities of 0..count better results."""
    k = np.arange(count + 1)
    ways = np.array([math.lgamma(count + 1) - math.lgamma(i + 1) - math.lgamma(count - i + 1) for i in k])
    return np.asarray(np.exp(ways + k * math.log(share) + (count - k) * math.log1p(-share)))


@functools.cache
def differ(decided: int, look: int) -> list[bool]:
    """Return for 0..decided better results whether the players are found different."""
    return [judge(better, decided - better, look).verdict == "differ" for better in range(decided + 1)]


def found_different(total: int, *shares: Floats) -> float:
    """Return the exact probability that the test finds players different, over all of its looks.

    ``shares``: the distributions of better results at each look, given how many are decided: all of them.
    """
    parts = stages(total)
    open_, found, played = np.ones(1), 0.0, 0
    for stage, (count, more) in enumerate(zip(parts, shares, strict=True)):
        open_, played = np.convolve(open_, more), played + count
        look = stage if len(parts) > 1 else len(LOOKS) - 1
        found += float(open_[differ(played, look)].sum())
        open_[differ(played, look)] = 0.0
    return found


@pytest.mark.parametrize("total", [1, 2, 13, 20, 50, 80, 100, 200, 333, 600])
def test_equal_players_are_found_different_at_most_once_in_a_thousand(total: int) -> None:
    assert found_different(total, *(binomial(n, 0.5) for n in stages(total))) <= ERROR


def test_an_advantage_of_a_seat_makes_it_no_more_often() -> None:
    """The first seat wins 90%, and equal players take it in turn."""
    parts = stages(200)
    seats = [np.convolve(binomial(n // 2, 0.9), binomial(n - n // 2, 0.1)) for n in parts]
    assert found_different(200, *seats) <= 1e-6


@pytest.mark.parametrize(
    ("total", "share", "power"),
    [
        (100, 0.3, 0.7),
        (100, 0.2, 0.99),
        (200, 0.3, 0.99),
        (400, 0.4, 0.74),
        (600, 0.4, 0.93),
        (800, 0.4, 0.98),
    ],
)
def test_losses_are_found(total: int, share: float, power: float) -> None:
    """The numbers of docs/guides/change_a_run.md; a gain is found as often as a loss."""
    for better in (share, 1.0 - share):
        assert found_different(total, *(binomial(n, better) for n in stages(total))) >= power


def test_a_simulation_agrees() -> None:
    """20,000 verifications of equal networks, with draws: as ``prove`` looks at them."""
    draw = np.random.default_rng(3)
    trials, refused = 20_000, np.zeros(20_000, bool)
    better, worse = np.zeros(trials, np.int64), np.zeros(trials, np.int64)
    bounds: dict[tuple[int, int], bool] = {}
    for look, count in enumerate(stages(100)):
        won, _, lost = draw.multinomial(count, [0.4, 0.2, 0.4], trials).T
        better, worse = better + won, worse + lost
        for trial in np.flatnonzero(~refused):
            counts = int(min(better[trial], worse[trial])), int(better[trial] + worse[trial])
            key = (counts[0] * 1000 + counts[1], look)
            if key not in bounds:
                bounds[key] = judge(counts[0], counts[1] - counts[0], look).verdict == "differ"
            refused[trial] = bounds[key]
    assert refused.mean() <= ERROR


def test_looks_share_the_error_and_the_results() -> None:
    assert sum(LOOKS) == pytest.approx(1.0)
    for total in (1, 19, 80, 81, 200, 1001):
        assert sum(stages(total)) == total
        assert all(n % 2 == 0 for n in stages(total)[:-1])  # as many matches from either seat


@pytest.mark.parametrize(
    ("better", "worse", "verdict"),
    [
        (16, 4, "undecided"),  # refused by a 95% interval, and so one time in twenty for equal networks
        (0, 0, "equal"),
        (100, 100, "equal"),
        (10, 10, "undecided"),
        (300, 300, "equal"),
        (80, 120, "undecided"),
        (160, 240, "differ"),
        (240, 160, "differ"),
        (1, 19, "differ"),
        (0, 8, "undecided"),
        (0, 12, "differ"),
    ],
)
def test_verdicts(better: int, worse: int, verdict: str) -> None:
    assert judge(better, worse).verdict == verdict


@pytest.mark.parametrize("share", [0.0, 0.3, 0.4, 0.42, 0.45, 0.48, 0.5, 0.55, 1.0])
def test_as_many_results_as_are_named_decide(share: float) -> None:
    decided = judge(round(20 * share), 20 - round(20 * share)).decided if share * 20 % 1 == 0 else 0
    found = judge(round(50 * share), 50 - round(50 * share))
    named = 1.1 * max(found.decided, decided) + 2
    better = round(named * share)
    assert judge(better, math.ceil(named) - better).verdict != "undecided"


def test_tails_are_those_of_a_fair_coin() -> None:
    assert lower_tail(0, 3) == pytest.approx(1 / 8)
    assert lower_tail(1, 4) == pytest.approx(5 / 16)
    assert lower_tail(2, 20) == pytest.approx((1 + 20 + 190) / 2**20)
    assert lower_tail(5000, 10_000) == pytest.approx(0.504, abs=1e-3)


@pytest.mark.parametrize(("better", "worse", "look"), [(-1, 2, 0), (1, -2, 0), (1, 1, 4), (1, 1, -1)])
def test_wrong_counts_are_refused(better: int, worse: int, look: int) -> None:
    with pytest.raises(ValueError, match="judge"):
        judge(better, worse, look)

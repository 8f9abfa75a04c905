"""Elo and Nash averaging of tables of results."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.ratings import elo, maximal_entropy_nash, nash_average

CYCLE = np.array([[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 0.0]])


def tables(strength: list[float], count: float) -> tuple[np.ndarray, np.ndarray]:
    """Points and matches that Elo strengths lead to without chance."""
    s = np.array(strength)
    expected = 1.0 / (1.0 + 10.0 ** ((s[None, :] - s[:, None]) / 400.0))
    matches = count * (1.0 - np.eye(len(s)))
    return matches * expected, matches


def test_elo_recovers_the_ratings_behind_the_results() -> None:
    strength = [-300.0, -50.0, 100.0, 250.0]
    found = elo(*tables(strength, 4000.0))
    np.testing.assert_allclose(found.rating, strength, atol=1.0)
    assert (found.error < 6.0).all()
    few = elo(*tables(strength, 40.0))
    np.testing.assert_allclose(few.error / found.error, 10.0, rtol=0.1)  # a hundredth of the matches


def test_elo_of_a_player_that_won_everything_is_finite() -> None:
    found = elo([[0.0, 10.0], [0.0, 0.0]], [[0.0, 10.0], [10.0, 0.0]])
    assert 100.0 < found.rating[0] < 1000.0
    assert found.rating[0] == pytest.approx(-found.rating[1])
    assert np.isfinite(found.error).all()


def test_errors_cover_the_effect_of_chance() -> None:
    random = np.random.default_rng(1)
    strength = np.array([-100.0, 0.0, 100.0])
    rate = 1.0 / (1.0 + 10.0 ** ((strength[None, :] - strength[:, None]) / 400.0))
    inside = 0
    for _ in range(200):
        points = np.zeros((3, 3))
        for i, j in ((0, 1), (0, 2), (1, 2)):
            points[i, j] = random.binomial(100, rate[i, j])
            points[j, i] = 100 - points[i, j]
        found = elo(points, 100.0 * (1.0 - np.eye(3)))
        inside += int((np.abs(found.rating - strength) < 1.96 * found.error).sum())
    assert 0.92 < inside / 600 < 0.98


def test_known_games_have_their_nash_equilibrium() -> None:
    np.testing.assert_allclose(maximal_entropy_nash(CYCLE), 1.0 / 3.0, atol=1e-6)
    better = np.array([[0.0, 0.3], [-0.3, 0.0]])
    np.testing.assert_allclose(maximal_entropy_nash(better), [1.0, 0.0], atol=1e-3)
    weighted = np.array([[0.0, 2.0, -1.0], [-2.0, 0.0, 4.0], [1.0, -4.0, 0.0]])
    np.testing.assert_allclose(maximal_entropy_nash(weighted), np.array([4.0, 1.0, 2.0]) / 7.0, atol=1e-3)
    np.testing.assert_allclose(maximal_entropy_nash(np.zeros((4, 4))), 0.25)


def test_copies_share_and_change_no_rating() -> None:
    """The invariance that Elo lacks (Balduzzi et al. 2018, section 4)."""
    losing = np.zeros((4, 4))
    losing[:3, :3] = CYCLE
    losing[3, :3], losing[:3, 3] = -0.5, 0.5
    index = [0, 1, 2, 3, 0, 0]  # the first player two times more
    copied = losing[np.ix_(index, index)]
    share, more = maximal_entropy_nash(losing), maximal_entropy_nash(copied)
    np.testing.assert_allclose(share, [1 / 3, 1 / 3, 1 / 3, 0.0], atol=1e-3)
    np.testing.assert_allclose(more, [1 / 9, 1 / 3, 1 / 3, 0.0, 1 / 9, 1 / 9], atol=1e-3)
    np.testing.assert_allclose((copied @ more)[:4], losing @ share, atol=1e-3)


def test_no_match_beats_the_mixture_of_a_large_random_game() -> None:
    random = np.random.default_rng(3)
    raw = random.normal(size=(40, 40))
    advantage = raw - raw.T
    share = maximal_entropy_nash(advantage)
    assert share.min() >= 0.0
    assert share.sum() == pytest.approx(1.0)
    assert (advantage @ share).max() < 5e-3 * np.abs(advantage).max()


def test_the_nash_average_of_results_is_right() -> None:
    points, matches = tables([-200.0, 0.0, 200.0], 1000.0)
    found = nash_average(points, matches)
    assert found.share[2] > 0.99
    np.testing.assert_allclose(found.rating, [-400.0, -200.0, 0.0], atol=3.0)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="square"):
        elo([[0.0, 1.0]], [[0.0, 1.0]])
    with pytest.raises(ValueError, match="square"):
        elo(np.zeros((0, 0)), np.zeros((0, 0)))
    with pytest.raises(ValueError, match="add up"):
        elo([[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match="antisymmetric"):
        maximal_entropy_nash([[0.0, 1.0], [1.0, 0.0]])


def test_groups_that_never_met_are_named() -> None:
    met = np.zeros((5, 5))
    for i, j in ((0, 3), (3, 4), (1, 2)):
        met[i, j] = met[j, i] = 4
    assert elo(met / 2, met).groups == ((0, 3, 4), (1, 2))
    assert elo([[0.0]], [[0.0]]).groups == ((0,),)
    everyone = 4 * (1 - np.eye(3))
    assert elo(everyone / 2, everyone).groups == ((0, 1, 2),)
    no_match = np.zeros((2, 2))
    assert elo(no_match, no_match).groups == ((0,), (1,))

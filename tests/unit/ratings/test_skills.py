"""TrueSkill against the reference implementation, and Bradley-Terry with anchors."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from ludus.ratings import bradley_terry, elo
from ludus.ratings.trueskill import POINTS, RANDOM, SIGMA, Skill, rate_all, rate_match

GOLDEN = Path(__file__).parents[2] / "golden" / "trueskill.json"


def test_trueskill_is_that_of_the_reference() -> None:
    cases = json.loads(GOLDEN.read_text())["cases"]
    assert len(cases) == 36
    for case in cases:
        first, second = ([Skill(*s) for s in case[side]] for side in ("first", "second"))
        rated = rate_match(first, second, case["outcome"], case["draw"])
        for side, expected in zip(rated, case["after"], strict=True):
            found = [(s.mu, s.sigma) for s in side]
            # The reference iterates to 1e-4 with teams.
            np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4)


def test_the_scale_is_that_of_trueskill() -> None:
    assert NormalDist(sigma=POINTS).cdf(8.3) == pytest.approx(0.80, abs=1e-3)
    assert NormalDist(sigma=POINTS).cdf(10.0) == pytest.approx(0.845, abs=1e-3)
    assert NormalDist(sigma=POINTS).cdf(0.0) == 0.5


def test_an_anchor_stays_and_a_skill_converges() -> None:
    generator = np.random.default_rng(4)
    true = 6.0
    matches = [
        ("new", "random", 1.0 if generator.random() < NormalDist(sigma=POINTS).cdf(true) else -1.0)
        for _ in range(4000)
    ]
    skills = rate_all(matches, {"random": 0.0}, draw=0.0)
    assert skills["random"] == RANDOM
    assert skills["new"].mu == pytest.approx(true, abs=3 * skills["new"].sigma)
    assert skills["new"].sigma < 0.3 < SIGMA


def test_skills_far_apart_stay_finite() -> None:
    for outcome in (1.0, 0.0, -1.0):
        (a,), (b,) = rate_match([Skill(-2000.0, 5.0)], [Skill(2000.0, 5.0)], outcome)
        assert np.isfinite([a.mu, a.sigma, b.mu, b.sigma]).all()
        assert 0 < a.sigma <= 5.0
    with pytest.raises(ValueError, match="sides"):
        rate_match([], [Skill()], 1.0)


def test_ratings_without_anchors_are_elo() -> None:
    generator = np.random.default_rng(1)
    points = generator.integers(0, 30, (5, 5)).astype(float)
    np.fill_diagonal(points, 0.0)
    found, table = bradley_terry(points, points + points.T), elo(points, points + points.T)
    np.testing.assert_allclose(found.rating, table.rating, atol=1e-6)
    np.testing.assert_allclose(found.error(), table.error, atol=1e-6)


def test_anchors_stay_and_put_all_on_their_scale() -> None:
    strength = np.array([0.0, 200.0, 350.0, -150.0])
    expected = 1.0 / (1.0 + 10.0 ** ((strength[None, :] - strength[:, None]) / 400.0))
    matches = 5000.0 * (1.0 - np.eye(4))
    found = bradley_terry(matches * expected, matches, {0: 1000.0, 1: 1200.0})
    np.testing.assert_allclose(found.rating, strength + 1000.0, atol=1.0)
    assert (found.rating[0], found.rating[1]) == pytest.approx((1000.0, 1200.0))
    assert not found.covariance[:2].any()
    lead, error = found.difference(2, 3)
    assert lead == pytest.approx(500.0, abs=2.0)
    # An error that two players share with their anchors is no error of their difference.
    assert error < np.hypot(*found.error()[2:])
    with pytest.raises(ValueError, match="anchors"):
        bradley_terry(matches * expected, matches, {4: 0.0})


def test_the_error_covers_the_effect_of_chance() -> None:
    generator = np.random.default_rng(2)
    inside = 0
    for _ in range(300):
        wins = generator.binomial(100, 1.0 / (1.0 + 10.0 ** (-150.0 / 400.0)))
        table = bradley_terry([[0.0, wins], [100.0 - wins, 0.0]], [[0.0, 100.0], [100.0, 0.0]], {1: 0.0})
        inside += int(abs(table.rating[0] - 150.0) < 1.96 * table.error()[0])
    assert 0.91 < inside / 300 < 0.99


@pytest.mark.parametrize("outcome", [float("nan"), float("inf"), -float("inf")])
def test_an_outcome_that_is_not_finite_is_refused(outcome: float) -> None:
    with pytest.raises(ValueError, match=rf"^outcome = {outcome}: expected a finite number"):
        rate_match([Skill()], [Skill()], outcome)
    with pytest.raises(ValueError, match=r"^outcome"):
        rate_all([("a", "b", 1.0), ("a", "b", outcome)])


@pytest.mark.parametrize("skill", [Skill(float("nan")), Skill(0.0, float("inf")), Skill(0.0, -1.0)])
def test_an_invalid_skill_is_refused(skill: Skill) -> None:
    with pytest.raises(ValueError, match=r"^Skill\(mu=.*expected finite numbers"):
        rate_match([skill], [Skill()], 1.0)

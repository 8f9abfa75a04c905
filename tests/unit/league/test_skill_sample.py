"""TrueSkill's sample of many matches: an even share of all, however few a pair has."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from ludus.league import strengths
from ludus.league.record import Entrant, Met, Record
from ludus.league.strengths import MAX_SKILL_MATCHES, _skills, sample_matches
from ludus.ratings.trueskill import POINTS


def test_pairs_of_one_match_are_taken_as_often_as_others() -> None:
    # 40,000 matches, each of another pair of 4,000 entrants.
    rng = np.random.default_rng(3)
    games = [Met(int(i), int(j), 1, 0, 0) for i, j in rng.integers(0, 4000, (40_000, 2))]
    taken = list(sample_matches(games, MAX_SKILL_MATCHES))
    assert sum(map(len, taken)) == MAX_SKILL_MATCHES
    met = {p for game, outcomes in zip(games, taken, strict=True) if outcomes for p in (game.i, game.j)}
    assert len(met) > 3990
    assert [len(outcomes) for outcomes in sample_matches(games[:9], 9)] == [1] * 9


@pytest.mark.parametrize(("wins", "draws", "losses"), [(40, 0, 10), (4, 1, 0), (1, 0, 2), (0, 19, 1)])
def test_outcomes_keep_their_shares(wins: int, draws: int, losses: int) -> None:
    meetings, share = 4000, 0.05
    games = [Met(n, n + 1, wins, draws, losses) for n in range(meetings)]
    total = meetings * (wins + draws + losses)
    found = [outcome for taken in sample_matches(games, int(share * total)) for outcome in taken]
    assert len(found) == int(share * total)
    for outcome, count in ((1.0, wins), (0.0, draws), (-1.0, losses)):
        expected = share * meetings * count
        assert (
            abs(found.count(outcome) - expected) <= 4 * np.sqrt(expected) if count else outcome not in found
        )


def test_the_sample_is_the_same_each_time_and_may_be_empty() -> None:
    games = [Met(0, 1, 3, 1, 2), Met(1, 2, 0, 0, 0), Met(0, 2, 5, 0, 5)] * 20
    assert list(sample_matches(games, 30)) == list(sample_matches(games, 30))
    assert list(sample_matches([], 30)) == []
    assert [outcome for taken in sample_matches(games, 0) for outcome in taken] == []
    huge = [Met(0, 1, 2 * 10**9, 0, 10**9)] * 3
    (first, *_) = sample_matches(huge, 3000)
    assert abs(len(first) - 1000) < 150
    assert abs(first.count(1.0) - 667) < 120


def test_skills_of_a_sample_have_the_slope_of_the_true_skills(monkeypatch: pytest.MonkeyPatch) -> None:
    # 60 entrants, 6,000 meetings of 10 matches, of which one in twelve is taken: rounded down, none was.
    monkeypatch.setattr(strengths, "MAX_SKILL_MATCHES", 5000)
    rng = np.random.default_rng(5)
    true = rng.normal(0.0, 8.0, 60)
    record = Record()
    record.entrants = [Entrant(f"p{n}", n) for n in range(60)]
    for _ in range(6000):
        i, j = rng.choice(60, 2, replace=False)
        probability = NormalDist(sigma=POINTS).cdf(float(true[i] - true[j]))
        wins = int(rng.binomial(10, probability))
        record.history.append(Met(int(i), int(j), wins, 0, 10 - wins))
    skills = _skills(record)
    assert len(skills) == 60
    slope = np.polyfit(true, [skills[n].mu for n in range(60)], 1)[0]
    assert slope == pytest.approx(0.97, abs=0.1)

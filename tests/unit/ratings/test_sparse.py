"""Ratings by pairs are those by tables."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.ratings import sparse
from ludus.ratings.bradley_terry import bradley_terry
from ludus.ratings.elo import connected
from ludus.ratings.sparse import Floats, Pairs, groups_of, ratings_of_pairs


def drawn(players: int, seed: int) -> tuple[Pairs, Floats, Floats]:
    """A few random results of each player, by pairs and as tables."""
    rng = np.random.default_rng(seed)
    matches = np.zeros((players, players))
    points = np.zeros((players, players))
    for i, j in rng.integers(0, players, (3 * players, 2)):
        if i != j:
            played = int(rng.integers(1, 20))
            scored = int(rng.integers(0, 2 * played + 1)) / 2
            matches[i, j] = matches[j, i] = matches[i, j] + played
            points[i, j] += scored
            points[j, i] += played - scored
    i, j = np.nonzero(np.triu(matches))
    return Pairs(i, j, points[i, j], matches[i, j]), points, matches


@pytest.mark.parametrize("anchors", [{}, {3: 0.0}, {0: 100.0, 5: -30.0}])
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("step", [1, 2, 7])
def test_pairs_and_tables_agree(
    monkeypatch: pytest.MonkeyPatch, anchors: dict[int, float], single: bool, step: int
) -> None:
    """Of players that are asked about and others, in double and in single precision."""
    if single:
        monkeypatch.setattr(sparse, "_HALF", 0)
    pairs, points, matches = drawn(150, seed=step)
    table = bradley_terry(points, matches, anchors)
    wanted = list(range(0, 150, step))
    rating, error = ratings_of_pairs(150, pairs, anchors, wanted)
    np.testing.assert_allclose(rating, table.rating, atol=1e-4)
    np.testing.assert_allclose(error, table.error()[wanted], rtol=1e-3, atol=1e-3)


def test_groups_of_pairs_are_those_of_tables() -> None:
    for seed in range(5):
        pairs, _, matches = drawn(40, seed)
        few = Pairs(pairs.i[::4], pairs.j[::4], pairs.points[::4], pairs.matches[::4])
        table = np.zeros_like(matches)
        table[few.i, few.j] = table[few.j, few.i] = 1.0
        assert groups_of(range(40), few) == connected(table)


def test_players_without_matches_and_lopsided_results_have_finite_ratings() -> None:
    pairs = Pairs(np.array([0, 1]), np.array([1, 2]), np.array([50.0, 0.0]), np.array([50.0, 80.0]))
    points, matches = np.zeros((4, 4)), np.zeros((4, 4))
    points[0, 1], points[2, 1] = 50.0, 80.0
    matches[0, 1] = matches[1, 0] = 50.0
    matches[1, 2] = matches[2, 1] = 80.0
    table = bradley_terry(points, matches, {1: 0.0})
    rating, error = ratings_of_pairs(4, pairs, {1: 0.0}, [0, 1, 2, 3])
    np.testing.assert_allclose(rating, table.rating, atol=1e-4)
    np.testing.assert_allclose(error, table.error(), rtol=1e-4, atol=1e-6)

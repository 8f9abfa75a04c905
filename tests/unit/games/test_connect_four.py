"""The solver against plain minimax, and in the bands in which moves are rated."""

from __future__ import annotations

import pytest

from ludus.games.connect_four import BANDS, FULL, Solver, random_positions, winner_exists
from ludus.games.match import GameError, Match


def minimax(columns: list[int]) -> int:
    """Return the value by exhaustive search."""
    if winner_exists(columns):
        return -1
    open_columns = [c for c in range(7) if columns.count(c) < 6]
    if not open_columns:
        return 0
    return max(-minimax([*columns, c]) for c in open_columns)


def test_the_solver_agrees_with_exhaustive_search_near_the_end() -> None:
    solver = Solver(4)
    for columns in random_positions((36, 39), 40, seed=3):
        values = solver.values(columns)
        assert solver.value(columns) == minimax(columns) == max(values)
        for column, value in enumerate(values):
            expected = FULL if columns.count(column) == 6 else -minimax([*columns, column])
            assert value == expected


@pytest.mark.parametrize("band", BANDS[2:])
def test_random_positions_are_reachable_and_scores_agree_with_values(band: tuple[int, int]) -> None:
    solver = Solver(16)
    for columns in random_positions(band, 20, seed=1):
        match = Match("connect_four")
        for column in columns:
            match.play(column)
        assert not match.over
        assert band[0] <= match.tick <= band[1]
        score = solver.score(columns)
        assert solver.value(columns) == (score > 0) - (score < 0)
        assert score == max(solver.scores(columns))
    assert solver.nodes > 0


def test_moves_that_form_no_match_are_refused() -> None:
    with pytest.raises(GameError, match="move 7, column 0, cannot be played"):
        Solver(1).score([0] * 7)
    with pytest.raises(ValueError, match="expected 1 to 65536"):
        Solver(0)

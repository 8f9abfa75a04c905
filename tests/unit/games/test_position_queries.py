"""Positions and ends of recorded matches, as a compiled module reads and refuses them."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.algorithms.alphazero.samples import Ends
from ludus.flow.positions import MatchMoves, PositionQuery
from ludus.native import SearchError, core

GAME = "tic_tac_toe"
#: Two matches, of three and of two moves.
MOVES = MatchMoves(
    match=np.array([0, 1], np.uint64),
    actions=np.array([4, 0, 8, 2, 6], np.uint16),
    offset=np.array([0, 3, 5], np.int64),
)
#: Before the third move of the first match, and before both moves of the second.
QUERY = PositionQuery(
    MOVES,
    first=np.array([0, 1, 3], np.int64),
    wanted=np.array([2, 0, 1], np.int32),
    rows=np.array([1, 0, 2], np.int32),
)


def masks(query: PositionQuery) -> list[list[int]]:
    board, mask = np.zeros((3, 3), np.uint8), np.zeros((3, 9), np.uint8)
    core.read_positions(GAME, {}, 1, query, [board], mask)
    return [np.flatnonzero(row == 0).tolist() for row in mask]


def test_each_position_is_written_to_its_row() -> None:
    assert masks(QUERY) == [[], [0, 4], [2]]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (QUERY._replace(moves=MOVES._replace(offset=np.array([0, 3], np.int64))), "offsets"),
        (QUERY._replace(moves=MOVES._replace(offset=np.array([0, 3, 6], np.int64))), "offsets"),
        (QUERY._replace(moves=MOVES._replace(offset=np.array([0, 4, 3], np.int64))), "offsets"),
        (QUERY._replace(first=np.array([0, 1, 4], np.int64)), "offsets"),
        (QUERY._replace(rows=np.array([1, 0], np.int32)), "offsets"),
        (QUERY._replace(rows=np.array([1, 0, 3], np.int32)), "row 3"),
        (QUERY._replace(wanted=np.array([2, 1, 0], np.int32)), "must rise"),
        (QUERY._replace(wanted=np.array([-1, 0, 1], np.int32)), "must rise"),
    ],
)
def test_a_query_that_does_not_fit_is_refused(query: PositionQuery, message: str) -> None:
    with pytest.raises(SearchError, match=message):
        masks(query)


def test_a_field_of_the_wrong_type_is_named() -> None:
    with pytest.raises(TypeError, match="wanted"):
        masks(QUERY._replace(wanted="soon"))  # type: ignore[arg-type]
    moves = MatchMoves(np.zeros(1, np.uint64), np.zeros(0, np.uint16), np.zeros(2, np.int64))
    ends = Ends.empty(1, 25)
    ends.score = ends.score.astype(np.float64)
    with pytest.raises(TypeError, match="score"):
        core.read_ends("go", {"size": "5"}, 1, moves, ends)

"""An exact solver of Connect Four, and test positions for players."""

from __future__ import annotations

import random
from collections.abc import Sequence

from ludus.native import core

COLUMNS, ROWS = 7, 6
FULL = -1000  # score of a full column

#: Bands of plies in which moves are rated: first and last ply.
BANDS: tuple[tuple[int, int], ...] = ((9, 11), (12, 15), (16, 23), (24, 36))


class Solver:
    """An exact solver with a transposition table of ``mib`` MiB. One thread at a time.

    A score counts the stones that the winner has left when it wins, the winning one included: positive
    for the seat to move, 0 for a draw. A position is the list of columns (0..6) played from the empty board.
    An illegal move or a finished match raises ``GameError``.
    """

    def __init__(self, mib: int = 64) -> None:
        """Create a solver with an empty transposition table of ``mib`` MiB."""
        self._core = core.ConnectFourSolver(mib)

    def score(self, columns: Sequence[int]) -> int:
        """Return the exact score of a position for the seat to move."""
        return self._core.solve(list(columns), False)

    def value(self, columns: Sequence[int]) -> int:
        """Return +1 won, 0 drawn or -1 lost for the seat to move; faster than the score."""
        return self._core.solve(list(columns), True)

    def scores(self, columns: Sequence[int]) -> list[int]:
        """Return the score of each column for the seat to move; ``FULL`` for full columns."""
        return self._core.analyse(list(columns), False)

    def values(self, columns: Sequence[int]) -> list[int]:
        """Return +1, 0 or -1 for each column; ``FULL`` for full columns."""
        return self._core.analyse(list(columns), True)

    @property
    def nodes(self) -> int:
        """Positions searched so far."""
        return self._core.nodes()


def winner_exists(columns: Sequence[int]) -> bool:
    """Return whether one of the two has four in a row."""
    board: dict[tuple[int, int], int] = {}
    heights = [0] * COLUMNS
    for ply, column in enumerate(columns):
        board[column, heights[column]] = ply % 2
        heights[column] += 1
    return any(
        all(board.get((x + i * dx, y + i * dy)) == seat for i in range(4))
        for (x, y), seat in board.items()
        for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1))
    )


def random_positions(band: tuple[int, int], count: int, seed: int) -> list[list[int]]:
    """Return ``count`` positions after random moves without a winner, each at a random ply of the band."""
    rng = random.Random(seed)
    found: list[list[int]] = []
    while len(found) < count:
        plies = rng.randint(*band)
        columns: list[int] = []
        while len(columns) < plies:
            open_columns = [c for c in range(COLUMNS) if columns.count(c) < ROWS]
            columns.append(rng.choice(open_columns))
        if not winner_exists(columns):
            found.append(columns)
    return found

"""Go beyond the contract of games: names of points, counting, dead stones.

Points are numbers as the game's head has them: row by row from the top left, ``size * size`` is the pass.
"""

from __future__ import annotations

from collections.abc import Sequence

from ludus.games.match import Match
from ludus.native import core

BLACK, WHITE = 0, 1
MOST_MOVES = 1024  #: largest `max_moves`
COLUMNS = "ABCDEFGHJKLMNOPQRST"


def vertex(point: int, size: int) -> str:
    """Return the name of a point, ``D4``, or ``pass``."""
    if point == size * size:
        return "pass"
    return f"{COLUMNS[point % size]}{size - point // size}"


def point_of(text: str, size: int) -> int | None:
    """Return the point that ``text`` names on a board of ``size``, upper or lower case, or None."""
    word = text.strip().upper()
    if word == "PASS":
        return size * size
    column, row = COLUMNS.find(word[:1]) if word else -1, word[1:]
    if not 0 <= column < size or not row.isascii() or not row.isdigit() or len(row) > 2:
        return None
    number = int(row)
    return (size - number) * size + column if 1 <= number <= size and row[0] != "0" else None


def star_points(size: int, stones: int) -> list[int]:
    """Return the points of handicap stones in the order of GTP 2, section 4.1.1, if they are fixed."""
    if not 2 <= stones <= most_handicap(size):
        return []
    cells = Match("go", {"size": size, "handicap": stones}).view()["cells"]
    return [p for p, c in enumerate(cells) if c == BLACK]


def most_handicap(size: int) -> int:
    """Return the largest number of handicap stones with fixed points."""
    return 0 if size < 7 else 4 if size == 7 or size % 2 == 0 else 9


def is_legal(match: Match, seat: int, point: int) -> bool:
    """Return whether the move would be legal if it were the turn of ``seat``."""
    return core.go_legal(match.handle, seat, point)


def margin(match: Match, dead: Sequence[int] = ()) -> float:
    """Return Black's points less White's and komi, on the current board without the ``dead`` stones."""
    return core.go_margin(match.handle, list(dead))


def dead_stones(match: Match, playouts: int = 400, seed: int = 1) -> list[int]:
    """Return dead stones: certain by Benson's theorem, or lost in three of four random continuations."""
    return core.go_dead(match.handle, playouts, seed)


def ownership(match: Match, playouts: int = 400, seed: int = 1) -> list[float]:
    """Return the ownership of each point over random continuations, from +1 (Black) to -1 (White)."""
    return core.go_ownership(match.handle, playouts, seed)


def resume(match: Match, seat: int) -> None:
    """Continue the match, also after two passes, with ``seat`` to move."""
    core.go_resume(match.handle, seat)


def score_text(points: float) -> str:
    """Return ``B+3.5``, ``W+12`` or ``0``."""
    if points == 0:
        return "0"
    return f"{'B' if points > 0 else 'W'}+{abs(points):g}"

"""A board as text, with letters at the candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ludus.games.coordinates import column_name
from ludus.games.views import View
from ludus.web.position.answer import PositionMove, PositionScore

STONES = {0: "X", 1: "O", -1: ".", -2: "#", -3: "*"}
_SIDE = 3  # of noughts and crosses
_MOST_CELLS = 4096
_LEANS, _OWNS = 0.2, 0.6  # of an owner's share, for a small and a large letter


def board_text(view: View | None, document: Mapping[str, Any], candidates: Sequence[PositionMove]) -> str:
    """Return the board of a view document; empty where the game has no board of cells.

    Args:
        view: How the game is drawn.
        document: The view document.
        candidates: Moves to be marked.
    """
    cells = _cells(view, document)
    if view is None or cells is None:
        return ""
    columns, rows = _sides(document)
    marks = [STONES.get(cell, "?") for cell in cells]
    for candidate in candidates:
        place = _place(view, cells, columns, rows, candidate.choice)
        if place is not None:
            marks[place] = candidate.mark
    return _grid(marks, columns, rows, view.coordinates)


def owners_text(view: View | None, document: Mapping[str, Any], score: PositionScore) -> str:
    """Return the owners of the points: X and O, small letters where it is not sure; empty without a board."""
    columns, rows = _sides(document)
    if view is None or len(score.ownership) != columns * rows:
        return ""
    return _grid([_owner(share) for share in score.ownership], columns, rows, view.coordinates)


def _owner(share: float) -> str:
    letter = "X" if share > 0 else "O"
    return letter if abs(share) >= _OWNS else letter.lower() if abs(share) >= _LEANS else "."


def _cells(view: View | None, document: Mapping[str, Any]) -> list[int] | None:
    cells = document.get("cells")
    if view is None or view.renderer not in ("board", "noughts") or not isinstance(cells, list):
        return None
    columns, rows = _sides(document)
    whole = len(cells) == columns * rows <= _MOST_CELLS and all(isinstance(cell, int) for cell in cells)
    return cells if whole else None


def _sides(document: Mapping[str, Any]) -> tuple[int, int]:
    width, height = document.get("width"), document.get("height")
    return (width, height) if isinstance(width, int) and isinstance(height, int) else (_SIDE, _SIDE)


def _place(view: View, cells: Sequence[int], columns: int, rows: int, choice: int) -> int | None:
    """Return the empty cell that a choice fills; None where it fills none."""
    if view.input == "columns":
        free = [row * columns + choice for row in range(rows) if choice < columns]
        return next((cell for cell in reversed(free) if cells[cell] == -1), None)
    return choice if choice < len(cells) and cells[choice] == -1 else None


def _grid(marks: Sequence[str], columns: int, rows: int, coordinates: str) -> str:
    numbered = coordinates not in ("", "columns")
    margin = len(str(rows)) if numbered else 0
    names = [column_name(column, coordinates) if coordinates else "" for column in range(columns)]
    width = max((len(name) for name in names), default=1) or 1
    head = " " * (margin + 1) + " ".join(name.rjust(width) for name in names)
    lines = [head.rstrip()] if coordinates else []
    for row in range(rows):
        cells = " ".join(mark.rjust(width) for mark in marks[row * columns : (row + 1) * columns])
        left = str(rows - row).rjust(margin) if numbered else ""
        lines.append(f"{left} {cells}")
    return "\n".join(lines)

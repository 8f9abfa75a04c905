"""Names of the cells of a board, as a view declares them (:data:`ludus.games.views.COORDINATES`).

The pages have the same functions in ``web/static/replay/coordinates.js``.
"""

from __future__ import annotations

from collections.abc import Mapping

_ALPHABETS: Mapping[str, str] = {
    "go": "ABCDEFGHJKLMNOPQRSTUVWXYZ",
    "chess": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
}


def column_name(column: int, coordinates: str) -> str:
    """Return ``A`` to ``Z``, then ``AA``, ``AB`` and so on; ``1``, ``2`` where columns have no letters."""
    alphabet = _ALPHABETS.get(coordinates)
    if alphabet is None:
        return str(column + 1)
    text, left = "", column + 1
    while left > 0:
        left, letter = divmod(left - 1, len(alphabet))
        text = alphabet[letter] + text
    return text


def cell_name(index: int, columns: int, rows: int, coordinates: str) -> str:
    """Return the name of a cell.

    Args:
        index: ``row * columns + column``, rows from above.
        columns: Columns of the board.
        rows: Rows of the board.
        coordinates: As in a view. With ``columns`` the name is the column's number.

    Returns:
        ``D4`` or ``4``; "" where cells have no names, and for an index that is no cell.
    """
    if not coordinates or not 0 <= index < columns * rows:
        return ""
    row, column = divmod(index, columns)
    name = column_name(column, coordinates)
    return name if coordinates == "columns" else f"{name}{rows - row}"

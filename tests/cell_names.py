"""Cells by their names, as the pages read them: the inverse of :func:`ludus.games.coordinates.cell_name`."""

from __future__ import annotations

import re

_ALPHABETS = {"go": "ABCDEFGHJKLMNOPQRSTUVWXYZ", "chess": "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_POINT = re.compile(r"([A-Z]{1,3})\s*([0-9]{1,4})")
_COLUMN = re.compile(r"[0-9]{1,4}")


def cell_named(text: str, columns: int, rows: int, coordinates: str) -> int:
    """Return the cell that a person means with ``d4`` or `` D 4``; -1 for any other text.

    Where columns are numbered, the number of a column is its top cell, and so the column itself.
    """
    typed = text.strip().upper()
    if coordinates == "columns":
        return int(typed) - 1 if _COLUMN.fullmatch(typed) and 1 <= int(typed) <= columns else -1
    alphabet, parts = _ALPHABETS.get(coordinates, ""), _POINT.fullmatch(typed)
    if parts is None or any(letter not in alphabet for letter in parts[1]):
        return -1
    column = 0
    for letter in parts[1]:
        column = column * len(alphabet) + alphabet.index(letter) + 1
    row = rows - int(parts[2])
    return row * columns + column - 1 if column <= columns and 0 <= row < rows else -1

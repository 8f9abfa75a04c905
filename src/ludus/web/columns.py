"""Numbers packed for the replay page: varints and columns of changes.

The page reads them back in ``static/replay/data.js``; the two files are one format.

- ``uint``: little-endian base-128, high bit = more follows, below 2**53 (a JavaScript integer).
- ``sint``: zigzag (0, -1, 1, -2, ... as 0, 1, 2, 3, ...), then ``uint``.
- ``column``: ``uint`` number of changes, then for each a ``uint`` gap since the last change (the first is
  counted from index 0) and a ``sint`` difference from the last value (the first is counted from 0).
"""

from __future__ import annotations

from collections.abc import Iterable

MAX_UINT = 2**53 - 1


class Writer:
    """Appends numbers to ``data``."""

    def __init__(self) -> None:
        """Start with no bytes."""
        self.data = bytearray()

    def uint(self, value: int) -> None:
        """Write an integer. Raises ``ValueError`` outside 0..2**53-1."""
        if not 0 <= value <= MAX_UINT:
            raise ValueError(f"{value} is not in 0..{MAX_UINT}")
        while value >= 0x80:
            self.data.append(value & 0x7F | 0x80)
            value >>= 7
        self.data.append(value)

    def sint(self, value: int) -> None:
        """Write a signed integer, zigzag coded."""
        self.uint(2 * value if value >= 0 else -2 * value - 1)

    def uints(self, values: Iterable[int]) -> None:
        """Write integers, each as :meth:`uint`."""
        for value in values:
            self.uint(value)

    def column(self, column: Column) -> None:
        """Write the changes of ``column``."""
        self.uint(len(column.changes) // 2)
        for i in range(0, len(column.changes), 2):
            self.uint(column.changes[i])
            self.sint(column.changes[i + 1])


class Column:
    """One value a frame, kept as its changes. ``changes`` alternates gap and difference."""

    __slots__ = ("_since", "_value", "changes")

    def __init__(self, zeros: int = 0) -> None:
        """Start with ``zeros`` values of 0."""
        self.changes: list[int] = []
        self._value = 0
        self._since = zeros

    def add(self, value: int) -> None:
        """Append a value."""
        if value != self._value:
            self.changes.append(self._since)
            self.changes.append(value - self._value)
            self._value = value
            self._since = 0
        self._since += 1

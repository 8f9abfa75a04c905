"""Pictures of matches on a board, for videos: the same signs as on the replay page (``grid_view.js``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.games.coordinates import column_name
from ludus.web.pictures import (
    FINER,
    GROUND,
    INK,
    NO_SEAT,
    PAPER,
    WALL,
    Colour,
    Document,
    Pictures,
    Rim,
    document_of,
    seat_colour,
    tick_of,
)

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

_EMPTY, _WALL, _TREASURE = -1, -2, -3
_GRID: Colour = (222, 224, 216)
_BOARD, _LINE, _BOARD_INK = (226, 189, 123), (111, 82, 35), (51, 36, 12)
_STONES: tuple[Colour, Colour] = ((24, 27, 32), (246, 244, 238))
_STONE_RIMS: tuple[Colour, Colour] = ((0, 0, 0), (91, 85, 70))
_RIM = Rim(0.95, 0.95, 0.95, 0.95)
_ABOVE = Rim(top=0.5)
_BARE = Rim(0.3, 0.3, 0.3, 0.3)  # around crossings, so that stones at the edge are whole


def cells_of(document: Document, count: int) -> list[int]:
    """Return ``count`` cells; what is no integer, or is missing, is empty."""
    given = document.get("cells")
    cells = [c if isinstance(c, int) else _EMPTY for c in given[:count]] if isinstance(given, list) else []
    return cells + [_EMPTY] * (count - len(cells))


def star_points(columns: int, rows: int) -> list[tuple[int, int]]:
    """Return the marked crossings of a board, ``(column, row)``.

    On the third line below 13 lines, on the fourth from there; the middles of the sides from 19.
    """

    def marks(n: int) -> list[int]:
        if n < 7:
            return [(n - 1) // 2] if n % 2 and n > 2 else []
        edge = 2 if n < 13 else 3
        return [edge, (n - 1) // 2, n - 1 - edge] if n % 2 else [edge, n - 1 - edge]

    def middle(at: int, n: int) -> bool:
        return n % 2 == 1 and at == (n - 1) // 2

    points = [(column, row) for column in marks(columns) for row in marks(rows)]
    if columns >= 19 and rows >= 19:
        return points
    return [(column, row) for column, row in points if middle(column, columns) == middle(row, rows)]


class BoardPainter(Pictures):
    """A board of cells or crossings."""

    @property
    def crossings(self) -> bool:
        """Whether the pieces are stones on crossings."""
        return self.recording.lines == "crossings"

    def sides(self, first: bytes | str) -> tuple[int, int]:
        """Return the sides in the first document."""
        document = document_of(first)
        width, height = document.get("width"), document.get("height")
        if not isinstance(width, int) or not isinstance(height, int):
            raise ValueError("a board without width and height")
        return width, height

    def rim_of(self) -> Rim:
        """Return room for the names of rows and columns."""
        if self.recording.coordinates == "columns":
            return _ABOVE
        return _RIM if self.recording.coordinates else _BARE if self.crossings else Rim()

    def paint(self, pen: ImageDraw, view: bytes | str) -> tuple[int, list[str]]:
        """Paint the board, its pieces, the last move and the point that ko forbids."""
        document = document_of(view)
        cells = cells_of(document, self.columns * self.rows)
        self._ground(pen)
        self._labels(pen)
        for cell, what in enumerate(cells):
            self._piece(pen, cell, what)
        last, ko = document.get("last"), document.get("ko")
        if isinstance(last, int) and 0 <= last < len(cells) and cells[last] >= 0:
            colour = _STONES[1 - cells[last]] if self.crossings and cells[last] < 2 else PAPER
            self.ring(pen, *self._middle(last), 0.22, 0.09, colour)
        if isinstance(ko, int) and 0 <= ko < len(cells):
            pen.rectangle(self.box(*self._middle(ko), 0.2), outline=_BOARD_INK, width=2 * FINER)
        captured = document.get("captured")
        amounts = [f"+{c}" for c in captured if isinstance(c, int)] if isinstance(captured, list) else []
        return tick_of(document), amounts

    def _middle(self, cell: int) -> tuple[float, float]:
        return cell % self.columns + 0.5, cell // self.columns + 0.5

    def _ground(self, pen: ImageDraw) -> None:
        size = (self.size * FINER, self.height * FINER)
        pen.rectangle((0, self.head * FINER, *size), fill=_BOARD if self.crossings else GROUND)
        colour, (first, shift) = (_LINE, (0, 0.5)) if self.crossings else (_GRID, (1, 0.0))
        for column in range(first, self.columns):
            x = column + shift
            pen.line((*self.at(x, shift), *self.at(x, self.rows - shift)), fill=colour, width=FINER)
        for row in range(first, self.rows):
            y = row + shift
            pen.line((*self.at(shift, y), *self.at(self.columns - shift, y)), fill=colour, width=FINER)
        for column, row in star_points(self.columns, self.rows) if self.crossings else ():
            self.disc(pen, column + 0.5, row + 0.5, 0.1, _LINE)

    def _labels(self, pen: ImageDraw) -> None:
        kind, rim = self.recording.coordinates, self.rim
        if not kind:
            return
        ink = _BOARD_INK if self.crossings else INK
        for column in range(self.columns):
            for y in (-rim.top / 2, *([self.rows + rim.bottom / 2] if rim.bottom else [])):
                name = column_name(column, kind)
                pen.text(self.at(column + 0.5, y), name, fill=ink, font=self.letters, anchor="mm")
        for row in range(self.rows) if rim.left else ():
            for x in (-rim.left / 2, self.columns + rim.right / 2):
                name = str(self.rows - row)
                pen.text(self.at(x, row + 0.5), name, fill=ink, font=self.letters, anchor="mm")

    def _piece(self, pen: ImageDraw, cell: int, what: int) -> None:
        x, y = self._middle(cell)
        if what == _WALL:
            pen.rectangle(self.box(x, y, 0.5), fill=WALL)
        elif what == _TREASURE:
            self.disc(pen, x, y, 0.18, NO_SEAT)
        elif what >= 0 and self.crossings and what < 2:
            box = self.box(x, y, 0.46)
            pen.ellipse(box, fill=_STONES[what], outline=_STONE_RIMS[what], width=FINER)
        elif what >= 0:
            self.disc(pen, x, y, 0.4, seat_colour(what))
            if what % 2 == 1:  # colour does not suffice to distinguish them
                self.ring(pen, x, y, 0.33, 0.05, PAPER)

    def name_colour(self, seat: int) -> Colour:
        """Return ink beside a stone, else the seat's colour."""
        return INK if self.crossings else seat_colour(seat)

    def mark(self, pen: ImageDraw, seat: int, left: float, middle: float) -> float:
        """Paint the stone of a seat."""
        if not self.crossings or seat > 1:
            return left
        r = self.head * FINER * 0.22
        box = (left, middle - r, left + 2 * r, middle + r)
        pen.ellipse(box, fill=_STONES[seat], outline=_STONE_RIMS[seat], width=FINER)
        return left + 3 * r


class NoughtsPainter(Pictures):
    """Noughts and crosses."""

    def sides(self, first: bytes | str) -> tuple[int, int]:
        """Return 3 and 3."""
        return 3, 3

    def paint(self, pen: ImageDraw, view: bytes | str) -> tuple[int, list[str]]:
        """Paint the lines and the marks."""
        document = document_of(view)
        pen.rectangle((*self.at(0, 0), *self.at(3, 3)), fill=GROUND)
        for at in (1, 2):
            pen.line((*self.at(at, 0.1), *self.at(at, 2.9)), fill=WALL, width=3 * FINER)
            pen.line((*self.at(0.1, at), *self.at(2.9, at)), fill=WALL, width=3 * FINER)
        for cell, what in enumerate(cells_of(document, 9)):
            x, y = cell % 3 + 0.5, cell // 3 + 0.5
            if what == 0:
                for way in (-1, 1):
                    ends = (*self.at(x - 0.25, y - 0.25 * way), *self.at(x + 0.25, y + 0.25 * way))
                    pen.line(ends, fill=seat_colour(0), width=round(0.1 * self.cell))
            elif what == 1:
                self.ring(pen, x, y, 0.32, 0.1, seat_colour(1))
        return tick_of(document), []

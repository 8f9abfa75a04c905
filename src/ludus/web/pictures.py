"""Pictures of a match, for videos, with the colours of the replay page in its light theme."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ludus.flow.inputs.decode import from_json
from ludus.web.recording import Recording

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

Colour = tuple[int, int, int]
Picture = npt.NDArray[np.uint8]
Document = Mapping[str, object]

SEATS: tuple[Colour, ...] = (
    (11, 102, 178),
    (194, 82, 12),
    (0, 122, 92),
    (162, 59, 119),
    (107, 91, 181),
    (122, 106, 0),
    (35, 119, 138),
    (90, 100, 114),
)
NO_SEAT: Colour = (176, 132, 20)
GROUND, DARK, WALL, PAPER, INK = (
    (239, 240, 233),
    (143, 150, 152),
    (92, 100, 106),
    (255, 255, 255),
    (22, 28, 36),
)
FINER = 2  # drawn this much larger, then made smaller: smooth edges


def seat_colour(seat: int) -> Colour:
    """Return the colour of a seat; a negative number means no seat."""
    return SEATS[seat % len(SEATS)] if seat >= 0 else NO_SEAT


@dataclass(frozen=True)
class Rim:
    """Room around the cells of a board, in cells."""

    left: float = 0.0
    right: float = 0.0
    top: float = 0.0
    bottom: float = 0.0


class Pictures(ABC):
    """View documents to pictures ``uint8[H, W, 3]``, H and W even, as the encoder requires.

    A subclass paints one moment: cells are 1 by 1, and (0, 0) is the upper left corner of the first.
    """

    rim = Rim()

    def __init__(self, recording: Recording, pillow: Sequence[ModuleType], width: int, seat: int) -> None:
        """Prepare pictures of ``recording``.

        Args:
            recording: The match. Its views are read.
            pillow: Pillow's modules Image, ImageDraw and ImageFont.
            width: Width in pixels; an odd one loses a pixel.
            seat: Whose fog is shown; -1 for none.
        """
        self.recording, self.seat = recording, seat
        self.image, self.draw, self.fonts = pillow
        self.views = list(recording.views)
        self.columns, self.rows = self.sides(self.views[0])
        self.rim = self.rim_of()
        across = self.rim.left + self.columns + self.rim.right
        down = self.rim.top + self.rows + self.rim.bottom
        self.size = width - width % 2
        self.cell = self.size * FINER / across
        self.head = max(24, self.size // 14)
        height = self.head + int(self.size * down / across)
        self.height = height + height % 2
        self.text = self.fonts.load_default(max(9, self.head * 0.42) * FINER)
        self.letters = self.fonts.load_default(max(6.0, self.cell * 0.34))

    @abstractmethod
    def sides(self, first: bytes | str) -> tuple[int, int]:
        """Return columns and rows, from the first view document."""

    def rim_of(self) -> Rim:
        """Return the room around the cells."""
        return Rim()

    @abstractmethod
    def paint(self, pen: ImageDraw, view: bytes | str) -> tuple[int, list[str]]:
        """Paint the moment of a view document. Return its tick, and a text a seat for the headline."""

    def frames(self) -> Iterator[Picture]:
        """Yield a picture for each view document."""
        for view in self.views:
            picture = self.image.new("RGB", (self.size * FINER, self.height * FINER), PAPER)
            pen = self.draw.Draw(picture)
            self.headline(pen, *self.paint(pen, view))
            small = picture.resize((self.size, self.height), self.image.Resampling.BOX)
            yield np.asarray(small, np.uint8)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the pixels of a point of the board."""
        return (x + self.rim.left) * self.cell, self.head * FINER + (y + self.rim.top) * self.cell

    def box(self, x: float, y: float, radius: float) -> tuple[float, float, float, float]:
        """Return the pixels of a square around a point: left, top, right, bottom."""
        cx, cy = self.at(x, y)
        r = radius * self.cell
        return cx - r, cy - r, cx + r, cy + r

    def disc(self, pen: ImageDraw, x: float, y: float, radius: float, colour: Colour) -> None:
        """Paint a disc around a point of the board."""
        pen.ellipse(self.box(x, y, radius), fill=colour)

    def ring(self, pen: ImageDraw, x: float, y: float, radius: float, width: float, colour: Colour) -> None:
        """Paint a ring; ``width`` in cells."""
        pen.ellipse(self.box(x, y, radius), outline=colour, width=max(FINER, round(width * self.cell)))

    def plate(self, pen: ImageDraw, seat: int, box: tuple[float, float, float, float]) -> None:
        """Paint the plate of a seat: a circle of the even ones, a square of the odd ones."""
        if seat % 2 == 1:
            r = (box[2] - box[0]) / 2
            pen.rounded_rectangle(box, r * 0.25, fill=seat_colour(seat), outline=PAPER, width=FINER)
        else:
            pen.ellipse(box, fill=seat_colour(seat), outline=PAPER, width=FINER)

    def headline(self, pen: ImageDraw, tick: int, amounts: list[str]) -> None:
        """Write the players' names and the tick above the board."""
        middle, edge = self.head * FINER / 2, self.head * FINER * 0.3
        left = edge
        for seat, name in enumerate(self.recording.seats):
            shown = self.seat in (-1, seat) and seat < len(amounts) and amounts[seat]
            amount = f" {amounts[seat]}" if shown else ""
            words = f"{name[:24]}{amount}   "
            left = self.mark(pen, seat, left, middle)
            pen.text((left, middle), words, fill=self.name_colour(seat), font=self.text, anchor="lm")
            left += pen.textlength(words, font=self.text)
        pen.text((self.size * FINER - edge, middle), f"{tick:,}", fill=INK, font=self.text, anchor="rm")

    def name_colour(self, seat: int) -> Colour:
        """Return the colour of a seat's name."""
        return seat_colour(seat)

    def mark(self, pen: ImageDraw, seat: int, left: float, middle: float) -> float:
        """Paint the seat's mark before its name and return where the name starts."""
        return left


def document_of(view: bytes | str) -> Document:
    """Return a view document; an empty one where it is no object."""
    document: object = from_json(view)
    return document if isinstance(document, dict) else {}


def tick_of(document: Document) -> int:
    """Return the tick of a document, 0 without one."""
    tick = document.get("tick")
    return tick if isinstance(tick, int) else 0

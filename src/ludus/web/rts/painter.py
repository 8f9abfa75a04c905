"""Pictures of a match on a map, for videos, with the colours of the replay page.

Circles are the even seats' units, squares the odd ones', larger ones buildings. What a seat does not see is
dark and no unit in it drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ludus.flow.decode import from_json
from ludus.web.recording import Recording
from ludus.web.rts.document import RtsView, UnitView

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

Colour = tuple[int, int, int]
Picture = npt.NDArray[np.uint8]
_SEATS: tuple[Colour, ...] = (
    (11, 102, 178),
    (194, 82, 12),
    (0, 122, 92),
    (162, 59, 119),
    (107, 91, 181),
    (122, 106, 0),
    (35, 119, 138),
    (90, 100, 114),
)
_NOBODY: Colour = (176, 132, 20)
_GROUND, _DARK, _WALL, _PAPER, _INK = (
    (239, 240, 233),
    (143, 150, 152),
    (92, 100, 106),
    (255, 255, 255),
    (22, 28, 36),
)
_RADIUS = {"base": 0.5, "building": 0.42, "tower": 0.42, "resource": 0.38, "flag": 0.3, "worker": 0.26}
_TROOP = 0.32
_FINER = 2  # drawn this much larger, then made smaller: smooth edges


class Painter:
    """View documents to pictures ``uint8[H, W, 3]``, H and W even, as the encoder requires."""

    def __init__(self, recording: Recording, pillow: Sequence[ModuleType], width: int, seat: int) -> None:
        """Prepare pictures of ``recording``.

        Args:
            recording: The match.
            pillow: Pillow's modules Image, ImageDraw and ImageFont.
            width: Width in pixels; an odd one loses a pixel.
            seat: Whose fog is shown; -1 for none.
        """
        self.recording, self.seat = recording, seat
        self.image, self.draw, font = pillow
        self.views = [from_json(view, RtsView) for view in recording.views]
        self.columns, self.rows = self.views[0].map.width, self.views[0].map.height
        self.size = width - width % 2
        self.cell = self.size * _FINER / self.columns
        self.head = max(24, self.size // 14)
        height = self.head + self.size * self.rows // self.columns
        self.height = height + height % 2
        self.text = font.load_default(max(9, self.head * 0.42) * _FINER)
        self.letters = font.load_default(max(6.0, self.cell * 0.34))

    def frames(self) -> Iterator[Picture]:
        """Yield a picture for each view document."""
        for view in self.views:
            yield self._picture(view)

    def _picture(self, view: RtsView) -> Picture:
        big = (self.size * _FINER, self.height * _FINER)
        picture = self.image.new("RGB", big, _PAPER)
        pen = self.draw.Draw(picture)
        seen = view.seen[self.seat] if self.seat >= 0 and view.seen else None
        self._ground(pen, view, seen)
        for bullet in view.bullets:
            if bullet.state != "done" and self._visible(bullet.x, bullet.y, seen):
                self._disc(pen, bullet.x, bullet.y, 0.09, _INK)
        for unit in sorted(view.units, key=lambda u: (u.y, u.id)):
            if unit.seat == self.seat or self._visible(unit.x, unit.y, seen):
                self._unit(pen, view, unit)
        self._headline(pen, view)
        small = picture.resize((self.size, self.height), self.image.Resampling.BOX)
        return np.asarray(small, np.uint8)

    def _at(self, x: float, y: float) -> tuple[float, float]:
        return (x + 0.5) * self.cell, self.head * _FINER + (y + 0.5) * self.cell

    def _visible(self, x: float, y: float, seen: list[str] | None) -> bool:
        if seen is None:
            return True
        column, row = round(x), round(y)
        return 0 <= row < len(seen) and 0 <= column < len(seen[row]) and seen[row][column] == "1"

    def _ground(self, pen: ImageDraw, view: RtsView, seen: list[str] | None) -> None:
        for row in range(self.rows):
            for column in range(self.columns):
                colour = _GROUND if self._visible(column, row, seen) else _DARK
                if view.map.terrain and view.map.terrain[row][column] == "#":
                    colour = _WALL
                x, y = self._at(column - 0.5, row - 0.5)
                pen.rectangle((x, y, x + self.cell, y + self.cell), fill=colour)

    def _disc(self, pen: ImageDraw, x: float, y: float, radius: float, colour: Colour) -> None:
        cx, cy = self._at(x, y)
        r = radius * self.cell
        pen.ellipse((cx - r, cy - r, cx + r, cy + r), fill=colour)

    def _unit(self, pen: ImageDraw, view: RtsView, unit: UnitView) -> None:
        role = view.role(unit.type)
        radius = _RADIUS.get(role, _TROOP)
        own = 0 <= unit.seat < len(_SEATS)
        colour = _SEATS[unit.seat] if own and role != "resource" else _NOBODY
        cx, cy = self._at(unit.x, unit.y)
        r = radius * self.cell
        box = (cx - r, cy - r, cx + r, cy + r)
        if unit.seat % 2 == 1:
            pen.rounded_rectangle(box, r * 0.25, fill=colour, outline=_PAPER, width=_FINER)
        else:
            pen.ellipse(box, fill=colour, outline=_PAPER, width=_FINER)
        if unit.carries:
            pen.ellipse(box, outline=_NOBODY, width=3 * _FINER)
        if role == "base":  # its name may start like another building's
            pen.ellipse((cx - r / 2, cy - r / 2, cx + r / 2, cy + r / 2), outline=_PAPER, width=2 * _FINER)
        elif role != "resource":
            pen.text((cx, cy), unit.type[:1].upper(), fill=_PAPER, font=self.letters, anchor="mm")
        if unit.max_hp > 0 and role != "resource":
            share = min(max(unit.hp / unit.max_hp, 0.0), 1.0)
            top, left, full = cy - r - 0.16 * self.cell, cx - r, 2 * r
            pen.rectangle((left, top, left + full, top + 0.09 * self.cell), fill=_DARK)
            pen.rectangle((left, top, left + full * share, top + 0.09 * self.cell), fill=colour)

    def _headline(self, pen: ImageDraw, view: RtsView) -> None:
        middle, edge = self.head * _FINER / 2, self.head * _FINER * 0.3
        left = edge
        for seat, name in enumerate(self.recording.seats):
            amount = f" {view.amounts[seat]}" if seat < len(view.amounts) else ""
            words = f"{name[:24]}{amount}   "
            pen.text((left, middle), words, fill=_SEATS[seat % len(_SEATS)], font=self.text, anchor="lm")
            left += pen.textlength(words, font=self.text)
        tick = f"{view.tick:,}"
        pen.text((self.size * _FINER - edge, middle), tick, fill=_INK, font=self.text, anchor="rm")

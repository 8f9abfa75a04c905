"""Pictures of a match on a map, for videos, with the colours of the replay page.

Circles are the even seats' units, squares the odd ones', larger ones buildings. What a seat does not see is
dark and no unit in it drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.flow.inputs.decode import from_json
from ludus.web.pictures import DARK, FINER, GROUND, INK, NO_SEAT, PAPER, SEATS, WALL, Pictures
from ludus.web.rts.document import RtsView, UnitView

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

_RADIUS = {"base": 0.5, "building": 0.42, "tower": 0.42, "resource": 0.38, "flag": 0.3, "worker": 0.26}
_TROOP = 0.32


class Painter(Pictures):
    """See :class:`ludus.web.pictures.Pictures`. Positions of units are from the middle of the first cell."""

    def sides(self, first: bytes | str) -> tuple[int, int]:
        """Return the sides of the map."""
        size = from_json(first, RtsView).map
        return size.width, size.height

    def paint(self, pen: ImageDraw, view: bytes | str) -> tuple[int, list[str]]:
        """Paint the map and everything on it that the chosen seat sees."""
        moment = from_json(view, RtsView)
        seen = moment.seen[self.seat] if self.seat >= 0 and moment.seen else None
        self._ground(pen, moment, seen)
        for bullet in moment.bullets:
            if bullet.state != "done" and self._visible(bullet.x, bullet.y, seen):
                self.disc(pen, bullet.x + 0.5, bullet.y + 0.5, 0.09, INK)
        for unit in sorted(moment.units, key=lambda u: (u.y, u.id)):
            if unit.seat == self.seat or self._visible(unit.x, unit.y, seen):
                self._unit(pen, moment, unit)
        return moment.tick, [str(amount) for amount in moment.amounts]

    def _visible(self, x: float, y: float, seen: list[str] | None) -> bool:
        if seen is None:
            return True
        column, row = round(x), round(y)
        return 0 <= row < len(seen) and 0 <= column < len(seen[row]) and seen[row][column] == "1"

    def _ground(self, pen: ImageDraw, view: RtsView, seen: list[str] | None) -> None:
        for row in range(self.rows):
            for column in range(self.columns):
                colour = GROUND if self._visible(column, row, seen) else DARK
                if view.map.terrain and view.map.terrain[row][column] == "#":
                    colour = WALL
                pen.rectangle((*self.at(column, row), *self.at(column + 1, row + 1)), fill=colour)

    def _unit(self, pen: ImageDraw, view: RtsView, unit: UnitView) -> None:
        role = view.role(unit.type)
        radius = _RADIUS.get(role, _TROOP)
        own = 0 <= unit.seat < len(SEATS)
        colour = SEATS[unit.seat] if own and role != "resource" else NO_SEAT
        cx, cy = self.at(unit.x + 0.5, unit.y + 0.5)
        r = radius * self.cell
        box = (cx - r, cy - r, cx + r, cy + r)
        if unit.seat % 2 == 1:
            pen.rounded_rectangle(box, r * 0.25, fill=colour, outline=PAPER, width=FINER)
        else:
            pen.ellipse(box, fill=colour, outline=PAPER, width=FINER)
        if unit.carries:
            pen.ellipse(box, outline=NO_SEAT, width=3 * FINER)
        if role == "base":  # its name may start like another building's
            pen.ellipse((cx - r / 2, cy - r / 2, cx + r / 2, cy + r / 2), outline=PAPER, width=2 * FINER)
        elif role != "resource":
            pen.text((cx, cy), unit.type[:1].upper(), fill=PAPER, font=self.letters, anchor="mm")
        if unit.max_hp > 0 and role != "resource":
            share = min(max(unit.hp / unit.max_hp, 0.0), 1.0)
            top, left, full = cy - r - 0.16 * self.cell, cx - r, 2 * r
            pen.rectangle((left, top, left + full, top + 0.09 * self.cell), fill=DARK)
            pen.rectangle((left, top, left + full * share, top + 0.09 * self.cell), fill=colour)

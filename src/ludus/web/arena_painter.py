"""Pictures of matches in an arena, for videos: the same signs as on the replay page (``arena_view.js``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ludus.flow.inputs.decode import from_json
from ludus.web.pictures import DARK, FINER, GROUND, INK, NO_SEAT, PAPER, WALL, Colour, Pictures, seat_colour

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

_RIGID, _WOOD = 1, 2
_POWER_UPS = {6: "B", 7: "R", 8: "K"}
_GRID: Colour = (226, 228, 220)
_FLAME: Colour = (222, 128, 160)


class _Agent(msgspec.Struct):
    seat: int
    row: int
    column: int
    alive: bool = True
    ammo: int = 0


class _Bomb(msgspec.Struct):
    row: int
    column: int
    seat: int = -1
    life: int = 0


class _Flame(msgspec.Struct):
    row: int
    column: int


class _Moment(msgspec.Struct):
    tick: int
    size: int
    board: list[list[int]]
    view_radius: int = 0
    agents: list[_Agent] = []
    bombs: list[_Bomb] = []
    flames: list[_Flame] = []

    def item(self, row: int, column: int) -> int:
        inside = row < len(self.board) and column < len(self.board[row])
        return self.board[row][column] if inside else 0


class ArenaPainter(Pictures):
    """Agents, bombs, flames and walls. Cells beyond the sight of the chosen seat are dark and empty."""

    def sides(self, first: bytes | str) -> tuple[int, int]:
        """Return the size twice."""
        size = from_json(first, _Moment).size
        return size, size

    def paint(self, pen: ImageDraw, view: bytes | str) -> tuple[int, list[str]]:
        """Paint the board and everything that the chosen seat sees."""
        moment = from_json(view, _Moment)
        viewer = next((a for a in moment.agents if a.seat == self.seat), None)
        radius = moment.view_radius

        def sees(row: int, column: int) -> bool:
            if viewer is None or radius <= 0:
                return True
            return max(abs(row - viewer.row), abs(column - viewer.column)) <= radius

        for row in range(self.rows):
            for column in range(self.columns):
                self._cell(pen, row, column, moment.item(row, column) if sees(row, column) else None)
        for flame in moment.flames:
            if sees(flame.row, flame.column):
                self.disc(pen, flame.column + 0.5, flame.row + 0.5, 0.44, _FLAME)
        for bomb in moment.bombs:
            if sees(bomb.row, bomb.column):
                self._bomb(pen, bomb)
        for agent in moment.agents:
            if sees(agent.row, agent.column):
                self._agent(pen, agent)
        return moment.tick, [f"{a.ammo}" if a.alive else "out" for a in moment.agents]

    def _cell(self, pen: ImageDraw, row: int, column: int, item: int | None) -> None:
        x, y = column + 0.5, row + 0.5
        pen.rectangle(self.box(x, y, 0.5), fill=DARK if item is None else GROUND, outline=_GRID, width=1)
        if item in (_RIGID, _WOOD):
            colour = WALL if item == _RIGID else NO_SEAT
            pen.rounded_rectangle(self.box(x, y, 0.45), 0.08 * self.cell, fill=colour)
        elif item in _POWER_UPS:
            box = self.box(x, y, 0.32)
            pen.rounded_rectangle(box, 0.08 * self.cell, fill=PAPER, outline=INK, width=FINER)
            pen.text(self.at(x, y), _POWER_UPS[item], fill=INK, font=self.letters, anchor="mm")

    def _bomb(self, pen: ImageDraw, bomb: _Bomb) -> None:
        x, y = bomb.column + 0.5, bomb.row + 0.5
        self.disc(pen, x, y, 0.36, seat_colour(bomb.seat))
        self.disc(pen, x, y, 0.29, INK)
        pen.text(self.at(x, y), str(bomb.life), fill=PAPER, font=self.letters, anchor="mm")

    def _agent(self, pen: ImageDraw, agent: _Agent) -> None:
        x, y = agent.column + 0.5, agent.row + 0.5
        if not agent.alive:
            for way in (-1, 1):
                ends = (*self.at(x - 0.2, y - 0.2 * way), *self.at(x + 0.2, y + 0.2 * way))
                pen.line(ends, fill=seat_colour(agent.seat), width=2 * FINER)
            return
        self.plate(pen, agent.seat, self.box(x, y, 0.38))
        pen.text(self.at(x, y), str(agent.seat), fill=PAPER, font=self.letters, anchor="mm")

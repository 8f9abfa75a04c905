"""Data of a match in an arena (Pommerman) for the page: the documents, and the events between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from ludus.flow.inputs.decode import from_json
from ludus.web.recording import ViewError

_WOOD = 2
_POWER_UPS = {6: "bomb", 7: "range", 8: "kick"}
_FLAMES_TICKS = 3  # how long the flames of a bomb burn
MOST_SIDE = 64


class AgentView(msgspec.Struct):
    """An agent of a view document."""

    row: int
    column: int
    alive: bool = True


class BombView(msgspec.Struct):
    """A bomb of a view document. ``life``: ticks until it explodes; ``blast``: cells, its own included."""

    row: int
    column: int
    seat: int = -1
    life: int = 0
    blast: int = 0

    def reaches(self, row: int, column: int) -> bool:
        """Return whether the flames may reach a cell, if no wall is between."""
        in_row = row == self.row and abs(column - self.column) < self.blast
        in_column = column == self.column and abs(row - self.row) < self.blast
        return in_row or in_column


class ArenaView(msgspec.Struct):
    """The fields of a view document that events are made of."""

    tick: int
    size: int
    board: list[list[int]]
    agents: list[AgentView] = []
    bombs: list[BombView] = []
    over: bool = False

    def item(self, row: int, column: int) -> int:
        """Return the item of a cell; -1 outside the board."""
        inside = 0 <= row < len(self.board) and 0 <= column < len(self.board[row])
        return self.board[row][column] if inside else -1


class ArenaPacking:
    """See :class:`ludus.web.renderers.ViewPacker`.

    Kinds of events: ``bomb``, ``explosion``, ``wood``, ``taken``, ``out`` and ``over``.
    """

    def __init__(self) -> None:
        """Start with no document."""
        self._views: list[object] = []
        self._before: ArenaView | None = None
        self._burning: list[tuple[int, BombView]] = []  # tick of the explosion, bomb
        self._events: list[tuple[int, str, int, str]] = []
        self._effects: dict[tuple[int, int], list[str]] = {}

    def see(self, document: bytes | str) -> None:
        """Take the next document. Raises ``ViewError`` where a field is missing or of another kind."""
        try:
            view = from_json(document, ArenaView)
        except msgspec.ValidationError as error:
            raise ViewError(f"a view document is not one of an arena: {error}") from None
        if not 1 <= view.size <= MOST_SIDE or len(view.board) != view.size:
            raise ViewError(f"an arena: size {view.size}, {len(view.board)} rows, expected 1 to {MOST_SIDE}")
        self._views.append(from_json(document))
        before, self._before = self._before, view
        if before is not None and view.tick > before.tick:
            for kind, seat, text in self._between(before, view):
                self._events.append((view.tick, kind, seat, text))
                if view.tick == before.tick + 1 and kind in ("taken", "out"):
                    self._effects.setdefault((seat, before.tick), []).append(text)

    def header(self) -> dict[str, object]:
        """Return the documents and the events."""
        events = [[tick, kind, seat, -1, text] for tick, kind, seat, text in self._events]
        return {"views": self._views, "events": events}

    def data(self) -> bytes:
        """Return no bytes."""
        return b""

    def effect(self, seat: int, tick: int) -> str:
        """Return the seat's power-up or end right after a tick."""
        return ", ".join(self._effects.get((seat, tick), ()))

    def _between(self, before: ArenaView, view: ArenaView) -> Iterator[tuple[str, int, str]]:
        passed = view.tick - before.tick
        old = Counter((bomb.seat, bomb.life) for bomb in before.bombs)
        for bomb in view.bombs:
            if old[bomb.seat, bomb.life + passed] > 0:
                old[bomb.seat, bomb.life + passed] -= 1
            else:
                yield "bomb", bomb.seat, "bomb placed"
        exploded = []
        for bomb in before.bombs:
            if old[bomb.seat, bomb.life] > 0:
                old[bomb.seat, bomb.life] -= 1
                exploded.append(bomb)
                yield "explosion", bomb.seat, "bomb explodes"
        self._burning = [(t, b) for t, b in self._burning if view.tick - t < _FLAMES_TICKS]
        self._burning += [(view.tick, bomb) for bomb in exploded]
        yield from self._blown(before, view, exploded)
        for seat, (was, now) in enumerate(zip(before.agents, view.agents, strict=False)):
            if was.alive and not now.alive:
                yield "out", seat, f"is out{self._by(seat, now)}"
            elif now.alive and (item := before.item(now.row, now.column)) in _POWER_UPS:
                yield "taken", seat, f"+ {_POWER_UPS[item]}"
        if view.over and not before.over:
            left = [seat for seat, agent in enumerate(view.agents) if agent.alive]
            yield "over", left[0] if len(left) == 1 else -1, "the match is over"

    def _by(self, seat: int, agent: AgentView) -> str:
        near = {b.seat for _, b in self._burning if b.reaches(agent.row, agent.column) and b.seat >= 0}
        if near == {seat}:
            return " by its own bomb"
        return " by " + " or ".join(f"seat {s}" for s in sorted(near)) if near else ""

    def _blown(
        self, before: ArenaView, view: ArenaView, exploded: list[BombView]
    ) -> Iterator[tuple[str, int, str]]:
        blown: Counter[int] = Counter()
        for row in range(before.size):
            for column, item in enumerate(before.board[row]):
                if item == _WOOD and view.item(row, column) != _WOOD:
                    blown[next((b.seat for b in exploded if b.reaches(row, column)), -1)] += 1
        for seat, n in sorted(blown.items()):
            yield "wood", seat, f"{n} wooden wall{'s' if n > 1 else ''} blown up"

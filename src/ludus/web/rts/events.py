"""Events of an RTS match, from the differences of successive view documents."""

from __future__ import annotations

import msgspec

from ludus.web.rts.document import RtsView, UnitView

ALARM_TICKS = 150  # a base under fire is one event until it was left alone for this long


class MapEvent(msgspec.Struct, frozen=True):
    """An event of a match.

    ``kind``: ``trained``, ``built``, ``died``, ``razed``, ``exhausted``, ``alarm``, ``wave``, ``flag``,
    ``point`` or ``over``. ``unit`` is an id or -1. ``tick`` is the tick of the view document that shows it.
    """

    tick: int
    kind: str
    seat: int
    unit: int
    text: str


def words(unit_type: str) -> str:
    """Return the name of a unit type for people."""
    return unit_type.replace("_", " ").lower()


class EventLog:
    """Give it every view document in order; ``events`` fills."""

    def __init__(self) -> None:
        """Start before the first view document."""
        self.events: list[MapEvent] = []
        self._alive: dict[int, UnitView] = {}
        self._alarm: dict[int, int] = {}  # unit -> tick of the last loss that was seen
        self._settled = False  # the start position is no event
        self._over = False
        self._score: list[int] = []

    def see(self, view: RtsView) -> None:
        """Compare a view document with the one before, and append the events between them."""
        alive = {u.id: u for u in view.units}
        if self._settled:
            new: list[UnitView] = []
            for u in view.units:
                before = self._alive.get(u.id)
                if before is None:
                    new.append(u)
                elif u.hp < before.hp and view.role(u.type) in ("base", "building"):
                    self._hurt(view.tick, u)
                if u.carries and (before is None or not before.carries):
                    self._add(view.tick, "flag", u.seat, u.id, f"{words(u.type)} takes the flag")
            self._appeared(view, new)
            for gone in self._alive.values():
                if gone.id not in alive:
                    self._vanished(view.tick, gone, view.role(gone.type))
            for seat, (points, had) in enumerate(zip(view.score, self._score, strict=False)):
                if points > had:
                    self._add(view.tick, "point", seat, -1, f"point {points}")
        elif alive:
            self._settled = True
        self._alive = alive
        self._score = view.score
        if view.over and not self._over:
            self._over = True
            text = f"seat {view.winner} wins" if view.winner >= 0 else "no one wins"
            self._add(view.tick, "over", view.winner, -1, text)

    def _add(self, tick: int, kind: str, seat: int, unit: int, text: str) -> None:
        self.events.append(MapEvent(tick=tick, kind=kind, seat=seat, unit=unit, text=text))

    def _appeared(self, view: RtsView, new: list[UnitView]) -> None:
        waves: dict[tuple[int, str], int] = {}  # what the rules send comes in many at once
        for u in new:
            role = view.role(u.type)
            if u.seat >= len(view.amounts):
                waves[u.seat, u.type] = waves.get((u.seat, u.type), 0) + 1
            elif role != "flag":
                building = role in ("base", "building", "tower")
                kind, verb = ("built", "finished") if building else ("trained", "trained")
                self._add(view.tick, kind, u.seat, u.id, f"{words(u.type)} {verb}")
        for (seat, unit_type), n in waves.items():
            self._add(view.tick, "wave", seat, -1, f"wave: {n} {words(unit_type)}{'s' if n > 1 else ''}")

    def _vanished(self, tick: int, u: UnitView, role: str) -> None:
        if role == "flag":
            return
        kind, verb = {
            "resource": ("exhausted", "exhausted"),
            "base": ("razed", "destroyed"),
            "building": ("razed", "destroyed"),
            "tower": ("razed", "destroyed"),
        }.get(role, ("died", "died"))
        self._add(tick, kind, u.seat, u.id, f"{words(u.type)} {verb}")

    def _hurt(self, tick: int, u: UnitView) -> None:
        last = self._alarm.get(u.id)
        if last is None or tick - last > ALARM_TICKS:
            self._add(tick, "alarm", u.seat, u.id, f"{words(u.type)} under attack")
        self._alarm[u.id] = tick

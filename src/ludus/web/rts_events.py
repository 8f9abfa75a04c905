"""What happened in an RTS match, told from the difference of successive view documents."""

from __future__ import annotations

import msgspec

from ludus.web.rts_view import RtsView, UnitView, role

ALARM_TICKS = 150  # a base under fire is one event until it was left alone for this long


class Event(msgspec.Struct, frozen=True):
    """``kind``: ``trained``, ``built``, ``died``, ``razed``, ``exhausted``, ``alarm`` or ``over``. ``unit``
    is an id or -1. ``tick`` is the tick of the view document in which it shows."""

    tick: int
    kind: str
    seat: int
    unit: int
    text: str


def words(unit_type: str) -> str:
    return unit_type.replace("_", " ").lower()


class EventLog:
    """Give it every view document in order; ``events`` fills."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._alive: dict[int, UnitView] = {}
        self._alarm: dict[int, int] = {}  # unit -> tick of the last loss that was seen
        self._settled = False  # the start position is no event
        self._over = False

    def see(self, view: RtsView) -> None:
        alive = {u.id: u for u in view.units}
        if self._settled:
            for u in view.units:
                before = self._alive.get(u.id)
                if before is None:
                    self._appeared(view, u)
                elif u.hp < before.hp and role(u.type, view.roles) in ("base", "building"):
                    self._hurt(view.tick, u)
            for gone in self._alive.values():
                if gone.id not in alive:
                    self._vanished(view, gone)
        elif alive:
            self._settled = True
        self._alive = alive
        if view.over and not self._over:
            self._over = True
            text = f"seat {view.winner} wins" if view.winner >= 0 else "nobody wins"
            self._add(view.tick, "over", view.winner, -1, text)

    def _add(self, tick: int, kind: str, seat: int, unit: int, text: str) -> None:
        self.events.append(Event(tick=tick, kind=kind, seat=seat, unit=unit, text=text))

    def _appeared(self, view: RtsView, u: UnitView) -> None:
        building = role(u.type, view.roles) in ("base", "building")
        kind, verb = ("built", "finished") if building else ("trained", "trained")
        self._add(view.tick, kind, u.seat, u.id, f"{words(u.type)} {verb}")

    def _vanished(self, view: RtsView, u: UnitView) -> None:
        kind, verb = {
            "resource": ("exhausted", "exhausted"),
            "base": ("razed", "destroyed"),
            "building": ("razed", "destroyed"),
        }.get(role(u.type, view.roles), ("died", "died"))
        self._add(view.tick, kind, u.seat, u.id, f"{words(u.type)} {verb}")

    def _hurt(self, tick: int, u: UnitView) -> None:
        last = self._alarm.get(u.id)
        if last is None or tick - last > ALARM_TICKS:
            self._add(tick, "alarm", u.seat, u.id, f"{words(u.type)} under attack")
        self._alarm[u.id] = tick

"""Orders that a decision led to, from the commands of the units and the ticks at which they got them."""

from __future__ import annotations

from collections import Counter

from ludus.web.rts.document import RtsView, UnitView
from ludus.web.rts.events import words


class OrderLog:
    """Log of orders: takes every view document in order, and returns the orders of a seat at a tick.

    An order replaced before the next document came is not seen.
    """

    def __init__(self) -> None:
        """Start before the first view document."""
        self._orders: dict[tuple[int, int], Counter[tuple[str, str]]] = {}
        self._since: dict[int, tuple[int, str]] = {}

    def see(self, view: RtsView) -> None:
        """Take the orders that units of a view document have received since the one before."""
        types = {u.id: u.type for u in view.units}
        now: dict[int, tuple[int, str]] = {}
        for u in view.units:
            if u.command == "idle" or u.since < 0:
                continue
            now[u.id] = (u.since, u.command)
            if self._since.get(u.id) != now[u.id]:
                self._orders.setdefault((u.seat, u.since), Counter())[u.type, _what(u, types)] += 1
        self._since = now

    def text(self, seat: int, tick: int) -> str:
        """Return ``2 workers: gather; barracks: build melee attacker``; empty without a new order."""
        orders = self._orders.get((seat, tick), Counter())
        return "; ".join(f"{_who(unit, n)}: {order}" for (unit, order), n in orders.items())


def _who(unit_type: str, n: int) -> str:
    name = words(unit_type)
    return name if n == 1 else f"{n} {name}" if name.endswith("s") else f"{n} {name}s"


def _what(u: UnitView, types: dict[int, str]) -> str:
    target = u.builds or (types.get(u.target, "") if u.command == "attack" else "")
    return f"{words(u.command)} {words(target)}".strip()

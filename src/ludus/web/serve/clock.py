"""Time of a live match: when the next tick is due, and how long a person may think.

Times are seconds of ``time.monotonic``, given by the caller.
"""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

KEPT = 20_000  # of the newest ticks, whose timing is kept


class Tick(NamedTuple):
    """Timing of one tick, in seconds: how late it started, and what it took."""

    late_s: float
    took_s: float


class TickSchedule:
    """Ticks at a rate. After a stall the schedule restarts: ticks that were missed are not made up for."""

    def __init__(self, per_second: float) -> None:
        """Play ``per_second`` ticks a second, 0 = as soon as possible."""
        self.ticks: deque[Tick] = deque(maxlen=KEPT)
        self.due = -math.inf
        self._period = 0.0
        self.set_rate(per_second)

    def set_rate(self, per_second: float) -> None:
        """Change the rate; the next tick is due by the old one."""
        self._period = 1.0 / per_second if per_second > 0 else 0.0

    def restart(self, now: float) -> None:
        """Let the next tick be due one period from ``now``."""
        self.due = now + self._period

    def advance(self, started: float, ended: float) -> None:
        """Record a tick and make the next one due."""
        if self._period:
            self.ticks.append(Tick(max(0.0, started - self.due), ended - started))
        self.due += self._period
        if self.due < ended - self._period:
            self.due = ended


class MoveClock:
    """Seconds for each decision of a person, where a match has a clock."""

    def __init__(self, seconds: float) -> None:
        """Allow ``seconds`` a decision, 0 = any time."""
        self.seconds = seconds
        self._ends: dict[int, float] = {}  # seat -> when its time is over
        self._left: dict[int, float] = {}  # seat -> seconds, while the clock is stopped

    def start(self, seat: int, now: float) -> None:
        """Start the time of a seat, unless it runs."""
        if self.seconds > 0:
            self._ends.setdefault(seat, now + self.seconds)

    def clear(self) -> None:
        """Stop all: decisions were made or taken back."""
        self._ends.clear()
        self._left.clear()

    def stand(self, since: float) -> None:
        """Stop the clock, from a time that may be past."""
        self._left.update({seat: min(self.seconds, end - since) for seat, end in self._ends.items()})
        self._ends.clear()

    def run(self, now: float) -> None:
        """Let the clock run again."""
        self._ends.update({seat: now + left for seat, left in self._left.items()})
        self._left.clear()

    def left(self, now: float) -> dict[str, float]:
        """Return the seconds that each seat has left."""
        running = {str(seat): max(0.0, end - now) for seat, end in self._ends.items()}
        standing = {str(seat): max(0.0, left) for seat, left in self._left.items()}
        return {seat: round(left, 1) for seat, left in {**running, **standing}.items()}

    @property
    def ends(self) -> float:
        """When the first seat's time is over."""
        return min(self._ends.values(), default=math.inf)

    def late(self, now: float) -> int | None:
        """Return a seat whose time is over, or None."""
        return next((seat for seat, end in self._ends.items() if end <= now), None)

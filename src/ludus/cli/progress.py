"""Progress of the matches of a command, and an orderly end on Ctrl-C."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from contextlib import ExitStack
from types import FrameType
from typing import TYPE_CHECKING

from ludus.cli import console
from ludus.cli.console import duration
from ludus.flow.interrupts import on_stop

if TYPE_CHECKING:
    from ludus.flow.match import MatchResult

REDRAW_S = 0.5  # on a terminal
LINE_EVERY_S = 10.0  # elsewhere


class Progress:
    """Progress line on stderr: how many of ``total`` matches, or other things, are over.

    On a terminal it redraws one line, elsewhere it prints a line every ten seconds. As a context manager it
    handles SIGINT, SIGTERM and SIGHUP: the first sets :attr:`stopped`, a second Ctrl-C raises
    ``KeyboardInterrupt``.
    """

    def __init__(self, total: int, unit: str = "matches") -> None:
        """Start the clock for ``total`` matches, or what ``unit`` names in the plural."""
        self._unit = unit
        self.total, self.over, self.stopped = total, 0, False
        self.started = self.shown = time.monotonic()
        self._live = console.redraws()
        self._opened = ExitStack()

    def __enter__(self) -> Progress:
        """Handle stop signals from now on."""
        self._opened.enter_context(on_stop(self._stop))
        return self

    def __exit__(self, *error: object) -> None:
        """Restore the handlers of signals and clear the line."""
        self._opened.close()
        self.clear()

    def should_stop(self) -> bool:
        """Return whether a stop signal has arrived."""
        return self.stopped

    def add(self, ended: Sequence[MatchResult]) -> None:
        """Count finished matches; without any, only update the time."""
        self.count(len(ended))

    def count(self, more: int) -> None:
        """Count ``more`` that are over; with 0, only update the time."""
        self.over += more
        now = time.monotonic()
        if now - self.shown < (REDRAW_S if self._live else LINE_EVERY_S):
            return
        self.shown = now
        if self._live:
            console.draw(f"\r{self.line(now)}\x1b[K")
        else:
            console.note(self.line(now))

    def line(self, now: float) -> str:
        """Return ``120 of 400 matches, 0:12 min, about 0:28 min left``."""
        minutes = (now - self.started) / 60.0
        text = f"{self.over:,} of {self.total:,} {self._unit}, {duration(minutes)}"
        if not self.over:
            return text
        return f"{text}, about {duration(minutes * (self.total - self.over) / self.over)} left"

    def clear(self) -> None:
        """Clear the redrawn line before permanent output."""
        if self._live:
            console.draw("\r\x1b[K")

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self.stopped and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.stopped = True
        self.clear()
        console.note("stopping after the finished matches; Ctrl-C again stops at once")

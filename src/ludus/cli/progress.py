"""Progress of the matches of a command, and an orderly end on Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import FrameType
from typing import TYPE_CHECKING

from ludus.cli import console
from ludus.cli.console import duration
from ludus.evaluation.progress import MatchProgress
from ludus.flow.inputs.shown import visible
from ludus.flow.process.interrupts import on_stop

if TYPE_CHECKING:
    from ludus.flow.match import MatchResult
    from ludus.flow.spec import GameSpec

REDRAW_S = 0.5  # on a terminal
LINE_EVERY_S = 10.0  # elsewhere
BAR = 16  # characters
_COUNT = re.compile(r"([\d,]+) of ([\d,]+)")


def bar(share: float) -> str:
    """Return ``[####------------]`` for a share of 0..1."""
    full = int(BAR * min(max(share, 0.0), 1.0))
    return f"[{'#' * full}{'-' * (BAR - full)}]"


def counted(text: str) -> float | None:
    """Return the share in the last ``12 of 200`` of a text; None without one."""
    found = _COUNT.findall(text)
    if not found:
        return None
    over, total = (int(number.replace(",", "") or 0) for number in found[-1])
    return over / total if total else None


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


class Ticker:
    """Display of what a command does: a line with a bar on a terminal, elsewhere a line every ten seconds.

    A thread of the display writes it, so that it moves while one step of the work takes long. As a context
    manager it starts and stops that thread.
    """

    def __init__(
        self,
        text: Callable[[], str],
        *,
        quiet: bool = False,
        every_s: float = LINE_EVERY_S,
        share: Callable[[], float | None] | None = None,
    ) -> None:
        """Show ``text()``, which the thread calls; nothing where ``quiet``.

        Args:
            text: What the command does.
            quiet: Show nothing.
            every_s: Time between two lines that are not redrawn.
            share: Share of the work that is done, 0..1, for the bar; by default the count in the text.
        """
        self._text, self._quiet, self._share = text, quiet, share
        self._live = console.redraws() and not quiet
        self._every_s = REDRAW_S if self._live else every_s
        self._lock = threading.RLock()  # a signal's handler clears the line in the middle of anything
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="progress")

    def __enter__(self) -> Ticker:
        """Start the thread."""
        if not self._quiet:
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop the thread and clear the line."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()
        self.clear()

    def clear(self) -> None:
        """Clear the redrawn line before permanent output."""
        if self._live:
            with self._lock:
                console.draw("\r\x1b[K")

    def _run(self) -> None:
        while not self._closed.wait(self._every_s):
            text = visible(self._text())
            with self._lock:
                if self._closed.is_set():
                    return
                if self._live:  # no longer than a line: the rest would stay behind
                    console.draw(f"\r{self._barred(text)[: _columns() - 1]}\x1b[K")
                else:
                    console.note(text)

    def _barred(self, text: str) -> str:
        """Return a text, and its bar behind it where the line is long enough."""
        share = counted(text) if self._share is None else self._share()
        barred = text if share is None else f"{bar(share)} {text}"
        return barred if len(barred) < _columns() else text


class Display(Ticker):
    """Display whose text changes: what a command does now, and since when the command has run."""

    def __init__(self, first: str, *, quiet: bool = False, every_s: float = LINE_EVERY_S) -> None:
        """Show ``first`` until :meth:`say` or :attr:`text` changes it."""
        started = time.monotonic()
        self.text: Callable[[], str] = lambda: first  #: any thread may set it
        self._matches: MatchProgress | None = None
        super().__init__(
            lambda: f"[{duration((time.monotonic() - started) / 60.0)}] {self.text()}",
            quiet=quiet,
            every_s=every_s,
            share=self._done,
        )

    def __enter__(self) -> Display:
        """Start the thread."""
        super().__enter__()
        return self

    def say(self, text: str) -> None:
        """Show ``text`` next."""
        self._matches, self.text = None, lambda: text

    def watch(self, what: str, matches: MatchProgress) -> None:
        """Show the progress of ``matches`` next, after the words ``what``."""
        self._matches, self.text = matches, lambda: f"{what}: {matches.brief()}"

    def _done(self) -> float | None:
        return counted(self.text()) if self._matches is None else self._matches.share()


class Progress:
    """Progress line on stderr: how many of ``total`` matches, or other things, are over.

    See :class:`Ticker`. As a context manager it handles SIGINT, SIGTERM and SIGHUP: the first sets
    :attr:`stopped`, a second Ctrl-C raises ``KeyboardInterrupt``.
    """

    def __init__(
        self, total: int, unit: str = "matches", *, quiet: bool = False, every_s: float = LINE_EVERY_S
    ) -> None:
        """Start the clock for ``total`` matches, or what ``unit`` names in the plural."""
        self._unit = unit
        self.total, self.over, self.stopped = total, 0, False
        self.matches = MatchProgress(total)
        self._since = time.monotonic()
        self._ticker = Ticker(self.line, quiet=quiet, every_s=every_s, share=self._done)
        self._opened = ExitStack()

    def __enter__(self) -> Progress:
        """Start to handle stop signals, and show the line."""
        self._opened.enter_context(on_stop(self._stop))
        self._opened.enter_context(self._ticker)
        return self

    def __exit__(self, *error: object) -> None:
        """Restore the handlers of signals and clear the line."""
        self._opened.close()

    def should_stop(self) -> bool:
        """Return whether a stop signal has arrived."""
        return self.stopped

    def add(self, ended: Sequence[MatchResult]) -> None:
        """Count finished matches."""
        self.matches.finished(ended)
        self.count(len(ended))

    def count(self, more: int) -> None:
        """Count ``more`` that are over."""
        self.over += more

    def played(self, ticks: int) -> None:
        """Count ticks of matches that are over or in play: in lockstep none is over for long."""
        self.matches.played(ticks)

    def started(self, spec: GameSpec) -> None:
        """Take the game of the matches."""
        self.matches.started(spec)

    def line(self) -> str:
        """Return ``120 of 400 matches, 51,200 ticks, 0:12 min, about 0:28 min left``."""
        over, minutes = self.over, (time.monotonic() - self._since) / 60.0
        ticks = f"{self.matches.ticks:,} {self.matches.unit}" if self.matches.ticks else ""
        left = self.matches.left() if ticks else ""
        if not left and 0 < over < self.total:
            left = f"about {duration(minutes * (self.total - over) / over)} left"
        parts = (f"{over:,} of {self.total:,} {self._unit}", ticks, duration(minutes), left)
        return ", ".join(filter(None, parts))

    def _done(self) -> float | None:
        if self.matches.ticks:
            return self.matches.share()
        return self.over / self.total if self.total else None

    def clear(self) -> None:
        """Clear the redrawn line before permanent output."""
        self._ticker.clear()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self.stopped and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.stopped = True
        self.clear()
        console.note("stopping after the finished matches; Ctrl-C again stops at once")

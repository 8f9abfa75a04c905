"""Watch over worker processes: which of them have a command and give no answer in time.

A deadline counts the time in which the caller itself waited for news. The calling process stands still
while a machine is suspended, a container is frozen or a terminal's Ctrl-Z has stopped it; then its workers
may have stood still too, so every deadline starts again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import final

from ludus.pool.hosted.control_block import NUMBER, PLAYS, SLOT, Longs

STILL_S = 1.0  # a look that comes later than planned by more: the caller stood still, or did other work


@final
class Patience:
    """Seconds that the caller has waited, counted by regular looks."""

    def __init__(self, every_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Start to count; ``every_s`` is the planned time between two looks, in seconds."""
        self._every_s, self._clock = every_s, clock
        self._looked_at = clock()
        self.waited_s = 0.0
        self.interrupted = False  # the caller stood still between the last two looks

    def due(self) -> bool:
        """Return whether a look is due."""
        return self._clock() - self._looked_at >= self._every_s

    def look(self) -> None:
        """Count the time since the last look, no more of it than was planned."""
        now = self._clock()
        passed, self._looked_at = now - self._looked_at, now
        self.interrupted = passed > self._every_s + STILL_S
        self.waited_s += min(passed, self._every_s)


@final
class Watchdog:
    """Since when each worker owes an answer without a sign of life.

    Signs of life are a new play, another slot in step and a completed command. A new command starts the
    deadline again: until then the worker may have had nothing to do.
    """

    def __init__(
        self,
        heartbeat: Longs,
        command: Longs,
        done: Longs,
        timeout_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Watch the arrays of a control block; with ``timeout_s`` 0 no worker is ever late."""
        self._heartbeat, self._command, self._done = heartbeat, command, done
        self._timeout_s = timeout_s
        #: seconds between two looks
        self.every_s = min(1.0, timeout_s / 4) if timeout_s > 0 else 1.0
        self._patience = Patience(self.every_s, clock)
        self._since: dict[int, tuple[tuple[int, ...], float]] = {}

    def see(self, number: int) -> None:
        """Start the worker's deadline."""
        self._since[number] = self._mark(number), self._patience.waited_s

    def overdue(self) -> list[int]:
        """Return the workers that have owed an answer for too long, if a look is due."""
        if self._timeout_s <= 0 or not self._patience.due():
            return []
        self._patience.look()
        if self._patience.interrupted:
            self._since.clear()
        overdue = []
        for number in range(len(self._heartbeat)):
            mark, since = self._since.get(number, ((), 0.0))
            if self._mark(number) != mark:
                self.see(number)
            elif self._owes(number) and self._patience.waited_s - since > self._timeout_s:
                overdue.append(number)
        return overdue

    def _owes(self, number: int) -> bool:
        return bool((self._command[number, :, NUMBER] > self._done[number]).any())

    def _mark(self, number: int) -> tuple[int, ...]:
        heartbeat = self._heartbeat[number]
        return (
            int(heartbeat[PLAYS]),
            int(heartbeat[SLOT]),
            *self._command[number, :, NUMBER].tolist(),
            *self._done[number].tolist(),
        )


def is_stopped(pid: int) -> bool:
    """Return whether a child process is stopped by a signal (SIGSTOP, SIGTSTP) now."""
    if not hasattr(os, "waitid"):  # pragma: no cover - other systems
        return False
    try:
        return os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False

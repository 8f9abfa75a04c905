"""Processes of engines: their ids, ports and ends, and a watchdog.

The library crashes its own process when an engine ends while it starts. So a port is reserved before, and
what cannot be started is found out beforehand.
"""

from __future__ import annotations

import contextlib
import math
import os
import random
import signal
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

from ludus.games.python_game import ProcessUnusable
from ludus.native import YIELD_LIBRARY

T = TypeVar("T")

EVERY_S = 0.25  # between two looks of the watchdog
#: Ports of matches, below those that the kernel hands out.
PORTS = range(20_000, 32_000)
TRIES = 200

#: Held while engines start: what starts meanwhile are one game's engines.
starting = threading.Lock()
#: Calls of the library, of any match in this process, that had not returned when their engine was killed.
_stuck: set[Future[object]] = set()


def keep_stuck(calls: Iterable[Future[object]]) -> None:
    """Note calls that have not returned although their engine was killed."""
    _stuck.update(calls)


def check_process() -> None:
    """Raise :class:`ProcessUnusable` while a thread of this process waits for an engine that was killed."""
    _stuck.difference_update([call for call in _stuck if call.done()])
    if _stuck:
        raise ProcessUnusable(
            f"{len(_stuck)} calls of the ViZDoom library have not returned since their engines were killed; "
            "it would crash this process at the next start of an engine: continue in a new process"
        )


def engine_processes() -> set[int]:
    """Return the engines that this process has started and that have not ended."""
    own, found = os.getpid(), set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            name, _, rest = path.read_text().partition("(")[2].rpartition(")")
            state, parent = rest.split()[:2]
            if int(parent) == own and state != "Z" and name.startswith("vizdoom"):
                found.add(int(path.parent.name))
    return found


def kill(pids: Iterable[int]) -> None:
    """End engines at once, those that have not ended."""
    for pid in set(pids) & engine_processes():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def yielding() -> Iterator[None]:
    """Make programs that start meanwhile yield the processor where they find nothing to receive."""
    library, before = str(YIELD_LIBRARY), os.environ.get("LD_PRELOAD")
    # The loader takes blanks and colons for the ends of names.
    if not YIELD_LIBRARY.is_file() or " " in library or ":" in library:
        yield
        return
    os.environ["LD_PRELOAD"] = f"{library}:{before}" if before else library
    try:
        yield
    finally:
        if before is None:
            del os.environ["LD_PRELOAD"]
        else:
            os.environ["LD_PRELOAD"] = before


class ReservedPort:
    """A free UDP port that no other match on this machine takes until :meth:`close`.

    An engine that finds its port taken ends, which crashes the process that started it. A socket of TCP at
    the same number keeps other matches from the port; programs that are given any port get a higher one.
    """

    def __init__(self) -> None:
        """Reserve a port. Raises ``RuntimeError`` if none is free."""
        for number in random.SystemRandom().sample(PORTS, TRIES):
            held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            try:
                held.bind(("127.0.0.1", number))
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                    probe.bind(("", number))  # as the engine does
            except OSError:
                held.close()
                continue
            self.number, self._held = number, held
            return
        raise RuntimeError(f"no free port among {TRIES} of {PORTS[0]} to {PORTS[-1]}")

    def close(self) -> None:
        """Give the port back."""
        self._held.close()


class EngineWatch:
    """Kills an engine that does not return from a call in time."""

    def __init__(self) -> None:
        """Watch no engine yet."""
        self.pids: set[int] = set()
        self._until = math.inf
        self.late = False  # whether an engine had to be killed
        _watched.add(self)
        _look_after_them()

    def begin(self, pids: set[int]) -> None:
        """Watch engines that have just been started."""
        self.pids, self.late = pids, False

    def call(self, what: str, limit_s: float, function: Callable[[], T]) -> T:
        """Run ``function``. Raises ``RuntimeError`` if its engine ends or needs more than ``limit_s``."""
        self._until = time.monotonic() + limit_s
        try:
            return function()
        except Exception as error:
            if self.late:
                raise RuntimeError(f"{what}: the engine did not finish within {limit_s:g} s") from error
            line = (str(error).strip().splitlines() or [""])[0]
            raise RuntimeError(f"{what}: the engine is gone: {type(error).__name__}: {line}") from error
        finally:
            self._until = math.inf

    def look(self, now: float) -> None:
        """Kill the engine if its call should have returned."""
        if now > self._until:
            self.late, self._until = True, math.inf
            kill(self.pids)


_watched: weakref.WeakSet[EngineWatch] = weakref.WeakSet()
_watcher: list[int] = []  # the process whose thread looks after the engines


def _look_after_them() -> None:
    if _watcher != [os.getpid()]:
        _watcher[:] = [os.getpid()]
        threading.Thread(target=_watching, name="vizdoom-watch", daemon=True).start()


def _watching() -> None:
    while True:
        time.sleep(EVERY_S)
        now = time.monotonic()
        for watch in list(_watched):
            watch.look(now)

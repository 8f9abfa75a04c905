"""Effects of a checked game on its process, call by call, with advice for each."""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from ludus.games.contained import FILTERS, RANDOM, TORCH, GameExit, contained, exit_text

CLOSELY = 200  # calls of each kind that are looked at closely, which costs time
GONE_S = 1.0  # for threads and processes to end after close()
PLACE_BYTES = 512

#: How an environment ends a match, and where it draws random numbers, in the words of its library.
_ENDS = {
    "gymnasium": "return terminated or truncated from step()",
    "pettingzoo": "set the agents' terminations or truncations",
    "dm_env": "return dm_env.termination() or dm_env.truncation() from step()",
}
_DRAWS = {
    "gymnasium": "draw from self.np_random, which super().reset(seed=seed) seeds",
    "pettingzoo": "draw from a generator made of the seed of reset()",
    "dm_env": "draw from a generator made of the argument seed",
}
_ADVICE = {
    "current folder": "use absolute paths instead of os.chdir()",
    "signal handlers": "leave them to the program that plays",
    TORCH: "pass dtype= to tensors, use torch.no_grad() as a context",
    "error handling of numpy": "use numpy.errstate() as a context",
}


class CallMonitor:
    """Observer of a game's calls. ``place`` is memory that another process reads: see :func:`read_place`."""

    def __init__(self, name: str, place: mmap.mmap | None = None) -> None:
        """Start to monitor a game called ``name``: later threads and children are the game's."""
        self.family = name.partition("/")[0]
        self.changed: dict[str, str] = {}  # state of the process -> the first call that changed it
        self.printed = ""
        self._place, self._number = place, 0
        self._counts: dict[str, int] = {}
        self._file = tempfile.TemporaryFile("w+b", buffering=0)  # noqa: SIM115 - closed by close()
        self._threads = set(threading.enumerate())
        self._children = child_processes()

    def close(self) -> None:
        """Release the file that receives the game's output."""
        self._file.close()

    def calls(self, name: str) -> int:
        """Return how often the function ``name`` was called."""
        return self._counts.get(name, 0)

    @contextlib.contextmanager
    def call(self, name: str, where: str) -> Iterator[None]:
        """Run one call of the game. Raises :class:`GameExit` if it calls ``sys.exit``."""
        self._number += 1
        if self._place is not None:
            text = f"{name}() ({where})".encode()[: PLACE_BYTES - 10]
            self._place[:PLACE_BYTES] = struct.pack(f"<QH{PLACE_BYTES - 10}s", self._number, len(text), text)
        count = self._counts.get(name, 0)
        self._counts[name] = count + 1
        if count >= CLOSELY:
            try:
                yield
            except SystemExit as error:
                raise GameExit(exit_text(error)) from None
            return
        here = f"{name}() ({where})"
        with contained(printed=self._file) as changes:
            try:
                yield
            finally:
                self._look_at_output(here)
        for state in changes.states:
            self.changed.setdefault(state, here)

    def _look_at_output(self, here: str) -> None:
        if self.printed or not os.fstat(self._file.fileno()).st_size:
            return
        self._file.seek(0)
        first = self._file.read(200).decode(errors="replace").strip().splitlines() or [""]
        self.printed = f"{here} prints to stdout: {first[0]!r}"

    def end_of_match(self) -> str:
        """Return how a game of this library ends a match."""
        return _ENDS.get(self.family, "return True from step()")

    def who_acts(self) -> str:
        """Return the name by which a game of this library lists the deciding seats."""
        return "agents" if self.family == "pettingzoo" else "to_act()"

    def verdict(self) -> tuple[str, str]:
        """Return faults, and notes that need no change; each may be empty. Call it after the last close."""
        wrong = [
            f"{where} changes the {state}: {_ADVICE.get(state, 'put it back')}"
            for state, where in self.changed.items()
            if state not in (RANDOM, FILTERS)  # many libraries set filters when they are loaded
        ]
        threads, children = self._left()
        wrong += [f"thread {t.name!r} still runs after close(): join it there" for t in threads[:3]]
        wrong += [f"process {pid} still runs after close(): end it there" for pid in children[:3]]
        notes = [f"{self.printed}; it is shown on stderr, use logging"] if self.printed else []
        if RANDOM in self.changed:
            draw = _DRAWS.get(self.family, "draw from numpy.random.default_rng(seed) of reset()")
            notes.append(f"{self.changed[RANDOM]} uses the {RANDOM}: {draw}")
        return "; ".join(wrong), "; ".join(notes)

    def _left(self) -> tuple[list[threading.Thread], list[int]]:
        """Return the new threads and child processes that do not end."""
        deadline = time.monotonic() + GONE_S
        while True:
            threads = [t for t in threading.enumerate() if t not in self._threads and not t.daemon]
            children = sorted(child_processes() - self._children)
            if not (threads or children) or time.monotonic() > deadline:
                return threads, children
            time.sleep(0.05)


def read_place(place: mmap.mmap) -> tuple[int, str]:
    """Return the number of calls so far, and the newest: ``step() (seed 1, tick 3)``."""
    number, length, text = struct.unpack(f"<QH{PLACE_BYTES - 10}s", place[:PLACE_BYTES])
    return int(number), bytes(text[:length]).decode(errors="replace")


def child_processes() -> set[int]:
    """Return the processes that this one has started and that have not ended (Linux; else none)."""
    own, found = os.getpid(), set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
            if int(parent) == own and state != "Z":
                found.add(int(path.parent.name))
    return found

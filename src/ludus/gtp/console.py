"""Engine on a pair of streams: a controller's, or a terminal."""

from __future__ import annotations

import io
import os
import queue
import threading
from collections.abc import Callable, Iterator
from typing import IO, Protocol

from ludus.gtp.engine import Engine
from ludus.gtp.protocol import MAX_LINE, answer


class Lines(Protocol):
    """A source of lines."""

    def readline(self, size: int, /) -> bytes:
        """Return the next line, at most ``size`` bytes of it; empty at the end of the input."""


class _Descriptor:
    """Lines of a file descriptor, without the lock of Python's buffers.

    A thread that still waits for a line when the program ends would hold that lock, and the interpreter would
    abort.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._held = descriptor, b""

    def readline(self, size: int, /) -> bytes:
        """Return the next line, at most ``size`` bytes of it; empty at the end of the input."""
        while b"\n" not in self._held[:size] and len(self._held) < size:
            chunk = os.read(self._descriptor, 1 << 16)
            if not chunk:
                break
            self._held += chunk
        end = self._held.find(b"\n", 0, size) + 1 or size
        line, self._held = self._held[:end], self._held[end:]
        return line


def _lines_of(stream: IO[bytes]) -> Lines:
    try:
        return _Descriptor(stream.fileno())
    except (OSError, io.UnsupportedOperation):  # bytes in memory
        return stream


def _bounded(lines: Lines) -> Iterator[bytes]:
    """Yield the lines; empty bytes for one of more than ``MAX_LINE``."""
    while line := lines.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE and not line.endswith(b"\n"):
            while (rest := lines.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                pass
            line = b""
        yield line


def _read(lines: Lines, waiting: queue.Queue[bytes | None], log: Callable[[str], object]) -> None:
    """Put every line into ``waiting``, then None."""
    try:
        for line in _bounded(lines):
            waiting.put(line)
    except OSError as error:  # open for writing only, a terminal that is gone
        log(f"the input ends: {error.strerror}")
    waiting.put(None)


def run(engine: Engine, stream: IO[bytes] | None, out: IO[str], *, ponder: bool = False) -> None:
    """Answer until ``quit`` or the end of the input.

    A separate thread reads, so that a streaming command ends at the next input line. Bytes that are not UTF-8
    are kept for paths; lines of more than ``MAX_LINE`` bytes are refused.

    Args:
        engine: The engine.
        stream: Input; None = no input.
        out: Output.
        ponder: The player also searches between commands.
    """
    if stream is None:
        return
    waiting: queue.Queue[bytes | None] = queue.Queue(maxsize=4096)
    # The thread may still wait for a line when the program ends: what it refers to is never released, so
    # that must not be the engine with its match and trees.
    reader = (_lines_of(stream), waiting, engine.log)
    threading.Thread(target=_read, args=reader, daemon=True, name="gtp input").start()
    while not engine.done:
        if ponder:
            for _ in engine.ponder():
                if not waiting.empty():
                    break
        line = waiting.get()
        if line is None:
            return
        if not line:
            out.write(answer("", "line too long", failed=True))
            out.flush()
            continue
        streaming = False
        for part in engine.stream(line.decode("utf-8", errors="surrogateescape")):
            out.write(part)
            out.flush()
            streaming = not part.endswith("\n\n")
            if part.startswith("info ") and not waiting.empty():
                break
        if streaming:  # the empty line that ends such an answer
            out.write("\n")
            out.flush()

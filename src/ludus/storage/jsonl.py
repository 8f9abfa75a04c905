"""Append-only JSON lines: the record of a run."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from ludus.flow.inputs.decode import from_json, to_json
from ludus.storage.errors import CorruptFile
from ludus.storage.files import open_own, open_regular

MAX_LINE_BYTES = 1 << 20
MAX_READ_BYTES = 256 << 20  # of a file that is read leniently
TAIL_BYTES = 64 << 10
_CHUNK = 1 << 20

#: Values of a line; they nest.
Row = dict[str, object]


class CutLines(msgspec.Struct, frozen=True):
    """Lines removed from the end of a file.

    ``first``: number of the first one, from 1; ``damaged``: how many of them are no JSON object.
    """

    first: int = 0
    lines: int = 0
    damaged: int = 0

    def text(self, name: str) -> str:
        """Return ``3 lines of metrics.jsonl from line 41 on (1 damaged)``; empty without any."""
        if not self.lines:
            return ""
        damaged = f" ({self.damaged} damaged)" if self.damaged else ""
        return f"{self.lines:,} line{'s' * (self.lines > 1)} of {name} from line {self.first:,} on{damaged}"


class JsonlWriter:
    """Appends rows to one file. Each row is one ``write`` of a whole line, so readers never see mixed lines.

    A failed write (full disk) raises ``OSError`` and removes the partial line.
    """

    def __init__(self, path: Path) -> None:
        """Open ``path``, and remove an unfinished last line.

        Raises:
            OSError: The file cannot be opened.
            CorruptFile: It is a link, or not a regular file.
        """
        self.path = path
        self.torn = 0  #: bytes of the unfinished line that was removed
        self._fd = open_own(path, os.O_RDWR | os.O_APPEND)
        try:
            self.torn = _repair_tail(self._fd)
        except BaseException:
            self.close()
            raise

    def append(self, row: Row | msgspec.Struct) -> None:
        """Append one row. Raises ``OSError``."""
        self.append_many([row])

    def append_many(self, rows: list[Row] | list[msgspec.Struct] | list[Row | msgspec.Struct]) -> None:
        """Append all of ``rows`` in one write, or none of them. Raises ``OSError``."""
        data = memoryview(b"".join(to_json(row) + b"\n" for row in rows))
        before = os.fstat(self._fd).st_size
        try:
            while data:  # after a part that fitted, the next write has the system's reason for the rest
                data = data[os.write(self._fd, data) :]
        except OSError:
            os.ftruncate(self._fd, before)
            raise

    def size(self) -> int:
        """Return the size in bytes, as :meth:`truncate` takes it."""
        return os.fstat(self._fd).st_size

    def truncate(self, size: int) -> CutLines:
        """Truncate to an earlier size: a resumed run writes the rows after its checkpoint again.

        A size inside a row removes that row too.

        Returns:
            The lines that were removed.
        """
        size = max(0, size)
        if size >= self.size():
            return CutLines()
        start, first = self._line_at(size)
        with os.fdopen(os.dup(self._fd), "rb") as file:
            cut = CutLines(first, *_count(file, start))
        os.ftruncate(self._fd, start)
        return cut

    def _line_at(self, size: int) -> tuple[int, int]:
        """Return where the line that holds byte ``size`` starts, and its number from 1."""
        start, number, at = 0, 1, 0
        while at < size:
            chunk = os.pread(self._fd, min(_CHUNK, size - at), at)
            if not chunk:
                break
            if (newline := chunk.rfind(b"\n")) >= 0:
                start, number = at + newline + 1, number + chunk.count(b"\n")
            at += len(chunk)
        return start, number

    def sync(self) -> None:
        """Make the rows survive a power cut. Raises ``OSError``."""
        os.fsync(self._fd)

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _repair_tail(fd: int) -> int:
    """Remove an unfinished last line of a killed process, and return its size in bytes."""
    size = os.fstat(fd).st_size
    start = max(0, size - MAX_LINE_BYTES)
    tail = os.pread(fd, size - start, start)
    if tail and not tail.endswith(b"\n"):
        whole = start + tail.rfind(b"\n") + 1
        os.ftruncate(fd, whole)
        return size - whole
    return 0


def lines_of(path: Path) -> CutLines:
    """Return all lines of ``path``, empty if it cannot be read."""
    try:
        with open_regular(path) as file:
            return CutLines(1, *_count(file, 0))
    except (OSError, CorruptFile):
        return CutLines()


def _count(file: BinaryIO, start: int) -> tuple[int, int]:
    """Return the number of lines from byte ``start`` on, and how many of them are no JSON object."""
    lines = damaged = 0
    file.seek(start)
    while line := file.readline(MAX_LINE_BYTES + 1):
        whole = len(line) <= MAX_LINE_BYTES
        while line and not line.endswith(b"\n"):  # the rest of a long line
            line = file.readline(MAX_LINE_BYTES)
        lines += 1
        try:
            damaged += not (whole and line and isinstance(from_json(line), dict))
        except (msgspec.DecodeError, UnicodeDecodeError):
            damaged += 1
    return lines, damaged


def read_jsonl(path: Path) -> Iterator[Row]:
    """Yield rows of ``path`` without a torn last line. Raises ``CorruptFile`` on any other invalid line."""
    if not path.exists():
        return
    with open_regular(path) as file:
        for number in itertools.count(1):
            line = file.readline(MAX_LINE_BYTES + 1)
            if len(line) > MAX_LINE_BYTES:
                raise CorruptFile(f"{path}:{number}: a line of more than {MAX_LINE_BYTES} bytes")
            if not line.endswith(b"\n"):
                return
            try:
                yield from_json(line, dict[str, object])
            except msgspec.DecodeError as error:
                raise CorruptFile(f"{path}:{number}: not a JSON object ({error})") from error


def rows_from(path: Path, offset: int = 0, mark: bytes = b"") -> Iterator[tuple[int, Row]]:
    """Yield the rows from byte ``offset`` on that contain ``mark``, each with the offset after it.

    A damaged or torn line ends them, and so does a file that cannot be read or is very long.
    """
    with contextlib.suppress(OSError, ValueError, CorruptFile), open_regular(path) as file:
        file.seek(offset)
        while offset < MAX_READ_BYTES:
            line = file.readline(MAX_LINE_BYTES + 1)
            offset += len(line)
            if not line.endswith(b"\n"):
                return
            if mark in line:
                yield offset, from_json(line, dict[str, object])


def rows_back(path: Path, mark: bytes, most_bytes: int) -> Iterator[Row]:
    """Yield the rows that contain ``mark`` in the last ``most_bytes`` of a file, the newest first.

    Damaged rows are left out, and so is an unfinished last line.
    """
    with contextlib.suppress(OSError, CorruptFile), open_regular(path) as file:
        end = file.seek(0, os.SEEK_END)
        least, rest = max(0, end - most_bytes), b""
        while end > least:
            start = max(least, end - TAIL_BYTES)
            file.seek(start)
            data = file.read(end - start) + rest
            head, newline, whole = data.partition(b"\n")
            if start == 0:
                head, newline, whole = b"", b"\n", data
            rest, end = (head + newline, start) if len(data) <= 2 * MAX_LINE_BYTES else (b"", start)
            if mark not in whole:
                continue
            for line in reversed(whole.split(b"\n")[:-1]):
                if mark in line:
                    with contextlib.suppress(ValueError):
                        yield from_json(line, dict[str, object])


def last_rows(path: Path) -> list[Row]:
    """Return the rows at the end of a file, without damaged ones."""
    rows = []
    for line in tail(path).split(b"\n")[:-1]:
        with contextlib.suppress(ValueError):
            rows.append(from_json(line, dict[str, object]))
    return rows


def tail(path: Path) -> bytes:
    """Return the lines in the last :data:`TAIL_BYTES` of a file; empty if the file cannot be read."""
    try:
        with open_regular(path) as file:
            start = max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES)
            file.seek(start)
            data = file.read(TAIL_BYTES)
    except (OSError, CorruptFile):
        return b""
    return data.partition(b"\n")[2] if start else data

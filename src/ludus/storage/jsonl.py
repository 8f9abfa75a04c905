"""Append-only JSON lines: the record of a run."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ludus.flow.decode import from_json, to_json
from ludus.storage.errors import CorruptFile
from ludus.storage.files import open_own, open_regular

MAX_LINE_BYTES = 1 << 20

#: Values of a line; they nest.
Row = dict[str, object]


class JsonlWriter:
    """Appends rows to one file. Each row is one ``write`` of a whole line, so readers never see mixed lines.

    A failed write (full disk) raises ``OSError`` and removes the partial line.
    """

    def __init__(self, path: Path) -> None:
        """Open ``path``, and remove an unfinished last line.

        Raises:
            OSError: The file cannot be opened.
            CorruptFile: It is a link or anything else than a file of its own.
        """
        self.path = path
        self._fd = open_own(path, os.O_RDWR | os.O_APPEND)
        try:
            _repair_tail(self._fd)
        except BaseException:
            self.close()
            raise

    def append(self, row: Row | msgspec.Struct) -> None:
        """Append one row. Raises ``OSError``."""
        self.append_many([row])

    def append_many(self, rows: list[Row] | list[msgspec.Struct] | list[Row | msgspec.Struct]) -> None:
        """Append all of ``rows`` in one write, or none of them. Raises ``OSError``."""
        data = b"".join(to_json(row) + b"\n" for row in rows)
        before = os.fstat(self._fd).st_size
        try:
            written = os.write(self._fd, data)
            if written != len(data):
                raise OSError(28, "No space left on device", str(self.path))
        except OSError:
            os.ftruncate(self._fd, before)
            raise

    def size(self) -> int:
        """Return the size in bytes, as :meth:`truncate` takes it."""
        return os.fstat(self._fd).st_size

    def truncate(self, size: int) -> None:
        """Truncate to an earlier size: a resumed run writes the rows after its checkpoint again.

        A size inside a row removes that row too.
        """
        if size < self.size():
            os.ftruncate(self._fd, max(0, size))
            _repair_tail(self._fd)

    def sync(self) -> None:
        """Make the rows survive a power cut. Raises ``OSError``."""
        os.fsync(self._fd)

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _repair_tail(fd: int) -> None:
    """Remove an unfinished last line of a killed process."""
    size = os.fstat(fd).st_size
    start = max(0, size - MAX_LINE_BYTES)
    tail = os.pread(fd, size - start, start)
    if tail and not tail.endswith(b"\n"):
        cut = tail.rfind(b"\n")
        os.ftruncate(fd, start + cut + 1 if cut >= 0 else start)


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

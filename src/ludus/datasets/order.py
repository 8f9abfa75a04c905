"""The order of a data set's matches, without duplicates: sorted through files, within bounded memory.

Rows go to files by the first bits of a match's key, so that all records of a match meet in one; what is kept
goes to files by the first bits of the content's hash, and each of these is sorted on its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ludus.datasets.content import DIGEST, KEY

#: One row of the order: the hash of the content, the key of a match, whether its outcome or date is unknown,
#: and its place.
ROW = np.dtype(
    [
        ("digest", ">u8", DIGEST // 8),
        ("key", ">u8", KEY // 8),
        ("poor", "u1"),
        ("part", "<i4"),
        ("row", "<i4"),
    ]
)
_ROWS = 1 << 15  # in memory at a time, and in a file
_MOST_FILES = 1024

Rows = npt.NDArray[np.void]


class MatchOrder(NamedTuple):
    """The rows of all kept matches, sorted by content, in a file.

    Attributes:
        path: The file.
        matches: Its rows.
        repeated: Rows that were left out, because another one has their key.
    """

    path: Path
    matches: int
    repeated: int

    def rows(self, start: int, end: int) -> Rows:
        """Return the rows from ``start`` to ``end`` at most."""
        with self.path.open("rb") as file:
            file.seek(start * ROW.itemsize)
            return _rows(file.read(max(0, end - start) * ROW.itemsize))

    def pieces(self) -> Iterator[Rows]:
        """Yield all rows in order, some at a time."""
        for start in range(0, self.matches, _ROWS):
            yield self.rows(start, start + _ROWS)


def ordered(folder: Path, count: int, pieces: Iterable[Rows]) -> MatchOrder:
    """Sort rows by content; of those with one key keep the richest.

    Args:
        folder: An empty folder for files.
        count: Number of the rows.
        pieces: The rows, some at a time.

    Raises:
        OSError: A file cannot be written.
    """
    files = min(_MOST_FILES, 1 + count // _ROWS)
    by_key = _Files(folder, "key", files)
    for piece in pieces:
        by_key.add(piece, piece["key"])
    by_digest = _Files(folder, "digest", files)
    kept = 0
    for number in range(files):
        found = by_key.unique(number)
        kept += len(found)
        by_digest.add(found, found["digest"])
    path = folder / "order"
    with path.open("wb") as file:
        for number in range(files):
            rows = by_digest.whole(number)
            file.write(rows[np.lexsort(_columns(rows["digest"]))].tobytes())
    return MatchOrder(path, kept, count - kept)


class _Files:
    """Files with rows, chosen by the first 32 bits of a hash in each row."""

    def __init__(self, folder: Path, name: str, count: int) -> None:
        self.paths = [folder / f"{name}-{number:04d}" for number in range(count)]

    def add(self, rows: Rows, hashes: npt.NDArray[np.uint64]) -> None:
        """Append rows by their ``hashes`` (``uint64[N, ...]``, big-endian)."""
        first = hashes[:, 0].astype(np.uint64) >> np.uint64(32)
        numbers = (first * np.uint64(len(self.paths)) >> np.uint64(32)).astype(np.int64)
        rows = rows[np.argsort(numbers, kind="stable")]
        ends = np.cumsum(np.bincount(numbers, minlength=len(self.paths)))
        for path, start, end in zip(self.paths, [0, *ends[:-1]], ends, strict=True):
            if end > start:
                with path.open("ab") as file:
                    file.write(rows[start:end].tobytes())

    def whole(self, number: int) -> Rows:
        """Return the rows of a file and remove it."""
        path = self.paths[number]
        found = _rows(path.read_bytes() if path.exists() else b"")
        path.unlink(missing_ok=True)
        return found

    def unique(self, number: int) -> Rows:
        """Return a row of each key of a file and remove it; many rows of one key are never all in memory."""
        path = self.paths[number]
        kept = np.zeros(0, ROW)
        if path.exists():
            with path.open("rb") as file:
                while data := file.read(_ROWS * ROW.itemsize):
                    kept = _without_duplicates(_rows(kept.tobytes() + data))
            path.unlink()
        return kept


def _rows(data: bytes) -> Rows:
    return np.frombuffer(data, ROW)


def _columns(hashes: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint64], ...]:
    """Return the columns of hashes for ``np.lexsort``, the first one last."""
    return tuple(hashes.astype(np.uint64).T[::-1])


def _without_duplicates(rows: Rows) -> Rows:
    """Return the row of each key with the most known about the match, in the order of keys."""
    order = np.lexsort((*_columns(rows["digest"]), rows["poor"], *_columns(rows["key"])))
    keys = rows["key"][order]
    first = np.ones(len(rows), bool)
    first[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    return rows[order[first]]

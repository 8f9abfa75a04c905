"""Files of the sources of a data set, in a fixed order; links within folders are not followed."""

from __future__ import annotations

import hashlib
import heapq
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from ludus.datasets.errors import DataSetError
from ludus.datasets.manifest import NAME
from ludus.flow.inputs.shown import shown

Kind = Literal["sgf", "replay", "self_play", "link"]
SELF_PLAY = "self_play"
_KINDS: dict[str, Kind] = {".sgf": "sgf", ".ludus": "replay"}
_MAX_DEPTH = 64
_MOST_NAMES = 50_000  # of a folder in memory


class SourceFile(NamedTuple):
    """One file with records.

    Attributes:
        path: Where it is.
        kind: What its records are; ``link``: it is not read.
        source: Number of the source that a person named.
        name: Path below that source, for messages.
        size: Bytes.
        modified: Time of its last change, in ns.
    """

    path: Path
    kind: Kind
    source: int
    name: str
    size: int
    modified: int

    def chained(self, chain: str) -> str:
        """Return a hash of the files so far, from ``chain``, the hash of the files before this one."""
        made = hashlib.sha256(chain.encode())
        made.update(
            f"{self.source}\0{self.name}\0{self.size}\0{self.modified}".encode("utf-8", "surrogateescape")
        )
        return made.hexdigest()


def files_of(sources: Sequence[Path]) -> Iterator[SourceFile]:
    """Yield the files with records of all sources.

    A folder's are those that end with ``.sgf`` or ``.ludus``, and self-play of runs: ``.safetensors`` within
    a folder ``self_play``.

    Raises:
        DataSetError: A source is missing, or a file of another kind.
    """
    for number, source in enumerate(sources):
        if source.is_dir():
            yield from _below(source, number, source, 0)
        elif not source.is_file():
            raise DataSetError(
                f"{source}: {'not a regular file' if source.exists() else 'no such file or folder'}"
            )
        elif (kind := _kind(source)) is None:
            raise DataSetError(f"{source}: expected a folder, or a file of .sgf, .ludus or a run's self-play")
        else:
            about = source.stat()
            yield SourceFile(source, kind, number, source.name, about.st_size, about.st_mtime_ns)


def check_sources(sources: Sequence[Path]) -> None:
    """Raise :class:`DataSetError` for a source that is missing or of another kind."""
    for source in sources:
        if (source / NAME).is_file():
            raise DataSetError(
                f"{source}: a data set; export its matches as replays or SGF, and import these"
            )
        if not source.is_dir():
            next(files_of([source]))


def _kind(path: Path) -> Kind | None:
    if path.suffix.lower() == ".safetensors":
        return "self_play" if path.parent.name == SELF_PLAY else None
    return _KINDS.get(path.suffix.lower())


def _below(folder: Path, number: int, top: Path, depth: int) -> Iterator[SourceFile]:
    if depth > _MAX_DEPTH:
        raise DataSetError(f"{shown(str(folder))}: folders nested more than {_MAX_DEPTH} deep")
    for name in _names(folder):
        path = folder / os.fsdecode(name)
        try:
            about = path.lstat()
        except OSError as error:
            raise DataSetError(f"{shown(str(path))}: {error.strerror}") from error
        kind = _kind(path)
        if stat.S_ISDIR(about.st_mode):
            yield from _below(path, number, top, depth + 1)
        elif stat.S_ISLNK(about.st_mode):
            if kind is not None or path.is_dir():
                yield SourceFile(path, "link", number, str(path.relative_to(top)), 0, 0)
        elif kind is not None and stat.S_ISREG(about.st_mode):
            relative = str(path.relative_to(top))
            yield SourceFile(path, kind, number, relative, about.st_size, about.st_mtime_ns)


def _names(folder: Path) -> Iterator[bytes]:
    """Yield the names in a folder in order; one with very many is read several times, not kept whole."""
    last = b""
    while True:
        try:
            with os.scandir(os.fsencode(folder)) as entries:
                found = heapq.nsmallest(_MOST_NAMES, (e.name for e in entries if e.name > last))
        except OSError as error:
            raise DataSetError(f"{shown(str(folder))}: {error.strerror}") from error
        yield from found
        if len(found) < _MOST_NAMES:
            return
        last = found[-1]

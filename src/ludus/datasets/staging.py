"""Matches on their way into a data set: parts on disk, a journal of what was read, and their order.

A part holds the matches of a stretch of the sources. The journal has one line a part: it is appended after
the part's file is whole. An import that was killed continues behind the last line, so each record is read
once.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np

from ludus.datasets.content import ReadMatch
from ludus.datasets.errors import DataSetError
from ludus.datasets.manifest import DataSource, ImportCounts
from ludus.datasets.order import ROW
from ludus.datasets.shards import SUFFIX, TARGET_BYTES, encode_shard
from ludus.flow.inputs.shown import shell
from ludus.storage.errors import CorruptFile
from ludus.storage.files import own_folder, write_atomic
from ludus.storage.jsonl import JsonlWriter, read_jsonl
from ludus.storage.tensors import encode_tensors

JOURNAL = "import.jsonl"
PARTS = "parts"
MOST_PROBLEMS = 1000  # that are kept by name
_MOST_ROWS = 10_000  # of a part
_MOST_PARAMS = 256 << 10  # characters of new parameters in a line of the journal
_SECONDS = 60.0  # of work that a kill may lose


#: Parameters of a match, sorted by name.
ParamSet = tuple[tuple[str, str], ...]


class Cursor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Place of an import in its sources: whole files that are done, and what is done of the next one.

    Args:
        files: Files that are done.
        chain: Hash of their names and sizes.
        offset: Bytes of the next file that are done.
        first: Records in these bytes.
        records: Records of the next file that are done.
    """

    files: int = 0
    chain: str = ""
    offset: int = 0
    first: int = 0
    records: int = 0


class StagedPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of the journal: the state behind a part."""

    part: int
    matches: int
    bytes: int
    cursor: Cursor
    counts: ImportCounts
    sources: tuple[DataSource, ...]
    params: tuple[dict[str, str], ...]
    problems: tuple[str, ...] = ()


class StagedSetup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line of the journal: the command that is carried out."""

    command: str
    game: str = ""
    version: int = 0
    spec_hash: str = ""
    seats: int = 0


class Staging:
    """The parts of an import. One process writes.

    Attributes:
        setup: The command, with the game once the first match has decided it.
        cursor: Where the journal ends.
        counts: Records so far.
        problems: New lines about records that were left out.
    """

    def __init__(self, folder: Path, setup: StagedSetup) -> None:
        """Open the parts in ``folder``, or make it.

        Raises:
            DataSetError: Another command has started an import there.
            CorruptFile: The folder or a file in it is a link or damaged.
        """
        self.folder, self.setup = folder, setup
        self.cursor, self.counts = Cursor(), ImportCounts()
        self.sources: list[DataSource] = []
        self.problems: list[str] = []
        self.named = 0  # problems in the journal
        self.parts: list[int] = []  # matches of each
        self._places: dict[ParamSet, int] = {}
        self._known = 0  # sets of parameters in the journal
        self._waiting: list[ReadMatch] = []
        self._bytes = self._texts = 0
        self._since = time.monotonic()
        own_folder(folder, make=True)
        own_folder(folder / PARTS, make=True)
        self._read()
        self._journal = JsonlWriter(folder / JOURNAL)
        if self._journal.size() == 0:
            self._append(setup)

    def _read(self) -> None:
        path = self.folder / JOURNAL
        for number, row in enumerate(read_jsonl(path), 1):
            try:
                if "command" in row:
                    found = msgspec.convert(row, StagedSetup)
                    if found.command != self.setup.command:
                        raise DataSetError(
                            f"{self.folder}: another import has started there; give its command again, or "
                            f"remove it: rm -r {shell(str(self.folder))}"
                        )
                    self.setup = found
                else:
                    self._take(msgspec.convert(row, StagedPart))
            except msgspec.ValidationError as error:
                raise CorruptFile(f"{path}:{number}: {error}; remove the folder to start again") from error

    def _take(self, line: StagedPart) -> None:
        self.cursor, self.counts = line.cursor, line.counts
        self.sources = list(line.sources)
        self.named += len(line.problems)
        self.parts.append(line.matches)
        for params in line.params:
            self._places.setdefault(param_set(params), len(self._places))
        self._known = len(self._places)

    def _append(self, row: msgspec.Struct) -> None:
        self._journal.append(row)
        self._journal.sync()

    def decide(self, game: str, version: int, spec_hash: str, seats: int) -> None:
        """Take the game of the first match."""
        self.setup = StagedSetup(self.setup.command, game, version, spec_hash, seats)
        self._append(self.setup)

    def add(self, match: ReadMatch) -> bool:
        """Take a match; return whether there are enough for a part: call :meth:`flush` then."""
        before = len(self._places)
        place = self._places.setdefault(param_set(match.params), before)
        if place == before:
            self._texts += sum(len(name) + len(value) for name, value in match.params.items())
        self._waiting.append(match._replace(stored=match.stored._replace(params=place)))
        self._bytes += len(match.stored.replay)
        return (
            self._bytes >= TARGET_BYTES
            or len(self._waiting) >= _MOST_ROWS
            or self._texts >= _MOST_PARAMS
            or time.monotonic() - self._since >= _SECONDS
        )

    def flush(self, cursor: Cursor, sources: list[DataSource]) -> None:
        """Write what was added as a part, and the place in the sources behind it. Raises ``OSError``."""
        waiting, number = self._waiting, len(self.parts)
        size = 0
        if waiting:
            data = encode_shard([m.stored for m in waiting], [False] * len(waiting))
            write_atomic(self.part(number), data)
            write_atomic(self.order_file(number), _order(waiting, number))
            size = len(data)
        kept = tuple(self.problems[: max(0, MOST_PROBLEMS - self.named)])
        line = StagedPart(
            number,
            len(waiting),
            size,
            cursor,
            self.counts,
            tuple(sources),
            tuple(dict(key) for key in islice(self._places, self._known, None)),
            kept,
        )
        self._append(line)
        self._waiting, self._bytes, self._texts = [], 0, 0
        self._since = time.monotonic()
        self.problems.clear()
        self._take(line)

    def params(self) -> Iterator[ParamSet]:
        """Yield the sets of parameters so far, by their numbers."""
        yield from self._places

    def part(self, number: int) -> Path:
        """Return the file of a part."""
        return self.folder / PARTS / f"{number:06d}{SUFFIX}"

    def order_file(self, number: int) -> Path:
        """Return the file with the order of a part's matches."""
        return self.folder / PARTS / f"{number:06d}.order{SUFFIX}"

    def all_problems(self) -> list[str]:
        """Return the lines about records that were left out, at most 1,000."""
        found: list[str] = []
        for row in read_jsonl(self.folder / JOURNAL):
            if "part" in row:
                found += msgspec.convert(row, StagedPart).problems
        return found[:MOST_PROBLEMS]

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()


def param_set(params: Mapping[str, str]) -> ParamSet:
    """Return parameters in a form that is equal for equal ones; equal texts are kept once."""
    return tuple(sorted((sys.intern(name), sys.intern(value)) for name, value in params.items()))


def poorness(known: bool, date: int) -> int:
    """Return a number by which the record with more about a match is kept."""
    return (not known) * 2 + (date == 0)


def _order(waiting: list[ReadMatch], number: int) -> bytes:
    rows = np.zeros(len(waiting), ROW)
    for at, match in enumerate(waiting):
        digest, key = np.frombuffer(match.content, ">u8"), np.frombuffer(match.key, ">u8")
        rows[at] = (digest, key, poorness(match.stored.outcome is not None, match.stored.date), number, at)
    return encode_tensors({"order": rows.view(np.uint8).reshape(len(rows), ROW.itemsize)})

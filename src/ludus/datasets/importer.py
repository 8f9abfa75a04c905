"""Imports: records of files as a data set, in pieces that a kill does not lose."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from ludus.datasets import from_self_play, from_sgf
from ludus.datasets.content import ReadMatch
from ludus.datasets.dataset import DataSet
from ludus.datasets.errors import BadRecord, DataSetError
from ludus.datasets.from_replay import GO, ReadingRules, read_replay
from ludus.datasets.manifest import DataSource, Manifest, SplitRule, is_dataset, read_manifest
from ludus.datasets.shards import MAX_REPLAY
from ludus.datasets.staging import JOURNAL, PARTS, Cursor, StagedSetup, Staging
from ludus.datasets.walk import SourceFile, check_sources, files_of
from ludus.datasets.writer import Finishing, finish
from ludus.flow.inputs.shown import shell, shown, visible
from ludus.games import registry, replays
from ludus.games.replays import READING_PARAMS
from ludus.storage.errors import StorageError
from ludus.storage.files import open_regular, read_bounded, remove_tree

_MOST_PROBLEM = 300  # characters


class ImportOrder(NamedTuple):
    """Settings of an import.

    Attributes:
        sources: Files and folders.
        to: Folder of the data set.
        rules: Settings of the readers.
        size: Lines of the board of records of Go; 0 = as in the first one.
        split: Rule by which matches are held out; None = the default, or as the data set that is added to.
        licence: Terms of the records.
        append: Whether to add to the data set that ``to`` is.
    """

    sources: tuple[Path, ...]
    to: Path
    rules: ReadingRules = ReadingRules()
    size: int = 0
    split: SplitRule | None = None
    licence: str = ""
    append: bool = False

    def text(self) -> str:
        """Return the order as one text, by which its continuation is known."""
        parts = [
            [os.path.abspath(p) for p in self.sources],
            self.rules.game,
            sorted(self.rules.params.items()),
        ]
        more = [self.rules.allow_partial, self.size, self.append]
        return msgspec.json.encode([*parts, *more]).decode()


class ImportWatch(NamedTuple):
    """Receivers of an import's progress.

    Attributes:
        problem: Called with a line about each record that is left out.
        record: Called once a record.
        stop: Whether to stop now; what was read so far is kept for the next call.
    """

    problem: Callable[[str], None] = lambda _: None
    record: Callable[[], None] = lambda: None
    stop: Callable[[], bool] = lambda: False


class Stopped(Exception):
    """An import was asked to stop; the same call continues it."""


class FoundRecord(NamedTuple):
    """One record of a file: where it is there, and how to read it.

    ``offset`` and ``first``: place of the piece of the file with it, and records before that piece.
    """

    place: str
    read: Callable[[], ReadMatch]
    offset: int = 0
    first: int = 0


def import_records(order: ImportOrder, watch: ImportWatch = ImportWatch()) -> Manifest:  # noqa: B008
    """Make a data set of records, or continue to.

    Returns:
        The manifest of the data set.

    Raises:
        DataSetError: The sources or the target cannot be used, or no record can.
        Stopped: ``watch.stop`` said so.
        OSError: A file cannot be written.
    """
    check_sources(order.sources)
    _check_params(order.rules)
    if (order.to / JOURNAL).exists() and is_dataset(order.to):  # a kill at the very end
        remove_tree(order.to / PARTS)
        (order.to / JOURNAL).unlink()
        return read_manifest(order.to)
    folder, base = _target(order)
    said = Finishing(order.split or SplitRule(), order.licence)
    if base is not None:
        about = base.manifest
        if order.size and about.game == GO and (there := size_of(about.params[0])) != str(order.size):
            raise DataSetError(f"{order.to}: boards of {there} lines, not of {order.size}")
        said = Finishing(order.split or about.split, order.licence or about.licence)
    staging = Staging(folder, StagedSetup(order.text()))
    try:
        if base is not None and not staging.setup.game:
            staging.decide(about.game, about.version, about.spec_hash, about.seats)
        _Import(order, staging, watch, base).read()
        manifest = finish(folder, staging, said, base)
    finally:
        staging.close()
    if base is not None:
        _swap(order.to, folder)
    return manifest


def _check_params(rules: ReadingRules) -> None:
    """Raise :class:`DataSetError` for parameters that would change the rules of recorded moves."""
    if rules.game not in ("", GO):
        return
    if wrong := next((name for name in rules.params if name not in READING_PARAMS), ""):
        raise DataSetError(
            f"parameter {shown(wrong)}: records of Go have their own rules; "
            f"expected {' or '.join(READING_PARAMS)}"
        )
    registry.spec(GO, rules.params)


def _target(order: ImportOrder) -> tuple[Path, DataSet | None]:
    """Return the folder in which to work, and the data set to add to."""
    to = order.to
    beside = to.with_name(to.name + ".append")
    if order.append:
        if not to.exists() and is_dataset(beside):  # a kill between two renames
            os.replace(beside, to)
        if is_dataset(beside):
            remove_tree(beside)
        return beside, DataSet.open(to)
    check_target(to)
    return to, None


def check_target(to: Path) -> None:
    """Raise :class:`DataSetError` unless a data set can be made in the folder ``to``."""
    if is_dataset(to):
        raise DataSetError(f"{to}: a data set already; append to it, or choose another name")
    if to.exists() and not to.is_dir():
        raise DataSetError(f"{to}: not a folder; choose another name")
    if to.is_dir() and any(to.iterdir()) and not (to / JOURNAL).exists():
        raise DataSetError(f"{to}: a folder with other files; choose another name")


def _swap(to: Path, made: Path) -> None:
    """Put the folder ``made`` in the place of ``to``."""
    aside = to.with_name(to.name + ".old")
    remove_tree(aside)
    os.replace(to, aside)
    os.replace(made, to)
    remove_tree(aside)


class _Import:
    """One import at work."""

    def __init__(
        self, order: ImportOrder, staging: Staging, watch: ImportWatch, base: DataSet | None
    ) -> None:
        self.order, self.staging, self.watch, self.base = order, staging, watch, base
        self.sources = staging.sources or [
            DataSource(visible(p.absolute().name)[:200]) for p in order.sources
        ]
        self.hashes: dict[tuple[tuple[str, str], ...], str] = {}
        self.sizes: dict[str, str] = {}

    def read(self) -> None:
        """Read the files from where the journal ends."""
        staging = self.staging
        start = at = staging.cursor
        files, chain = 0, ""
        for file in files_of(self.order.sources):
            if files < start.files:
                files, chain = files + 1, file.chained(chain)
                if files == start.files and chain != start.chain:
                    raise DataSetError(
                        f"{staging.folder}: the sources have changed since the import started; "
                        f"remove it to start again: rm -r {shell(str(staging.folder))}"
                    )
                continue
            resumed = files == start.files
            self._file(file, start if resumed else Cursor(files, chain))
            files, chain = files + 1, file.chained(chain)
            about = self.sources[file.source]
            self.sources[file.source] = DataSource(about.name, about.files + 1, about.bytes + file.size)
            at = Cursor(files, chain)
        if files < start.files:
            raise DataSetError(
                f"{staging.folder}: the sources have fewer files than at the start of the import"
            )
        staging.flush(at, self.sources)

    def _file(self, file: SourceFile, at: Cursor) -> None:
        staging, counts = self.staging, self.staging.counts
        if file.kind == "link":
            counts.links += 1
            self._problem(f"{file.name}: a link, not followed")
            return
        records, skipped = at.records, at.records - at.first
        found = _records(file, self.order.rules, at)
        while True:
            try:
                record = next(found, None)
            except (StorageError, OSError) as error:
                counts.read += 1
                self._left_out(BadRecord("not readable", _why(error)), file.name)
                return
            if record is None:
                return
            if skipped:
                skipped -= 1
                continue
            records += 1
            counts.read += 1
            full = self._take(file, record)
            self.watch.record()
            stop = self.watch.stop()
            if full or stop:
                here = Cursor(at.files, at.chain, record.offset, record.first, records)
                staging.flush(here, self.sources)
                counts = staging.counts
            if stop:
                raise Stopped

    def _take(self, file: SourceFile, found: FoundRecord) -> bool:
        try:
            try:
                match = found.read()
            except (StorageError, OSError) as error:
                raise BadRecord("not readable", _why(error)) from error
            self._check(match)
        except BadRecord as error:
            self._left_out(error, f"{file.name}{found.place}")
            return False
        if match.shortened:
            self.staging.counts.shortened += 1
            self._problem(f"{file.name}{found.place}: shortened: {match.shortened}")
        return self.staging.add(match._replace(stored=match.stored._replace(source=file.source)))

    def _check(self, match: ReadMatch) -> None:
        """Raise :class:`BadRecord` for a match of another game, version or shape than the first one."""
        about = replays.info(match.stored.replay)
        spec_hash = self._spec_hash(about.game, match.params)
        setup = self.staging.setup
        size = size_of(match.params) if about.game == GO else ""
        if not setup.game:
            if self.order.size and about.game == GO and size != str(self.order.size):
                raise BadRecord("another size", f"a board of {size} lines, expected {self.order.size}")
            self.staging.decide(about.game, about.version, spec_hash, len(about.players))
            return
        if (about.game, about.version) != (setup.game, setup.version):
            raise BadRecord(
                "another game",
                f"a match of {shown(about.game)}, version {about.version}; "
                f"the data set has {setup.game}, version {setup.version}",
            )
        if spec_hash != setup.spec_hash:
            if about.game == GO and size != (first := self._first_size()):
                raise BadRecord("another size", f"a board of {size} lines, expected {first}")
            raise BadRecord("other parameters", "its parameters give other observations or actions")

    def _first_size(self) -> str:
        """Return the lines of the boards of the data set, also where an earlier call has decided them."""
        known = self.base.manifest.params if self.base is not None else map(dict, self.staging.params())
        for params in islice(known, 1):
            self._spec_hash(GO, params)
        wanted = self.staging.setup.spec_hash
        return next((size for size, found in self.sizes.items() if found == wanted), "other")

    def _spec_hash(self, game: str, params: Mapping[str, str]) -> str:
        key = tuple(sorted(params.items()))
        if key not in self.hashes:
            if len(self.hashes) > 1000:
                self.hashes.clear()
            reference = self.order.rules.game or game
            self.hashes[key] = registry.spec(reference if "/" in reference else game, params).spec_hash
            if game == GO:
                self.sizes[size_of(params)] = self.hashes[key]
        return self.hashes[key]

    def _left_out(self, error: BadRecord, place: str) -> None:
        counts = self.staging.counts.left_out
        counts[error.reason] = counts.get(error.reason, 0) + 1
        self._problem(f"{place}: {error}")

    def _problem(self, text: str) -> None:
        line = visible(text)
        line = line if len(line) <= _MOST_PROBLEM else f"{line[:_MOST_PROBLEM]}..."
        self.staging.problems.append(line)
        self.watch.problem(line)


def _why(error: StorageError | OSError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


def size_of(params: Mapping[str, str]) -> str:
    """Return the lines of a board of Go under ``params``."""
    return params.get("size") or _default_size()


@cache
def _default_size() -> str:
    return next(p.default_value for p in registry.spec(GO).params if p.name == "size")


def _records(file: SourceFile, rules: ReadingRules, at: Cursor) -> Iterator[FoundRecord]:
    """Yield the records of a file, from the cursor's piece of it."""
    if file.kind == "replay":
        yield FoundRecord("", lambda: read_replay(read_bounded(file.path, MAX_REPLAY), rules))
    elif file.kind == "self_play":
        for place, read in from_self_play.matches(file.path, rules):
            yield FoundRecord(place, read)
    else:
        with open_regular(file.path) as opened:
            for stretch in from_sgf.games(opened, rules, at.offset, at.first):
                for place, read in stretch.games:
                    yield FoundRecord(place, read, stretch.offset, stretch.first)

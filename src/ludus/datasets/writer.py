"""The end of an import: staged matches in the order of their content, without duplicates, as shards."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.datasets import content
from ludus.datasets.dataset import DataSet
from ludus.datasets.errors import DataSetError
from ludus.datasets.from_replay import key_of_stored
from ludus.datasets.manifest import (
    MAX_BYTES,
    DataSource,
    ImportCounts,
    Manifest,
    ShardEntry,
    SplitRule,
    write_manifest,
)
from ludus.datasets.order import ROW, MatchOrder, Rows, ordered
from ludus.datasets.shards import (
    FOLDER,
    SUFFIX,
    TARGET_BYTES,
    ShardTensors,
    map_shard,
    read_shard,
)
from ludus.datasets.staging import JOURNAL, PARTS, ParamSet, Staging, param_set, poorness
from ludus.games import replays
from ludus.storage.files import own_folder, remove_tree, write_atomic
from ludus.storage.tensors import decode_file, encode_tensors

ORDER = "order"  # folder of files to sort with
_MOST_MATCHES = 200_000  # of a shard

Beat = Callable[[int], None]


class _PartFile(NamedTuple):
    """A file of matches, and what must be added to its numbers of parameters and sources."""

    path: Path
    matches: int
    params: int
    sources: int


class Finishing(NamedTuple):
    """Settings of a finished data set.

    Attributes:
        split: How matches are held out.
        licence: Terms of the records.
    """

    split: SplitRule
    licence: str


def finish(
    folder: Path, staging: Staging, said: Finishing, base: DataSet | None = None, beat: Beat | None = None
) -> Manifest:
    """Write the shards and the manifest of a data set, and remove its parts.

    A kill leaves no data set, and the next call does the same work again.

    Args:
        folder: Where the data set is made; the parts are in it.
        staging: The parts.
        said: Its settings.
        base: An earlier data set, whose matches are in the new one too.
        beat: Called with the matches that are written, once a shard.

    Returns:
        The manifest.

    Raises:
        DataSetError: There are no matches.
        OSError: A file cannot be written.
    """
    setup = staging.setup
    found = _gather(staging, base)
    count = sum(part.matches for part in found.parts)
    if not count:
        staging.close()
        remove_tree(folder)
        reasons = ", ".join(
            f"{count:,} {reason}" for reason, count in sorted(staging.counts.left_out.items())
        )
        raise DataSetError(
            f"{folder}: no matches ({staging.counts.read:,} records{': ' if reasons else ''}{reasons})"
        )
    work = folder / PARTS / ORDER
    remove_tree(work)  # of an earlier call
    own_folder(work, make=True)
    kept = ordered(work, count, _pieces(staging, base))
    own_folder(folder / FOLDER, make=True)
    names = sorted(set(found.params))
    numbers = {name: number for number, name in enumerate(names)}
    places = np.array([numbers[name] for name in found.params], np.int32)
    maker = _ShardMaker(found.parts, kept, setup.seats, places)
    held = _held_out(kept, said.split, maker)
    entries: list[ShardEntry] = []
    decisions = held_out = at = 0
    while at < kept.matches:
        rows = maker.rows(at)
        tensors = maker.tensors(rows, held)
        data = encode_tensors(tensors._asdict())
        entry = ShardEntry(
            f"{len(entries):06d}{SUFFIX}", len(data), len(rows), hashlib.sha256(data).hexdigest()
        )
        write_atomic(folder / FOLDER / entry.name, data)
        entries.append(entry)
        decisions += int(tensors.decisions.sum(dtype=np.int64))
        held_out += int(tensors.split.sum(dtype=np.int64))
        at += len(rows)
        del rows, tensors, data  # before the next shard is made
        if beat is not None:
            beat(at)
    counts = staging.counts
    if base is not None:
        counts = _added(base.manifest.counts, counts)
    counts = msgspec.structs.replace(counts, duplicates=counts.duplicates + kept.repeated)
    manifest = Manifest(
        format=1,
        game=setup.game,
        version=setup.version,
        spec_hash=setup.spec_hash,
        seats=setup.seats,
        matches=kept.matches,
        decisions=decisions,
        held_out=held_out,
        sha256=content.set_hash(setup.game, setup.version, _digests(kept)),
        split=said.split,
        licence=said.licence,
        sources=tuple(found.sources),
        counts=counts,
        params=tuple(dict(name) for name in names),
        shards=tuple(entries),
        problems=tuple(staging.all_problems()),
    )
    if len(msgspec.json.encode(manifest)) > MAX_BYTES // 2:
        raise DataSetError(f"{folder}: {len(names):,} sets of parameters are too many for one data set")
    write_manifest(folder, manifest)
    staging.close()
    remove_tree(folder / PARTS)
    (folder / JOURNAL).unlink(missing_ok=True)
    return manifest


class _Gathered(NamedTuple):
    """All files of matches, their sets of parameters and sources."""

    parts: list[_PartFile]
    params: list[ParamSet]
    sources: list[DataSource]


def _gather(staging: Staging, base: DataSet | None) -> _Gathered:
    """Return the files of an earlier data set and of an import."""
    found = _Gathered([], [], [])
    if base is not None:
        found.params.extend(map(param_set, base.manifest.params))
        found.sources.extend(base.manifest.sources)
        for entry in base.manifest.shards:
            found.parts.append(_PartFile(base.path / FOLDER / entry.name, entry.matches, 0, 0))
    before = len(found.params), len(found.sources)
    for number, matches in enumerate(staging.parts):
        found.parts.append(_PartFile(staging.part(number), matches, *before))
    found.params.extend(staging.params())
    found.sources.extend(staging.sources)
    return found


def _pieces(staging: Staging, base: DataSet | None) -> Iterator[Rows]:
    """Yield the rows of the order, of one file at a time."""
    shift = 0
    if base is not None:
        shift = len(base.manifest.shards)
        for number in range(shift):
            yield _rows_of(base.shard(number), number)
            base.release()
    for number, matches in enumerate(staging.parts):
        if matches:
            tensors, _ = decode_file(staging.order_file(number))
            rows = np.ascontiguousarray(tensors["order"]).view(ROW).reshape(-1)
            rows["part"] = number + shift
            yield rows


def _rows_of(tensors: ShardTensors, part: int) -> Rows:
    rows = np.zeros(len(tensors.known), ROW)
    for at in range(len(rows)):
        stored = tensors.match(at)
        about, made = replays.info(stored.replay), replays.decision_columns(stored.replay)
        digest = content.digest_of(about, made, stored.outcome, stored.result, stored.date)
        key = key_of_stored(stored.replay)
        poor = poorness(stored.outcome is not None, stored.date)
        rows[at] = (np.frombuffer(digest, ">u8"), np.frombuffer(key, ">u8"), poor, part, at)
    return rows


def _digests(kept: MatchOrder) -> Iterator[bytes]:
    """Yield the hashes of all matches in order, many in one text."""
    for rows in kept.pieces():
        yield rows["digest"].tobytes()


class _HeldOut(NamedTuple):
    """Which matches are held out.

    Attributes:
        share: By their hashes; 0 = none.
        only: The hash of the one match that is held out instead (``uint64[4]``); None = ``share``.
        since: The first day (yyyymmdd) of those held out; None = not by date.
    """

    share: float = 0.0
    only: npt.NDArray[np.uint64] | None = None
    since: int | None = None

    def of(self, digests: npt.NDArray[np.uint64], dates: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Return which ones of some matches are held out."""
        if self.since is not None:
            return np.asarray(dates >= self.since)
        if self.only is not None:
            return np.asarray((digests == self.only).all(axis=1))
        return content.held_out_by_hash(digests, self.share)


def _held_out(kept: MatchOrder, rule: SplitRule, maker: _ShardMaker) -> _HeldOut:
    """Return which matches are held out; at least one, and not all, where there are two or more."""
    count = kept.matches
    if not rule.held_out or count < 2:
        return _HeldOut()
    if rule.by == "match":
        held, least, only = 0, 1 << 64, None
        for rows in kept.pieces():
            digests = rows["digest"]
            held += int(content.held_out_by_hash(digests, rule.held_out).sum())
            last = digests[:, -1].astype(np.uint64)
            if int(last.min()) < least:
                least, only = int(last.min()), digests[np.argmin(last)].copy()
        return _HeldOut(rule.held_out) if 0 < held < count else _HeldOut(only=only)
    days, matches = maker.days()
    wanted = min(count - 1, max(1, round(count * rule.held_out)))
    border = int(np.searchsorted(np.cumsum(matches), count - wanted, "right"))
    if not border:
        border += 1  # all matches of the border's day are held out, so not of the first one
    if border >= len(days):
        raise DataSetError("the split by date needs matches of several days; a split by match needs none")
    return _HeldOut(since=int(days[border]))


class _ShardMaker:
    """Maker of shards: gathers matches from their parts, one part in memory at a time."""

    def __init__(
        self, parts: Sequence[_PartFile], kept: MatchOrder, seats: int, places: npt.NDArray[np.int32]
    ) -> None:
        self.parts, self.kept, self.seats, self.places = parts, kept, seats, places

    def _of(
        self, numbers: npt.NDArray[np.int32]
    ) -> Iterator[tuple[_PartFile, ShardTensors, npt.NDArray[np.int64]]]:
        """Yield each part of ``numbers``, its tensors, and the places that it has there."""
        for number in np.unique(numbers):
            part = self.parts[int(number)]
            data = map_shard(part.path, part.path.stat().st_size)
            tensors = read_shard(data, str(part.path), part.matches, self.seats)
            yield part, tensors, np.flatnonzero(numbers == number)

    def days(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Return the dates of matches, ascending, and the number of matches of each."""
        days, counts = np.zeros(0, np.int32), np.zeros(0, np.int64)
        for start in range(0, self.kept.matches, _MOST_MATCHES):
            rows = self.kept.rows(start, start + _MOST_MATCHES)
            dates = [tensors.date[rows["row"][mine]] for _, tensors, mine in self._of(rows["part"])]
            found, times = np.unique(np.concatenate(dates), return_counts=True)
            days, where = np.unique(np.concatenate([days, found]), return_inverse=True)
            counts = np.bincount(where, np.concatenate([counts, times])).astype(np.int64)
        return days, counts

    def rows(self, at: int) -> Rows:
        """Return the rows of a shard that starts with row ``at``: about 16 MiB of replays."""
        rows = self.kept.rows(at, at + _MOST_MATCHES)
        sizes = np.zeros(len(rows), np.int64)
        for _, tensors, mine in self._of(rows["part"]):
            sizes[mine] = np.diff(tensors.offset)[rows["row"][mine]]
        return rows[: max(1, int(np.searchsorted(np.cumsum(sizes), TARGET_BYTES, "right")))]

    def tensors(self, order: Rows, held: _HeldOut) -> ShardTensors:
        """Return the shard of the rows ``order``."""
        count, numbers, rows = len(order), order["part"], order["row"]
        columns: dict[str, npt.NDArray[Any]] = {}
        lengths = np.zeros(count + 1, np.int64)
        for _, tensors, mine in self._of(numbers):
            lengths[mine + 1] = np.diff(tensors.offset)[rows[mine]]
        offset = np.cumsum(lengths)
        replays = np.zeros(int(offset[-1]), np.uint8)
        for part, tensors, mine in self._of(numbers):
            theirs = rows[mine]
            for name in ("decisions", "outcome", "known", "date", "result"):
                column = getattr(tensors, name)
                columns.setdefault(name, np.zeros((count, *column.shape[1:]), column.dtype))[mine] = column[
                    theirs
                ]
            for name, values in (
                ("params", self.places[tensors.params[theirs] + part.params]),
                ("source", tensors.source[theirs] + part.sources),
            ):
                columns.setdefault(name, np.zeros(count, np.int32))[mine] = values
            for place, row in zip(mine.tolist(), theirs.tolist(), strict=True):
                replays[offset[place] : offset[place + 1]] = tensors.replays[
                    tensors.offset[row] : tensors.offset[row + 1]
                ]
        split = held.of(order["digest"], columns["date"]).astype(np.uint8)
        return ShardTensors(replays=replays, offset=offset, split=split, **columns)


def _added(a: ImportCounts, b: ImportCounts) -> ImportCounts:
    return ImportCounts(
        read=a.read + b.read,
        duplicates=a.duplicates + b.duplicates,
        shortened=a.shortened + b.shortened,
        links=a.links + b.links,
        left_out={k: a.left_out.get(k, 0) + b.left_out.get(k, 0) for k in sorted({*a.left_out, *b.left_out})},
    )

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
from ludus.datasets.shards import (
    FOLDER,
    SUFFIX,
    TARGET_BYTES,
    ShardTensors,
    map_shard,
    read_shard,
)
from ludus.datasets.staging import JOURNAL, PARTS, ROW, Staging, poorness
from ludus.games import replays
from ludus.storage.files import own_folder, remove_tree, write_atomic
from ludus.storage.tensors import decode_file, encode_tensors

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
    parts, orders, params, sources = _gather(staging, base)
    if not len(orders):
        staging.close()
        remove_tree(folder)
        reasons = ", ".join(
            f"{count:,} {reason}" for reason, count in sorted(staging.counts.left_out.items())
        )
        raise DataSetError(
            f"{folder}: no matches ({staging.counts.read:,} records{': ' if reasons else ''}{reasons})"
        )
    kept = _without_duplicates(orders)
    repeated = len(orders) - len(kept.part)
    del orders  # as large as what is kept
    own_folder(folder / FOLDER, make=True)
    names = sorted({tuple(sorted(p.items())) for p in params})
    numbers = {name: number for number, name in enumerate(names)}
    places = np.array([numbers[tuple(sorted(p.items()))] for p in params], np.int32)
    maker = _ShardMaker(parts, kept, setup.seats, places)
    held = _held_out(kept.digest, said.split, maker.dates() if said.split.by == "date" else None)
    entries: list[ShardEntry] = []
    decisions = 0
    at = 0
    while at < len(kept.part):
        end = maker.end(at)
        tensors = maker.tensors(at, end, held)
        data = encode_tensors(tensors._asdict())
        entry = ShardEntry(
            f"{len(entries):06d}{SUFFIX}", len(data), end - at, hashlib.sha256(data).hexdigest()
        )
        write_atomic(folder / FOLDER / entry.name, data)
        entries.append(entry)
        decisions += int(tensors.decisions.sum(dtype=np.int64))
        if beat is not None:
            beat(end)
        at = end
    counts = staging.counts
    if base is not None:
        counts = _added(base.manifest.counts, counts)
    counts = msgspec.structs.replace(counts, duplicates=counts.duplicates + repeated)
    manifest = Manifest(
        format=1,
        game=setup.game,
        version=setup.version,
        spec_hash=setup.spec_hash,
        seats=setup.seats,
        matches=len(kept.part),
        decisions=decisions,
        held_out=int(held.sum()),
        sha256=content.set_hash(setup.game, setup.version, (row.tobytes() for row in kept.digest)),
        split=said.split,
        licence=said.licence,
        sources=tuple(sources),
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


def _gather(
    staging: Staging, base: DataSet | None
) -> tuple[list[_PartFile], npt.NDArray[np.void], list[dict[str, str]], list[DataSource]]:
    """Return all files of matches, their rows, sets of parameters and sources."""
    parts: list[_PartFile] = []
    count = sum(staging.parts) + (len(base) if base is not None else 0)
    rows, at = np.zeros(count, ROW), 0
    params: list[dict[str, str]] = []
    sources: list[DataSource] = []
    if base is not None:
        params += base.manifest.params
        sources += base.manifest.sources
        for number, entry in enumerate(base.manifest.shards):
            parts.append(_PartFile(base.path / FOLDER / entry.name, entry.matches, 0, 0))
            rows[at : at + entry.matches] = _rows_of(base.shard(number), number)
            at += entry.matches
    shift, before = len(parts), (len(params), len(sources))
    for number, matches in enumerate(staging.parts):
        parts.append(_PartFile(staging.part(number), matches, *before))
        if matches:
            tensors, _ = decode_file(staging.order_file(number))
            rows[at : at + matches] = np.ascontiguousarray(tensors["order"]).view(ROW).reshape(-1)
            rows["part"][at : at + matches] = number + shift
            at += matches
    return parts, rows, params + staging.params, sources + staging.sources


def _rows_of(tensors: ShardTensors, part: int) -> npt.NDArray[np.void]:
    rows = np.zeros(len(tensors.known), ROW)
    for at in range(len(rows)):
        stored = tensors.match(at)
        about, made = replays.info(stored.replay), replays.decisions(stored.replay)
        digest = content.digest_of(about, made, stored.outcome, stored.result, stored.date)
        key = key_of_stored(stored.replay)
        poor = poorness(stored.outcome is not None, stored.date)
        rows[at] = (np.frombuffer(digest, ">u8"), np.frombuffer(key, ">u8"), poor, part, at)
    return rows


class _KeptMatches(NamedTuple):
    """The matches of a data set in order: hashes of their content, and their places."""

    digest: npt.NDArray[np.uint64]  # [M, 4], big-endian
    part: npt.NDArray[np.int32]  # [M]
    row: npt.NDArray[np.int32]  # [M]


def _without_duplicates(rows: npt.NDArray[np.void]) -> _KeptMatches:
    """Return one record of each match, in the order of content."""
    digest, key = rows["digest"].astype(np.uint64), rows["key"].astype(np.uint64)
    order = np.lexsort((*digest.T[::-1], rows["poor"], *key.T[::-1]))
    sorted_key = key[order]
    first = np.ones(len(rows), bool)
    first[1:] = (sorted_key[1:] != sorted_key[:-1]).any(axis=1)
    kept = order[first]
    kept = kept[np.lexsort(tuple(digest[kept].T[::-1]))]
    return _KeptMatches(rows["digest"][kept], rows["part"][kept], rows["row"][kept])


def _held_out(
    digests: npt.NDArray[np.uint64], rule: SplitRule, dates: npt.NDArray[np.int32] | None
) -> npt.NDArray[np.bool_]:
    """Return which matches are held out; at least one, and not all, where there are two or more."""
    count = len(digests)
    if not rule.held_out or count < 2:
        return np.zeros(count, bool)
    if dates is None:
        held = content.held_out_by_hash(digests, rule.held_out)
        if not held.any() or held.all():
            held = np.zeros(count, bool)
            held[np.argmin(digests[:, -1].astype(np.uint64))] = True
        return held
    wanted = min(count - 1, max(1, round(count * rule.held_out)))
    border = np.sort(dates)[count - wanted]
    held = np.asarray(dates >= border)  # all matches of the border's day
    if held.all():
        held = np.asarray(dates > border)
    if not held.any():
        raise DataSetError("the split by date needs matches of several days; a split by match needs none")
    return held


class _ShardMaker:
    """Maker of shards: gathers matches from their parts, one part in memory at a time."""

    def __init__(
        self, parts: Sequence[_PartFile], kept: _KeptMatches, seats: int, places: npt.NDArray[np.int32]
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

    def dates(self) -> npt.NDArray[np.int32]:
        """Return the dates of all matches."""
        dates = np.zeros(len(self.kept.part), np.int32)
        for _, tensors, mine in self._of(self.kept.part):
            dates[mine] = tensors.date[self.kept.row[mine]]
        return dates

    def end(self, at: int) -> int:
        """Return the row behind a shard that starts with row ``at``: about 16 MiB of replays."""
        window = slice(at, at + _MOST_MATCHES)
        sizes = np.zeros(len(self.kept.part[window]), np.int64)
        for _, tensors, mine in self._of(self.kept.part[window]):
            sizes[mine] = np.diff(tensors.offset)[self.kept.row[window][mine]]
        return at + max(1, int(np.searchsorted(np.cumsum(sizes), TARGET_BYTES, "right")))

    def tensors(self, at: int, end: int, held: npt.NDArray[np.bool_]) -> ShardTensors:
        """Return the shard of the rows from ``at`` to ``end``."""
        count = end - at
        numbers, rows = self.kept.part[at:end], self.kept.row[at:end]
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
        return ShardTensors(replays=replays, offset=offset, split=held[at:end].astype(np.uint8), **columns)


def _added(a: ImportCounts, b: ImportCounts) -> ImportCounts:
    return ImportCounts(
        read=a.read + b.read,
        duplicates=a.duplicates + b.duplicates,
        shortened=a.shortened + b.shortened,
        links=a.links + b.links,
        left_out={k: a.left_out.get(k, 0) + b.left_out.get(k, 0) for k in sorted({*a.left_out, *b.left_out})},
    )

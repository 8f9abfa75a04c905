"""The end of an import: staged matches in the order of their content, without duplicates, as shards."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

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
    StoredMatch,
    encode_shard,
    map_shard,
    read_shard,
)
from ludus.datasets.staging import JOURNAL, PARTS, ROW, Staging, poorness
from ludus.games import replays
from ludus.storage.files import own_folder, remove_tree, write_atomic
from ludus.storage.tensors import decode_file

Beat = Callable[[], None]


class _PartFile(NamedTuple):
    """A file of matches, and what must be added to its numbers of parameters and sources."""

    path: Path
    matches: int
    params: int
    sources: int


class Finishing(NamedTuple):
    """What a person says of a data set.

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
        said: What a person says of the data set.
        base: An earlier data set, whose matches are in the new one too.
        beat: Called once a match.

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
    kept, repeated = _without_duplicates(orders)
    dates = _dates(parts, kept, setup.seats) if said.split.by == "date" else None
    held = _held_out(kept, said.split, dates)
    own_folder(folder / FOLDER, make=True)
    names = sorted({tuple(sorted(p.items())) for p in params})
    numbers = {name: number for number, name in enumerate(names)}
    places = np.array([numbers[tuple(sorted(p.items()))] for p in params], np.int32)
    entries: list[ShardEntry] = []
    decisions = 0
    at = 0
    while at < len(kept):
        matches, at_next = _next_shard(parts, kept, at, setup.seats, places, beat)
        data = encode_shard(matches, list(map(bool, held[at:at_next])))
        entry = ShardEntry(
            f"{len(entries):06d}{SUFFIX}", len(data), len(matches), hashlib.sha256(data).hexdigest()
        )
        write_atomic(folder / FOLDER / entry.name, data)
        entries.append(entry)
        decisions += sum(sum(m.decisions) for m in matches)
        at = at_next
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
        matches=len(kept),
        decisions=decisions,
        held_out=int(held.sum()),
        sha256=content.set_hash(
            setup.game, setup.version, (row.tobytes() for row in kept["digest"].astype(">u8"))
        ),
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
    rows: list[npt.NDArray[np.void]] = [np.zeros(0, ROW)]
    params: list[dict[str, str]] = []
    sources: list[DataSource] = []
    if base is not None:
        params += base.manifest.params
        sources += base.manifest.sources
        for number, entry in enumerate(base.manifest.shards):
            parts.append(_PartFile(base.path / FOLDER / entry.name, entry.matches, 0, 0))
            rows.append(_rows_of(base.shard(number), number))
    shift, before = len(parts), (len(params), len(sources))
    for number, matches in enumerate(staging.parts):
        parts.append(_PartFile(staging.part(number), matches, *before))
        if matches:
            tensors, _ = decode_file(staging.order_file(number))
            found = np.ascontiguousarray(tensors["order"]).view(ROW).reshape(-1).copy()
            found["part"] = number + shift
            rows.append(found)
    return parts, np.concatenate(rows), params + staging.params, sources + staging.sources


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


def _without_duplicates(rows: npt.NDArray[np.void]) -> tuple[npt.NDArray[np.void], int]:
    """Return one record of each match in the order of content, and how many others there were."""
    digest, key = rows["digest"].astype(np.uint64), rows["key"].astype(np.uint64)
    order = np.lexsort((*digest.T[::-1], rows["poor"], *key.T[::-1]))
    sorted_key = key[order]
    first = np.ones(len(rows), bool)
    first[1:] = (sorted_key[1:] != sorted_key[:-1]).any(axis=1)
    kept = order[first]
    kept = kept[np.lexsort(tuple(digest[kept].T[::-1]))]
    return rows[kept], len(rows) - len(kept)


def _held_out(
    rows: npt.NDArray[np.void], rule: SplitRule, dates: npt.NDArray[np.int32] | None
) -> npt.NDArray[np.bool_]:
    """Return which matches are held out; at least one, and not all, where there are two or more."""
    count = len(rows)
    if not rule.held_out or count < 2:
        return np.zeros(count, bool)
    if dates is None:
        held = content.held_out_by_hash(rows["digest"], rule.held_out)
        if not held.any() or held.all():
            held = np.zeros(count, bool)
            held[np.argmin(rows["digest"][:, -1].astype(np.uint64))] = True
        return held
    wanted = min(count - 1, max(1, round(count * rule.held_out)))
    border = np.sort(dates)[count - wanted]
    held = np.asarray(dates >= border)  # all matches of the border's day
    if held.all():
        held = np.asarray(dates > border)
    if not held.any():
        raise DataSetError("the split by date needs matches of several days; --split match needs no dates")
    return held


def _dates(parts: Sequence[_PartFile], rows: npt.NDArray[np.void], seats: int) -> npt.NDArray[np.int32]:
    dates = np.zeros(len(rows), np.int32)
    for number, part in enumerate(parts):
        mine = np.flatnonzero(rows["part"] == number)
        if len(mine):
            data = map_shard(part.path, part.path.stat().st_size)
            dates[mine] = read_shard(data, str(part.path), part.matches, seats).date[rows["row"][mine]]
    return dates


def _next_shard(
    parts: Sequence[_PartFile],
    rows: npt.NDArray[np.void],
    at: int,
    seats: int,
    places: npt.NDArray[np.int32],
    beat: Beat | None,
) -> tuple[list[StoredMatch], int]:
    """Return the matches of the shard that starts with row ``at``, and the row behind it."""
    end = _end_of_shard(parts, rows, at, seats)
    found: dict[int, StoredMatch] = {}
    wanted = rows["part"][at:end]
    for number in np.unique(wanted):
        part = parts[int(number)]
        data = map_shard(part.path, part.path.stat().st_size)
        tensors = read_shard(data, str(part.path), part.matches, seats)
        for place in np.flatnonzero(wanted == number):
            match = tensors.match(int(rows["row"][at + place]))
            found[int(place)] = match._replace(
                params=int(places[match.params + part.params]), source=match.source + part.sources
            )
            if beat is not None:
                beat()
    return [found[place] for place in range(end - at)], end


def _end_of_shard(parts: Sequence[_PartFile], rows: npt.NDArray[np.void], at: int, seats: int) -> int:
    """Return the row behind a shard that starts with row ``at``: about 16 MiB of replays."""
    size = _sizes(parts, rows, at, seats)
    return at + max(1, int(np.searchsorted(np.cumsum(size), TARGET_BYTES, "right")))


def _sizes(
    parts: Sequence[_PartFile], rows: npt.NDArray[np.void], at: int, seats: int
) -> npt.NDArray[np.int64]:
    window = rows[at : at + 200_000]
    sizes = np.zeros(len(window), np.int64)
    for number in np.unique(window["part"]):
        part = parts[int(number)]
        data = map_shard(part.path, part.path.stat().st_size)
        offset = read_shard(data, str(part.path), part.matches, seats).offset
        mine = np.flatnonzero(window["part"] == number)
        sizes[mine] = np.diff(offset)[window["row"][mine]]
    return sizes


def _added(a: ImportCounts, b: ImportCounts) -> ImportCounts:
    return ImportCounts(
        read=a.read + b.read,
        duplicates=a.duplicates + b.duplicates,
        shortened=a.shortened + b.shortened,
        links=a.links + b.links,
        left_out={k: a.left_out.get(k, 0) + b.left_out.get(k, 0) for k in sorted({*a.left_out, *b.left_out})},
    )

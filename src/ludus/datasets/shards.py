"""Shards: safetensors files with the replays of many matches, memory-mapped and checked within bounds."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.datasets.errors import DataSetError
from ludus.flow.inputs.decode import from_json
from ludus.storage.tensors import encode_tensors

FOLDER = "shards"
SUFFIX = ".safetensors"
TARGET_BYTES = 16 << 20  # of the replays of a shard
MAX_BYTES = 1 << 30
MAX_REPLAY = 64 << 20
RESULT_BYTES = 16  # of the text of a result
_MAX_HEADER = 1 << 16

#: Tensors of a shard: their types and numbers of axes.
_KINDS = {
    "replays": ("U8", 1), "offset": ("I64", 1), "decisions": ("I32", 2), "outcome": ("F32", 2),
    "known": ("U8", 1), "split": ("U8", 1), "date": ("I32", 1), "source": ("I32", 1), "params": ("I32", 1),
    "result": ("U8", 2),
}  # fmt: skip
_NUMPY = {"U8": np.uint8, "I32": np.int32, "I64": np.int64, "F32": np.float32}


class StoredMatch(NamedTuple):
    """One match as it is stored; fields as of :class:`~ludus.datasets.dataset.RecordedMatch`."""

    replay: bytes
    decisions: tuple[int, ...]
    outcome: tuple[float, ...] | None
    result: str
    date: int
    source: int
    params: int


class ShardTensors(NamedTuple):
    """The tensors of a shard of ``M`` matches with ``S`` seats and ``B`` bytes of replays."""

    replays: npt.NDArray[np.uint8]  # [B]
    offset: npt.NDArray[np.int64]  # [M + 1], from 0 to B
    decisions: npt.NDArray[np.int32]  # [M, S]
    outcome: npt.NDArray[np.float32]  # [M, S], +1, 0, -1
    known: npt.NDArray[np.uint8]  # [M], the outcome is known
    split: npt.NDArray[np.uint8]  # [M], 1 = held out
    date: npt.NDArray[np.int32]  # [M], yyyymmdd, 0 = unknown
    source: npt.NDArray[np.int32]  # [M]
    params: npt.NDArray[np.int32]  # [M]
    result: npt.NDArray[np.uint8]  # [M, 16], text of the result, ended by zeros

    def match(self, index: int) -> StoredMatch:
        """Return match ``index`` of the shard."""
        outcome = tuple(map(float, self.outcome[index])) if self.known[index] else None
        return StoredMatch(
            self.replays[self.offset[index] : self.offset[index + 1]].tobytes(),
            tuple(map(int, self.decisions[index])),
            outcome,
            self.result[index].tobytes().rstrip(b"\0").decode("ascii", "replace"),
            int(self.date[index]),
            int(self.source[index]),
            int(self.params[index]),
        )


def encode_shard(matches: Sequence[StoredMatch], held_out: Sequence[bool]) -> bytes:
    """Return the bytes of a shard of at least one match."""
    lengths = [len(m.replay) for m in matches]
    unknown = (0.0,) * len(matches[0].decisions)
    results = b"".join(m.result.encode("ascii").ljust(RESULT_BYTES, b"\0") for m in matches)
    tensors = ShardTensors(
        replays=np.frombuffer(b"".join(m.replay for m in matches), np.uint8),
        offset=np.cumsum([0, *lengths], dtype=np.int64),
        decisions=np.array([m.decisions for m in matches], np.int32),
        outcome=np.array([unknown if m.outcome is None else m.outcome for m in matches], np.float32),
        known=np.array([m.outcome is not None for m in matches], np.uint8),
        split=np.array(held_out, np.uint8),
        date=np.array([m.date for m in matches], np.int32),
        source=np.array([m.source for m in matches], np.int32),
        params=np.array([m.params for m in matches], np.int32),
        result=np.frombuffer(results, np.uint8).reshape(len(matches), RESULT_BYTES),
    )
    return encode_tensors(tensors._asdict())


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    dtype: Literal["U8", "I32", "I64", "F32"]
    shape: Annotated[tuple[Annotated[int, msgspec.Meta(ge=0, le=MAX_BYTES)], ...], msgspec.Meta(max_length=2)]
    data_offsets: tuple[int, int]


def map_shard(path: Path, size: int) -> mmap.mmap:
    """Map the file of a shard. Raises :class:`DataSetError` unless it is a regular file of ``size`` bytes."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        why = "a link" if path.is_symlink() else error.strerror
        raise DataSetError(f"{path}: {why}; expected the file of a shard") from error
    try:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode):
            raise DataSetError(f"{path}: not a regular file; expected the file of a shard")
        if about.st_size != size or not 8 < size <= MAX_BYTES:
            raise DataSetError(
                f"{path}: {about.st_size:,} bytes, the manifest has {size:,}: the shard has changed"
            )
        return mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(fd)


def read_shard(data: mmap.mmap | bytes, name: str, matches: int, seats: int) -> ShardTensors:
    """Return the tensors of a shard's bytes without a copy; each value is within its bounds.

    Args:
        data: The bytes of the file.
        name: The file, for messages.
        matches: Number of matches by the manifest.
        seats: Seats of a match.

    Raises:
        DataSetError: The bytes are no such shard.
    """
    try:
        length = int.from_bytes(data[:8], "little")
        if not 2 <= length <= min(_MAX_HEADER, len(data) - 8):
            raise DataSetError(f"{name}: not a safetensors file (a header of {length} bytes)")
        header = from_json(bytes(data[8 : 8 + length]), dict[str, _Header])
    except msgspec.DecodeError as error:
        raise DataSetError(f"{name}: not a shard of matches ({error})") from error
    if set(header) != set(_KINDS):
        odd = ", ".join(sorted(set(header) ^ set(_KINDS)))
        raise DataSetError(f"{name}: not a shard of matches (tensors: {odd[:200]!r})")
    found: dict[str, npt.NDArray[np.generic]] = {}
    start = 8 + length
    for key, about in header.items():
        dtype, axes = _KINDS[key]
        begin, end = about.data_offsets
        count = int(np.prod(about.shape, dtype=object)) if about.shape else 1
        width = np.dtype(_NUMPY[dtype]).itemsize
        if about.dtype != dtype or len(about.shape) != axes or count * width != end - begin:
            raise DataSetError(f"{name}: tensor {key} has another type or shape")
        if not 0 <= begin <= end <= len(data) - start:
            raise DataSetError(f"{name}: tensor {key} lies outside of the file")
        flat = (
            np.frombuffer(data, _NUMPY[dtype], count, start + begin)
            if count
            else np.zeros(0, dtype=_NUMPY[dtype])
        )
        found[key] = flat.reshape(about.shape)
    tensors = ShardTensors(**found)  # type: ignore[arg-type]
    _check(tensors, name, matches, seats)
    return tensors


def _check(t: ShardTensors, name: str, matches: int, seats: int) -> None:
    for key, rows in t._asdict().items():
        expected = matches + 1 if key == "offset" else matches
        if key != "replays" and len(rows) != expected:
            raise DataSetError(f"{name}: tensor {key} has {len(rows)} rows, expected {expected}")
    if t.decisions.shape[1] != seats or t.outcome.shape[1] != seats or t.result.shape[1] != RESULT_BYTES:
        raise DataSetError(f"{name}: rows for other than {seats} seats")
    lengths = np.diff(t.offset)
    if t.offset[0] != 0 or t.offset[-1] != len(t.replays) or lengths.min() <= 0:
        raise DataSetError(f"{name}: the offsets of replays do not ascend from 0 to {len(t.replays)}")
    if lengths.max() > MAX_REPLAY:
        raise DataSetError(f"{name}: a replay of {lengths.max():,} bytes, expected at most {MAX_REPLAY:,}")
    if t.decisions.min() < 0 or t.params.min() < 0 or t.source.min() < 0 or t.date.min() < 0:
        raise DataSetError(f"{name}: a number below zero")
    if t.known.max() > 1 or t.split.max() > 1 or not np.isin(t.outcome, (-1, 0, 1)).all():
        raise DataSetError(f"{name}: an outcome or a split of another value")

"""Columns: chosen numbers of a run as arrays, read once, and later only what has been appended."""

from __future__ import annotations

import contextlib
import zlib
from array import array
from collections.abc import Callable, Sequence
from math import nan
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, cast

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.flow.inputs.decode import from_json, json_decoder
from ludus.storage.errors import CorruptFile
from ludus.storage.files import open_regular
from ludus.storage.jsonl import MAX_LINE_BYTES, MAX_READ_BYTES

Floats = npt.NDArray[np.float64]
AXES = ("steps", "time/minutes")
_MARK_BYTES = 96  # before the offset, by which a log that was cut and written again is recognised
_FLOATS = {float}
_TOLD = ("initial", "player")  # by which rows are left out
_SHALLOW = 60  # brackets of a row that cannot nest too deeply


class Columns:
    """Numbers of a run's log by name, a value for each row that has one of them; NaN where it has none.

    Safe in several threads. The evaluation of the initial weights is left out: it is no point of training.
    """

    def __init__(self, path: Path, names: Sequence[str], player: str = "") -> None:
        """Collect the numbers ``names`` of the log ``path``, without reading it yet.

        ``player``: member of a league whose rows count; empty: all rows.
        """
        self.names = tuple(dict.fromkeys(n for n in names if n not in (*AXES, *_TOLD)))
        self.offset = 0  #: byte after the last row that was read
        self._path = path
        self._lock = Lock()
        self._decode = _decoder(self.names, player)
        self._values = array("d")  # row by row
        self._mark = b""
        self._changes = 0
        self._start()

    def read(self) -> int:
        """Read what has been appended, or all of a log that was cut since; a damaged row ends the reading.

        Returns:
            The number of times that the columns have changed: equal numbers mean equal columns.
        """
        with self._lock:
            with contextlib.suppress(OSError, ValueError, CorruptFile), open_regular(self._path) as file:
                if self._was_cut(file):
                    self._start()
                    self._changes += 1
                self._append(file)
            return self._changes

    @property
    def stamp(self) -> str:
        """The same text for the same rows."""
        with self._lock:
            return f"{self.offset}-{zlib.crc32(self._mark):x}"

    def table(self, names: Sequence[str]) -> tuple[Floats, list[Floats]]:
        """Return the values of the first of ``names`` (``steps``, ``time/minutes``) and of the others.

        All are of the same rows, in their order: the rows that have one of the numbers.
        """
        every = (*AXES, *self.names)
        with self._lock:
            table = np.array(self._values, np.float64).reshape(-1, len(every))
        known = table[:, len(AXES) :] if self.names else table[:, 1:]
        table = table[np.isfinite(known).any(axis=1)]
        places = {name: k for k, name in enumerate(every)}
        first, *others = (table[:, places[name]] for name in names)
        return first, others

    def _start(self) -> None:
        self.offset, self._mark = 0, b""
        self._values = array("d")

    def _was_cut(self, file: BinaryIO) -> bool:
        if not self.offset:
            return False
        file.seek(self.offset - len(self._mark))
        return file.read(len(self._mark)) != self._mark

    def _append(self, file: BinaryIO) -> None:
        file.seek(self.offset)
        before = self.offset
        try:
            while self.offset < MAX_READ_BYTES:
                line = file.readline(MAX_LINE_BYTES + 1)
                if not line.endswith(b"\n"):
                    return
                values = self._decode(line)
                if values is not None:
                    self._values.extend(values)
                self.offset, self._mark = self.offset + len(line), line[-_MARK_BYTES:]
        finally:
            self._changes += self.offset > before


def _decoder(names: Sequence[str], player: str) -> Callable[[bytes], Sequence[float] | None]:
    """Return what reads a row's numbers: axes and ``names``; None for rows that are left out."""
    wanted = (*AXES, *names)
    fields: list[tuple[str, Any, Any]] = [(f"f{k}", float | None, nan) for k in range(len(wanted))]
    renamed = {f"f{k}": name for k, name in enumerate(wanted)}
    row = msgspec.defstruct(
        "Row", [*fields, ("initial", Any, None), ("player", Any, None)], rename=renamed, gc=False
    )
    whole_row = json_decoder(row)
    count = len(wanted)

    def decode(line: bytes) -> Sequence[float] | None:
        values: Sequence[object]
        try:
            if line.count(b"[") + line.count(b"{") > _SHALLOW:
                raise msgspec.ValidationError
            values = msgspec.structs.astuple(whole_row(line))
        except (msgspec.ValidationError, UnicodeError):  # some value is no number: the others count
            whole = from_json(line, dict[str, object])
            values = [*map(whole.get, (*wanted, *_TOLD))]
        if values[count] is True or (player and values[count + 1] != player):
            return None
        numbers = values[:count]
        if set(map(type, numbers)) == _FLOATS:
            return cast(Sequence[float], numbers)
        return [_number(value) for value in numbers]

    return decode


def _number(value: object) -> float:
    if type(value) in (float, int):
        with contextlib.suppress(OverflowError):
            return float(cast(float, value))
    return nan

"""Memory that the processes of one learner share. It has no name, so nothing stays behind when they exit."""

from __future__ import annotations

import fcntl
import mmap
import os
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.algorithms.updates.tasks import ArrayShape
from ludus.flow.slab import Array
from ludus.pool.hosted.shared import ALIGN, Doorbell, Segment, room

if TYPE_CHECKING:
    from collections.abc import Iterator

Longs = npt.NDArray[np.int64]
ORDER, DIGEST = range(2)  # columns of ``Memory.ended``
LIST, NEXT = range(2)  # columns of ``Memory.tickets``
_COLUMNS = ALIGN // 8  # of a row in a cache line of its own
_PAGE = mmap.ALLOCATIONGRANULARITY
_SPINS, _RETRY_S, _LOOK = 50, 1e-5, 1000  # tries to lock: without a pause, between two; between two looks


class Area:
    """Memory that grows. Equal calls lay out equal arrays in every process."""

    def __init__(self, descriptor: int) -> None:
        """Map the file behind ``descriptor`` when arrays are asked for."""
        self._descriptor = descriptor
        self._map: mmap.mmap | None = None
        self._size = 0

    def arrays(self, shapes: Sequence[ArrayShape]) -> list[Array]:
        """Return arrays of these shapes and types, one after another from the start of the memory.

        All processes that use the memory at the same time ask for the same arrays.
        """
        starts, size = [], 0
        for shape, dtype in shapes:
            starts.append(size)
            size += room(shape, dtype)
        memory = self._memory(max(size, ALIGN))
        return [
            np.ndarray(shape, dtype, memory, start)
            for (shape, dtype), start in zip(shapes, starts, strict=True)
        ]

    def _memory(self, size: int) -> mmap.mmap:
        if self._map is None or size > self._size:
            size = -(-size // _PAGE) * _PAGE
            if os.fstat(self._descriptor).st_size < size:
                os.ftruncate(self._descriptor, size)
            self._map, self._size = mmap.mmap(self._descriptor, size), size  # arrays keep the former one
        return self._map


class Memory:
    """Memory, doorbells and the lock of ``size`` processes.

    ``met``: number of meetings that each process has reached. ``tickets``: of the list of each parity, its
    number and the next task. ``ended``: number of the last order that each process has carried out, and the
    digest of its learner afterwards.
    """

    def __init__(self, size: int, descriptors: Sequence[int] = ()) -> None:
        """Make the memory, or map that of another process by its ``descriptors``."""
        given = list(descriptors)
        files = [Segment(1, given.pop(0) if descriptors else None) for _ in range(4)]
        control = (2 * size + 2) * ALIGN
        self._control = Segment(control, given.pop(0) if descriptors else None)
        self._segments = [*files, self._control]
        per_bell = len(given) // size
        self.bells = [
            Doorbell(given[i * per_bell : (i + 1) * per_bell] if descriptors else None) for i in range(size)
        ]
        #: large results of lists, and other results of meetings, by the parity of their number
        self.arrays = [Area(file.descriptor) for file in files[:2]]
        self.records = [Area(file.descriptor) for file in files[2:]]
        self.met, self.tickets, self.ended = (
            cast(Longs, self._control.allocate((rows, _COLUMNS), np.dtype(np.int64)))
            for rows in (size, 2, size)
        )

    @property
    def descriptors(self) -> list[int]:
        """Descriptors that another process needs."""
        segments = [segment.descriptor for segment in self._segments]
        return segments + [descriptor for bell in self.bells for descriptor in bell.descriptors]

    @contextmanager
    def locked(self, look: Callable[[], None]) -> Iterator[None]:
        """Let no other process enter meanwhile. A process that dies inside leaves.

        Args:
            look: Called now and then while another process is inside.
        """
        tries = 0
        while True:
            try:
                fcntl.lockf(self._control.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except (BlockingIOError, PermissionError):
                tries += 1
                if tries % _LOOK == 0:
                    look()
                if tries > _SPINS:
                    time.sleep(_RETRY_S)
        try:
            yield
        finally:
            fcntl.lockf(self._control.descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the descriptors; arrays keep the memory alive."""
        for bell in self.bells:
            bell.close()
        for segment in self._segments:
            segment.close()


class Field(msgspec.Struct, frozen=True):
    """Array of a :class:`Bundle`."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class Bundle:
    """Arrays by name in one segment."""

    def __init__(self, fields: Sequence[Field], descriptor: int | None = None) -> None:
        """Allocate the arrays, or map those behind ``descriptor``."""
        self.fields = tuple(fields)
        self._segment = Segment(sum(room(f.shape, f.dtype) for f in fields), descriptor)
        self.arrays = {f.name: self._segment.allocate(f.shape, np.dtype(f.dtype)) for f in fields}

    @property
    def descriptor(self) -> int:
        """Descriptor that another process needs."""
        return self._segment.descriptor

    def fill(self, arrays: dict[str, Array]) -> None:
        """Copy ``arrays`` of the fields' names and shapes."""
        for name, array in arrays.items():
            self.arrays[name][...] = array

    def close(self) -> None:
        """Close the descriptor; arrays keep the memory alive."""
        self._segment.close()


def fields_of(arrays: dict[str, Array]) -> tuple[Field, ...]:
    """Return the layout of arrays."""
    return tuple(Field(name, tuple(a.shape), a.dtype.str) for name, a in arrays.items())

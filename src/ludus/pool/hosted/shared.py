"""Shared memory and doorbells between processes; nothing stays behind when they exit.

A :class:`Segment` has no name in any file system: it exists as long as some process holds it, so a
killed program leaks nothing. A :class:`Doorbell` wakes a process that sleeps in ``poll`` and carries no
message: the content is in shared memory.
"""

from __future__ import annotations

import math
import mmap
import os
import select
import tempfile
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec, Slab
from ludus.flow.slab import Array, zeros

ALIGN = 64  # cache line: arrays of different processes never share one


def room(shape: Sequence[int], dtype: npt.DTypeLike) -> int:
    """Return the bytes that an array takes in a segment: whole multiples of ``ALIGN``."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    return (size + ALIGN - 1) // ALIGN * ALIGN


class Segment:
    """Anonymous memory behind a descriptor that may be passed on, zero at first."""

    def __init__(self, size: int, descriptor: int | None = None) -> None:
        """Map ``size`` bytes, new ones or those behind ``descriptor``."""
        self.size = max(room((size,), np.uint8), ALIGN)
        self.descriptor = _anonymous_file(self.size) if descriptor is None else descriptor
        self._map = mmap.mmap(self.descriptor, self.size)
        self._used = 0

    @property
    def memory(self) -> memoryview:
        """All bytes, which stay as long as something holds this view."""
        return memoryview(self._map)

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
        """Return the next array (bump allocator): identical call sequences yield identical layouts."""
        start, self._used = self._used, self._used + room(shape, dtype)
        if self._used > self.size:
            raise ValueError(f"segment of {self.size} bytes has no room for {dtype}{shape}")
        array: Array = np.frombuffer(self._map, dtype, math.prod(shape), start).reshape(shape)
        return array

    def close(self) -> None:
        """Close the descriptor; arrays keep the memory alive."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def _anonymous_file(size: int) -> int:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("ludus", os.MFD_CLOEXEC)
    else:  # pragma: no cover - other systems: a file that loses its name at once
        file = tempfile.TemporaryFile()  # noqa: SIM115
        descriptor = os.dup(file.fileno())
        file.close()
    os.ftruncate(descriptor, size)
    return descriptor


class Sizes:
    """An allocator that only computes the total size."""

    def __init__(self) -> None:
        """Start at 0 bytes."""
        self.total = 0

    def __call__(self, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
        """Count an array and return one element in its place."""
        self.total += room(shape, dtype)
        return zeros((1,) * len(shape), dtype)


def slab_bytes(spec: GameSpec, steps: int, rows: int) -> int:
    """Return the size of the segment that holds a slab, in bytes."""
    sizes = Sizes()
    Slab(spec, steps, rows, sizes)
    return sizes.total


def shared_slab(spec: GameSpec, steps: int, rows: int, descriptor: int | None = None) -> tuple[Slab, Segment]:
    """Return a slab in a new segment, or in the one behind ``descriptor``."""
    segment = Segment(slab_bytes(spec, steps, rows), descriptor)
    return Slab(spec, steps, rows, segment.allocate), segment


class Doorbell:
    """Wakes another process (an eventfd)."""

    def __init__(self, descriptors: Sequence[int] | None = None) -> None:
        """Make a doorbell, or use another process's doorbell by its ``descriptors``."""
        if descriptors is not None:
            self.descriptors = tuple(descriptors)
        elif hasattr(os, "eventfd"):
            self.descriptors = (os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK),)
        else:  # pragma: no cover - other systems
            self.descriptors = os.pipe()
            for descriptor in self.descriptors:
                os.set_blocking(descriptor, False)
        self.wait_descriptor = self.descriptors[0]

    def notify(self) -> None:
        """Wake the process; no effect after closing."""
        if len(self.descriptors) == 1:
            os.eventfd_write(self.descriptors[0], 1)
        elif self.descriptors:  # pragma: no cover - other systems
            os.write(self.descriptors[1], b"\0")

    def clear(self) -> int:
        """Return the number of notifications since the last call."""
        try:
            if len(self.descriptors) == 1:
                return os.eventfd_read(self.descriptors[0])
            return len(os.read(self.descriptors[0], 4096))  # pragma: no cover - other systems
        except BlockingIOError:
            return 0

    def wait(self) -> None:
        """Sleep until notified. Only one process may wait for a doorbell, here or in a ``poll``."""
        os.set_blocking(self.wait_descriptor, True)
        if len(self.descriptors) == 1:
            os.eventfd_read(self.wait_descriptor)
        else:  # pragma: no cover - other systems
            os.read(self.wait_descriptor, 4096)

    def close(self) -> None:
        """Close the descriptors."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = ()


def wait_for(poll: select.poll, seconds: float) -> list[tuple[int, int]]:
    """Wait at most ``seconds`` for readable descriptors and return them."""
    return poll.poll(max(0, int(seconds * 1000)))

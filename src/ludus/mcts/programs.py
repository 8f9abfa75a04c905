"""Batches of one thread as programs: one for each of a few sizes, to which batches are padded."""

from __future__ import annotations

from collections.abc import Mapping

from ludus.flow.slab import Array
from ludus.policies.accelerator import Compute, Executor, Program, Stream

SMALLEST = 16  # rows; smaller batches take a card as long


def padded_rows(count: int, rows: int) -> int:
    """Return the size of the program that evaluates ``count`` of ``rows`` rows.

    Sizes are halves of ``rows``, so at most half of a batch of more than ``SMALLEST`` rows is padding, and a
    thread captures few graphs.
    """
    size = rows
    while size // 2 >= max(count, SMALLEST):
        size //= 2
    return size


class BatchPrograms:
    """Programs of one function over batches of several sizes, on one stream. One thread at a time."""

    def __init__(self, executor: Executor, compute: Compute) -> None:
        """Prepare nothing yet: a size gets its program at its first batch."""
        self._executor, self._compute = executor, compute
        self._stream: Stream | None = None
        self._programs: dict[int, Program] = {}

    def __call__(self, rows: int, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """Run the function over arrays of ``rows`` rows. The next call may overwrite the outputs."""
        program = self._programs.get(rows)
        if program is None:
            self._stream = self._stream or self._executor.stream()
            program = self._executor.program(self._compute, arrays, self._stream)
            self._programs[rows] = program
        return program(arrays)

    def sibling(self) -> BatchPrograms:
        """Return programs of the same function for another thread."""
        return BatchPrograms(self._executor, self._compute)

    def same_function(self, other: BatchPrograms) -> bool:
        """Return whether ``other`` runs the same function."""
        return self._compute == other._compute

"""Programs: functions over named arrays of fixed shape, and what runs them.

A compute function reads its inputs and tensors that it closes over, writes tensors in place, and returns
outputs. Whatever changes between two calls is an input or a tensor: a Python number becomes part of the
graph. No shape may depend on data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import numpy.typing as npt
from torch import Tensor

from ludus.flow.slab import Array

Compute = Callable[[Mapping[str, Tensor]], Mapping[str, Tensor]]
Report = Callable[[str], None]


class DeviceEvent(Protocol):
    """Point in the work of a :class:`Stream`."""

    def synchronize(self) -> None:
        """Wait until the work before it is done. Other Python threads run meanwhile."""


class Stream(Protocol):
    """Queue of work of one device. One thread at a time uses it."""

    def record(self) -> DeviceEvent:
        """Return an event after the work so far."""
        ...

    def wait(self, event: DeviceEvent) -> None:
        """Let work from here on start after ``event``, of this or another stream."""

    def synchronize(self) -> None:
        """Wait for all work so far."""


class Program(Protocol):
    """A compute function with its inputs and outputs. One thread at a time uses it."""

    def send(self, arrays: Mapping[str, Array], rows: int | None = None) -> None:
        """Copy ``arrays`` and start the computation.

        Args:
            arrays: Arrays in the shapes and dtypes of the examples.
            rows: Number of rows of every array, at most its example's: the array becomes the first
                rows of the input, whose other rows keep what they hold. None: all rows.
        """

    def read(self) -> dict[str, Array]:
        """Wait for the outputs of the last :meth:`send`. The next one may overwrite them."""
        ...

    def __call__(self, arrays: Mapping[str, Array], rows: int | None = None) -> dict[str, Array]:
        """Send and read."""
        ...


class Executor(Protocol):
    """Maker of the programs of one device."""

    @property
    def static(self) -> bool:
        """Whether no shape may depend on data, so that networks use their static forms."""
        ...

    def allocate(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """Return zeroed host memory that the device reads without a copy in between."""
        ...

    def stream(self) -> Stream:
        """Return a new stream."""
        ...

    def on(self, stream: Stream) -> AbstractContextManager[object]:
        """Return a context whose operations are work of ``stream``.

        They come after the thread's operations before it, and before those after it.
        """
        ...

    def upload(self, target: Tensor, array: Array, stream: Stream) -> None:
        """Copy ``array`` to ``target``, a tensor of the device, as work of ``stream``.

        The array must not change before that work is done.
        """

    def wait(self) -> None:
        """Wait for this thread's operations outside of streams."""

    def program(
        self,
        compute: Compute,
        examples: Mapping[str, Array],
        stream: Stream | None = None,
        state: Sequence[Tensor] = (),
    ) -> Program:
        """Return a program.

        Args:
            compute: Function of tensors by the names of ``examples``.
            examples: Arrays whose shapes and dtypes all inputs have.
            stream: Stream that it runs on; None: a new one.
            state: Tensors that ``compute`` changes. Calls that only prepare a graph leave them as they were.
        """
        ...

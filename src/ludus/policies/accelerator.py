"""Programs: functions over named arrays of fixed shape, run on the processor or replayed on a card.

A small network is bound on a card by the launches that Python asks for, about 11 us each; a node of a
replayed graph costs 1 us. So acting, evaluation of a slab, a minibatch and a search batch are each one
:class:`Program`: inputs go up in one copy, the computation is one graph, and outputs come down in one copy.

A compute function reads its inputs and tensors that it closes over, writes tensors in place, and returns
outputs. Whatever changes between two calls is an input or a tensor: a Python number becomes part of the
graph. No shape may depend on data.

This is the only module that asks for the type of a device.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ludus.flow.slab import Array

ALIGNMENT = 64  # bytes; arrays in one buffer start at multiples of it
_WARM = 3  # calls before a capture: libraries choose their kernels and reserve memory in the first ones

Compute = Callable[[Mapping[str, Tensor]], Mapping[str, Tensor]]
Report = Callable[[str], None]


class Event(Protocol):
    """Point in the work of a :class:`Stream`."""

    def synchronize(self) -> None:
        """Wait until the work before it is done. Other Python threads run meanwhile."""


class Stream(Protocol):
    """Queue of work of one device. One thread at a time uses it."""

    def record(self) -> Event:
        """Return an event after the work so far."""
        ...

    def wait(self, event: Event) -> None:
        """Let work from here on start after ``event``, of this or another stream."""

    def synchronize(self) -> None:
        """Wait for all work so far."""


class Program(Protocol):
    """A compute function with its inputs and outputs. One thread at a time uses it."""

    def send(self, arrays: Mapping[str, Array]) -> None:
        """Copy ``arrays``, in the shapes and dtypes of the examples, and start the computation."""

    def read(self) -> dict[str, Array]:
        """Wait for the outputs of the last :meth:`send`. The next one may overwrite them."""
        ...

    def __call__(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
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


# ---- the processor ------------------------------------------------------------------------------------


class _NoEvent:
    def synchronize(self) -> None:
        """Return: the work is done."""


class _NoStream:
    def record(self) -> Event:
        return _NoEvent()

    def wait(self, event: Event) -> None:
        """Return: the work is done."""

    def synchronize(self) -> None:
        """Return: the work is done."""


class _PlainProgram:
    """Runs when it is sent. Outputs share the tensors' memory."""

    def __init__(self, compute: Compute) -> None:
        self._compute = compute
        self._outputs: dict[str, Array] = {}

    def send(self, arrays: Mapping[str, Array]) -> None:
        outputs = self._compute({name: torch.from_numpy(array) for name, array in arrays.items()})
        self._outputs = {name: tensor.detach().numpy() for name, tensor in outputs.items()}

    def read(self) -> dict[str, Array]:
        return self._outputs

    def __call__(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        self.send(arrays)
        return self.read()


class Plain:
    """Executor of the processor: calls the function."""

    def __init__(self, static: bool = False) -> None:
        """Compute compact forms, whose shapes depend on data; with ``static`` the static ones."""
        self.static = static

    def allocate(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """See :meth:`Executor.allocate`."""
        array: Array = np.zeros(shape, dtype)
        return array

    def stream(self) -> Stream:
        """See :meth:`Executor.stream`."""
        return _NoStream()

    def program(
        self,
        compute: Compute,
        examples: Mapping[str, Array],
        stream: Stream | None = None,
        state: Sequence[Tensor] = (),
    ) -> Program:
        """See :meth:`Executor.program`."""
        return _PlainProgram(compute)


# ---- buffers that hold several arrays -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Part:
    """Place of one array in a buffer of bytes."""

    name: str
    at: int
    size: int  # bytes
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def _parts_of(arrays: Mapping[str, Array]) -> tuple[list[_Part], int]:
    """Return the places of arrays in one buffer, and its size in bytes."""
    parts: list[_Part] = []
    at = 0
    for name, array in arrays.items():
        parts.append(_Part(name, at, array.nbytes, array.shape, array.dtype))
        at += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
    return parts, max(at, ALIGNMENT)


def _tensor_views(buffer: Tensor, parts: Sequence[_Part]) -> dict[str, Tensor]:
    views = {}
    for part in parts:
        dtype = torch.from_numpy(np.empty(0, part.dtype)).dtype
        views[part.name] = buffer[part.at : part.at + part.size].view(dtype).view(part.shape)
    return views


def _array_views(buffer: Tensor, parts: Sequence[_Part]) -> dict[str, Array]:
    raw = buffer.numpy()
    return {p.name: raw[p.at : p.at + p.size].view(p.dtype).reshape(p.shape) for p in parts}


# ---- cards ------------------------------------------------------------------------------------------


class DeviceProgram:
    """Program of a device: one buffer up, the computation, one buffer down.

    An executor with graphs replays all three; others call them one after another.
    """

    def __init__(
        self,
        executor: Device,
        compute: Compute,
        examples: Mapping[str, Array],
        stream: Stream,
        state: Sequence[Tensor],
    ) -> None:
        """Allocate the inputs; see :meth:`Executor.program`. Outputs are allocated at the first call."""
        self._executor, self._compute, self._stream, self._state = executor, compute, stream, state
        parts, size = _parts_of(examples)
        self._host_in = executor.host_buffer(size)
        self._device_in = torch.zeros(size, dtype=torch.uint8, device=executor.device)
        self._arrays = _array_views(self._host_in, parts)
        self._inputs = _tensor_views(self._device_in, parts)
        self._host_out: Tensor | None = None
        self._device_out: Tensor | None = None
        self._outputs: dict[str, Tensor] = {}
        self._read: dict[str, Array] = {}
        self._replay: Callable[[], None] | None = None
        self._done: Event | None = None

    def send(self, arrays: Mapping[str, Array]) -> None:
        """See :meth:`Program.send`."""
        if self._done is not None:
            self._done.synchronize()  # the last call may still read the buffer
        if arrays.keys() != self._arrays.keys():
            raise ValueError(f"program: arrays {sorted(arrays)}, expected {sorted(self._arrays)}")
        for name, array in arrays.items():
            place = self._arrays[name]
            if array.shape != place.shape or array.dtype != place.dtype:
                raise ValueError(
                    f"program: {name} is {array.dtype}{list(array.shape)}, "
                    f"expected {place.dtype}{list(place.shape)}"
                )
            place[...] = array
        if self._replay is None:
            self._replay = self._executor.prepare(self._run, self._stream, self._state)
        self._executor.submit(self._replay, self._stream)
        self._done = self._stream.record()

    def read(self) -> dict[str, Array]:
        """See :meth:`Program.read`."""
        assert self._done is not None, "nothing was sent"
        self._done.synchronize()
        return self._read

    def __call__(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """See :meth:`Program.__call__`."""
        self.send(arrays)
        return self.read()

    def _run(self) -> None:
        """Upload, compute, download: the body of the graph."""
        self._device_in.copy_(self._host_in, non_blocking=True)
        outputs = self._compute(self._inputs)
        with torch.no_grad():
            if self._device_out is None:
                self._allocate(outputs)
            for name, tensor in outputs.items():
                self._outputs[name].copy_(tensor)
            if outputs:
                assert self._host_out is not None
                assert self._device_out is not None
                self._host_out.copy_(self._device_out, non_blocking=True)

    def _allocate(self, outputs: Mapping[str, Tensor]) -> None:
        shapes = {
            name: np.empty(tuple(t.shape), torch.empty(0, dtype=t.dtype).numpy().dtype)
            for name, t in outputs.items()
        }
        parts, size = _parts_of(shapes)
        self._host_out = self._executor.host_buffer(size)
        self._device_out = torch.zeros(size, dtype=torch.uint8, device=self._executor.device)
        self._outputs = _tensor_views(self._device_out, parts)
        self._read = _array_views(self._host_out, parts)


class Device:
    """Executor of a device without graphs: one copy up, the function, one copy down."""

    static = True

    def __init__(self, device: torch.device) -> None:
        """Run on ``device``."""
        self.device = device

    def allocate(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """See :meth:`Executor.allocate`."""
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        array: Array = self.host_buffer(max(size, 1)).numpy()[:size].view(dtype).reshape(shape)
        return array

    def host_buffer(self, size: int) -> Tensor:
        """Return ``size`` zeroed bytes of host memory."""
        return torch.zeros(size, dtype=torch.uint8, device="cpu")

    def stream(self) -> Stream:
        """See :meth:`Executor.stream`."""
        return _NoStream()

    def program(
        self,
        compute: Compute,
        examples: Mapping[str, Array],
        stream: Stream | None = None,
        state: Sequence[Tensor] = (),
    ) -> Program:
        """See :meth:`Executor.program`."""
        return DeviceProgram(self, compute, examples, stream or self.stream(), state)

    def prepare(self, run: Callable[[], None], stream: Stream, state: Sequence[Tensor]) -> Callable[[], None]:
        """Return what replays ``run``; calls of ``run`` meanwhile leave ``state`` as it was."""
        return run

    def submit(self, replay: Callable[[], None], stream: Stream) -> None:
        """Add a replay to the work of ``stream``."""
        replay()


class CudaStream:
    """Stream of a card."""

    def __init__(self, device: torch.device) -> None:
        """Make a stream beside the default one, on which nothing of a program runs."""
        self.stream = torch.cuda.Stream(device)

    def record(self) -> Event:
        """See :meth:`Stream.record`."""
        event = torch.cuda.Event()
        event.record(self.stream)
        return event

    def wait(self, event: Event) -> None:
        """See :meth:`Stream.wait`."""
        assert isinstance(event, torch.cuda.Event)
        self.stream.wait_event(event)

    def synchronize(self) -> None:
        """See :meth:`Stream.synchronize`."""
        self.stream.synchronize()


_capturing = threading.RLock()  # one capture at a time in a process


class Cuda(Device):
    """Executor of an NVIDIA GPU: programs are captured as CUDA graphs and replayed.

    A program that cannot be captured runs as it is, and ``report`` gets one line that names the operation.
    """

    def __init__(self, device: torch.device, report: Report | None = None) -> None:
        """Run on ``device``."""
        super().__init__(device)
        self.report = report

    def host_buffer(self, size: int) -> Tensor:
        """Return ``size`` zeroed bytes of pinned memory."""
        return torch.zeros(size, dtype=torch.uint8, pin_memory=True)

    def stream(self) -> Stream:
        """See :meth:`Executor.stream`."""
        return CudaStream(self.device)

    def prepare(self, run: Callable[[], None], stream: Stream, state: Sequence[Tensor]) -> Callable[[], None]:
        """Capture ``run``; see :meth:`Device.prepare`."""
        assert isinstance(stream, CudaStream)
        with _capturing:
            torch.cuda.synchronize(self.device)
            kept = [tensor.detach().clone() for tensor in state]
            with torch.cuda.stream(stream.stream):
                for _ in range(_WARM):
                    run()
            torch.cuda.synchronize(self.device)
            replay = self._captured(run, stream)
            with torch.no_grad():
                for tensor, value in zip(state, kept, strict=True):
                    tensor.copy_(value)
            torch.cuda.synchronize(self.device)
        return replay

    def _captured(self, run: Callable[[], None], stream: CudaStream) -> Callable[[], None]:
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, stream=stream.stream, capture_error_mode="thread_local"):
                run()
        except RuntimeError as error:
            torch.cuda.synchronize(self.device)
            if self.report is not None:
                first = str(error).strip().splitlines()[0]
                self.report(f"a program runs without a CUDA graph: {first}")
            return run
        return graph.replay

    def submit(self, replay: Callable[[], None], stream: Stream) -> None:
        """See :meth:`Device.submit`."""
        assert isinstance(stream, CudaStream)
        with torch.cuda.stream(stream.stream):
            replay()


_executors: dict[torch.device, Executor] = {}


def executor_of(device: torch.device) -> Executor:
    """Return the executor of a device, one for the process."""
    executor = _executors.get(device)
    if executor is None:
        if device.type == "cpu":
            executor = Plain()
        elif device.type == "cuda":
            executor = Cuda(device)
        else:
            executor = Device(device)
        executor = _executors.setdefault(device, executor)
    return executor


def uses_bfloat16(device: torch.device) -> bool:
    """Return whether the code that calls this runs encoders of ``device`` in bfloat16."""
    return torch.is_autocast_enabled(device.type)

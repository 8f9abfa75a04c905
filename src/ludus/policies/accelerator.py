"""Executors: programs called on the processor, or captured as graphs and replayed on a card.

A small network is bound on a card by the launches that Python asks for, about 11 us each; a node of a
replayed graph costs 1 us. So acting, evaluation of a slab, a minibatch and a search batch are each one
:class:`Program`: inputs go up in one copy, the computation is one graph, and outputs come down in one copy.

This is the only module that asks for the type of a device.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ludus.flow.override import override
from ludus.flow.slab import Array
from ludus.policies.actions.packing import ALIGNMENT as ALIGNMENT
from ludus.policies.actions.packing import Packing
from ludus.policies.programs import Compute as Compute
from ludus.policies.programs import DeviceEvent as DeviceEvent
from ludus.policies.programs import Executor as Executor
from ludus.policies.programs import Program as Program
from ludus.policies.programs import Report as Report
from ludus.policies.programs import Stream as Stream

_WARM = 3  # calls before a capture: libraries choose their kernels and reserve memory in the first ones


def _fill(inputs: Mapping[str, Array], arrays: Mapping[str, Array], rows: int | None) -> None:
    """Copy ``arrays`` into ``inputs``, see :meth:`Program.send`. Raises ``ValueError`` if they do not fit."""
    if arrays.keys() != inputs.keys():
        raise ValueError(f"program: arrays {sorted(arrays)}, expected {sorted(inputs)}")
    for name, array in arrays.items():
        place = inputs[name] if rows is None else inputs[name][:rows]
        if array.shape != place.shape or array.dtype != place.dtype:
            raise ValueError(
                f"program: {name} is {array.dtype}{list(array.shape)}, "
                f"expected {place.dtype}{list(place.shape)}"
            )
        place[...] = array


# ---- the processor ------------------------------------------------------------------------------------


class _NoEvent:
    def synchronize(self) -> None:
        """Return: the work is done."""


class _NoStream:
    def record(self) -> DeviceEvent:
        return _NoEvent()

    def wait(self, event: DeviceEvent) -> None:
        """Return: the work is done."""

    def synchronize(self) -> None:
        """Return: the work is done."""


class _PlainProgram:
    """Runs when it is sent. Outputs share the tensors' memory."""

    def __init__(self, compute: Compute, examples: Mapping[str, Array]) -> None:
        self._compute, self._examples = compute, examples
        self._padded: dict[str, Array] = {}
        self._outputs: dict[str, Array] = {}

    def send(self, arrays: Mapping[str, Array], rows: int | None = None) -> None:
        if rows is not None:
            if not self._padded:
                self._padded = {name: np.zeros_like(array) for name, array in self._examples.items()}
            _fill(self._padded, arrays, rows)
            arrays = self._padded
        outputs = self._compute({name: torch.from_numpy(array) for name, array in arrays.items()})
        self._outputs = {name: tensor.detach().numpy() for name, tensor in outputs.items()}

    def read(self) -> dict[str, Array]:
        return self._outputs

    def __call__(self, arrays: Mapping[str, Array], rows: int | None = None) -> dict[str, Array]:
        self.send(arrays, rows)
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

    def on(self, stream: Stream) -> AbstractContextManager[object]:
        """See :meth:`Executor.on`."""
        return nullcontext()

    @torch.no_grad()
    def upload(self, target: Tensor, array: Array, stream: Stream) -> None:
        """See :meth:`Executor.upload`."""
        target.copy_(torch.from_numpy(array))

    def wait(self) -> None:
        """See :meth:`Executor.wait`."""

    def program(
        self,
        compute: Compute,
        examples: Mapping[str, Array],
        stream: Stream | None = None,
        state: Sequence[Tensor] = (),
    ) -> Program:
        """See :meth:`Executor.program`."""
        return _PlainProgram(compute, examples)


# ---- cards ------------------------------------------------------------------------------------------


class DeviceProgram:
    """Program of a device: one buffer up, the computation, one buffer down.

    An executor with graphs replays all three; one without calls them one after another.
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
        packing = Packing(examples)
        self._host_in = executor.host_buffer(packing.size)
        self._device_in = torch.zeros(packing.size, dtype=torch.uint8, device=executor.device)
        self._arrays = packing.arrays(self._host_in.numpy())
        self._inputs = packing.tensors(self._device_in)
        self._host_out: Tensor | None = None
        self._device_out: Tensor | None = None
        self._outputs: dict[str, Tensor] = {}
        self._read: dict[str, Array] = {}
        self._replay: Callable[[], None] | None = None
        self._done: DeviceEvent | None = None  # after the last call; None: it is over

    def send(self, arrays: Mapping[str, Array], rows: int | None = None) -> None:
        """See :meth:`Program.send`. Without inputs it never waits for the call before."""
        if self._arrays:
            self._wait()  # the last call may still read the buffer
        _fill(self._arrays, arrays, rows)
        if self._replay is None:
            self._replay = self._executor.prepare(self._run, self._stream, self._state)
        self._executor.submit(self._replay, self._stream)
        if self._arrays or self._outputs:
            self._done = self._stream.record()

    def read(self) -> dict[str, Array]:
        """See :meth:`Program.read`."""
        if self._outputs:
            self._wait()
        return self._read

    def __call__(self, arrays: Mapping[str, Array], rows: int | None = None) -> dict[str, Array]:
        """See :meth:`Program.__call__`."""
        self.send(arrays, rows)
        return self.read()

    def _wait(self) -> None:
        """Wait for the last call, unless that was done before."""
        if self._done is not None:
            self._done.synchronize()
            self._done = None

    def _run(self) -> None:
        """Upload, compute, download: the body of the graph."""
        if self._arrays:
            self._device_in.copy_(self._host_in, non_blocking=True)
        outputs = self._compute(self._inputs)
        with torch.no_grad():
            if outputs and self._device_out is None:
                self._allocate(outputs)
            for name, tensor in outputs.items():
                self._outputs[name].copy_(tensor)
            if outputs:
                assert self._host_out is not None
                assert self._device_out is not None
                self._host_out.copy_(self._device_out, non_blocking=True)

    def _allocate(self, outputs: Mapping[str, Tensor]) -> None:
        examples: dict[str, Array] = {
            name: np.empty(tuple(t.shape), torch.empty(0, dtype=t.dtype, device="cpu").numpy().dtype)
            for name, t in outputs.items()
        }
        packing = Packing(examples)
        self._host_out = self._executor.host_buffer(packing.size)
        self._device_out = torch.zeros(packing.size, dtype=torch.uint8, device=self._executor.device)
        self._outputs = packing.tensors(self._device_out)
        self._read = packing.arrays(self._host_out.numpy())


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

    def on(self, stream: Stream) -> AbstractContextManager[object]:
        """See :meth:`Executor.on`."""
        return nullcontext()

    @torch.no_grad()
    def upload(self, target: Tensor, array: Array, stream: Stream) -> None:
        """See :meth:`Executor.upload`."""
        target.copy_(torch.from_numpy(array), non_blocking=True)

    def wait(self) -> None:
        """See :meth:`Executor.wait`."""

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
        self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def record(self) -> DeviceEvent:
        """See :meth:`Stream.record`."""
        event = torch.cuda.Event()  # type: ignore[no-untyped-call]
        event.record(self.stream)
        return event

    def wait(self, event: DeviceEvent) -> None:
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

    @override
    def stream(self) -> Stream:
        return CudaStream(self.device)

    @contextmanager
    @override
    def on(self, stream: Stream) -> Iterator[None]:
        inner = cast(CudaStream, stream).stream
        outer = torch.cuda.current_stream(self.device)
        inner.wait_stream(outer)
        with torch.cuda.stream(inner):
            yield
        outer.wait_stream(inner)

    @torch.no_grad()
    @override
    def upload(self, target: Tensor, array: Array, stream: Stream) -> None:
        with torch.cuda.stream(cast(CudaStream, stream).stream):
            target.copy_(torch.from_numpy(array), non_blocking=True)

    @override
    def wait(self) -> None:
        torch.cuda.current_stream(self.device).synchronize()

    def prepare(self, run: Callable[[], None], stream: Stream, state: Sequence[Tensor]) -> Callable[[], None]:
        """Capture ``run``; see :meth:`Device.prepare`."""
        assert isinstance(stream, CudaStream)
        with _capturing:
            torch.cuda.synchronize(self.device)
            kept = [tensor.detach().clone() for tensor in state]
            torch.cuda.synchronize(self.device)
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

    @override
    def submit(self, replay: Callable[[], None], stream: Stream) -> None:
        assert isinstance(stream, CudaStream)
        with torch.cuda.stream(stream.stream):
            replay()


_executors: dict[torch.device, Executor] = {}


def kind_of(device: torch.device) -> str:
    """Return the kind of a device, as torch names it: ``cpu``, ``cuda``."""
    return device.type


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def executor_of(device: torch.device) -> Executor:
    """Return the executor of a device, one for the process."""
    executor = _executors.get(device)
    if executor is None:
        kind = kind_of(device)
        if kind == "cpu":
            executor = Plain()
        elif kind == "cuda":
            executor = Cuda(device, _to_stderr)
        else:
            executor = Device(device)
        executor = _executors.setdefault(device, executor)
    return executor


def uses_bfloat16(device: torch.device) -> bool:
    """Return whether the code that calls this runs encoders of ``device`` in bfloat16."""
    return torch.is_autocast_enabled(device.type)

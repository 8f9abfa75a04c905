"""A CUDA graph's stand-in on the processor, and streams that work late.

:class:`Taped` runs a program's function once, records the operations, and replays them on the same memory
without the Python around them. So a Python number or a shape that changes between calls shows as a wrong
result, and whatever needs the host raises :class:`NeedsHost`. With a seed, streams run late: their work waits
until someone waits for it, and then runs in a random order that events allow.
"""

# torch's dispatcher gives arguments of any type.
# ruff: noqa: ANN401
# mypy: disable-error-code="no-untyped-call, override"

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from ludus.flow.slab import Array
from ludus.policies.accelerator import Device, DeviceEvent, Stream

#: Operations whose result or shape the host needs, and constants that Python makes.
NEEDS_HOST = {
    "_local_scalar_dense",
    "_unique2",
    "bincount",
    "equal",
    "lift_fresh",
    "masked_select",
    "nonzero",
    "repeat_interleave",
    "unique_dim",
}
_NOTHING_TO_REPLAY = {
    "alias",
    "detach",
    "empty",
    "empty_like",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
}


class NeedsHost(RuntimeError):
    """An operation cannot be part of a graph."""


class Tape(TorchDispatchMode):
    """Recorder of operations."""

    def __init__(self) -> None:
        """Record nothing yet."""
        super().__init__()
        self.operations: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run and record one operation."""
        name = func.overloadpacket.__name__
        masked = name in ("index", "index_put", "index_put_") and any(
            isinstance(t, Tensor) and t.dtype in (torch.bool, torch.uint8) for t in args[1]
        )
        if name in NEEDS_HOST or masked:
            raise NeedsHost(f"{func} needs the host")
        out = func(*args, **(kwargs or {}))
        if not func.is_view and name not in _NOTHING_TO_REPLAY:
            self.operations.append((func, args, kwargs or {}, out))
        return out

    @torch.no_grad()
    def replay(self) -> None:
        """Run the operations again on the same memory."""
        for func, args, kwargs, out in self.operations:
            again = func(*args, **kwargs)
            if func._schema.is_mutable:
                continue
            for old, new in zip(tree_flatten(out)[0], tree_flatten(again)[0], strict=True):
                if isinstance(old, Tensor) and old.data_ptr() != new.data_ptr():
                    old.copy_(new)


class LateEvent:
    """Point in the work of a :class:`LateStream`."""

    def __init__(self, streams: LateStreams) -> None:
        """Not reached yet."""
        self.reached = False
        self._streams = streams

    def synchronize(self) -> None:
        """See :meth:`ludus.policies.programs.DeviceEvent.synchronize`."""
        self._streams.run_until(lambda: self.reached)


class LateStream:
    """Queue whose work runs when someone waits."""

    def __init__(self, streams: LateStreams) -> None:
        """Start empty."""
        self._streams = streams
        self.work: deque[Callable[[], bool]] = deque()  # each returns whether it could run

    def submit(self, work: Callable[[], None]) -> None:
        """Add work."""

        def run() -> bool:
            work()
            return True

        self.work.append(run)

    def record(self) -> DeviceEvent:
        """See :meth:`ludus.policies.accelerator.Stream.record`."""
        event = LateEvent(self._streams)
        self.submit(lambda: setattr(event, "reached", True))
        return event

    def wait(self, event: DeviceEvent) -> None:
        """See :meth:`ludus.policies.accelerator.Stream.wait`."""
        assert isinstance(event, LateEvent)
        self.work.append(lambda: event.reached)

    def synchronize(self) -> None:
        """See :meth:`ludus.policies.accelerator.Stream.synchronize`."""
        self._streams.run_until(lambda: not self.work)


class LateStreams:
    """All streams of one executor."""

    def __init__(self, seed: int) -> None:
        """Draw the order of work by ``seed``."""
        self._random = random.Random(seed)
        self.streams: list[LateStream] = []

    def run_until(self, done: Callable[[], bool]) -> None:
        """Run work of random streams until ``done()``. Raises ``RuntimeError`` if all streams wait."""
        while not done():
            busy = [s for s in self.streams if s.work]
            self._random.shuffle(busy)
            for stream in busy:
                if stream.work[0]():
                    stream.work.popleft()
                    break
            else:
                raise RuntimeError("every stream waits for an event that no stream will reach")


class Taped(Device):
    """Executor that tapes on the processor; with a ``seed`` its streams work late."""

    def __init__(self, seed: int | None = None) -> None:
        """Make an executor of the processor."""
        super().__init__(torch.device("cpu"))
        self._late = None if seed is None else LateStreams(seed)

    def stream(self) -> Stream:
        """See :meth:`ludus.policies.accelerator.Executor.stream`."""
        if self._late is None:
            return super().stream()
        stream = LateStream(self._late)
        self._late.streams.append(stream)
        return stream

    def on(self, stream: Stream) -> AbstractContextManager[object]:
        """See :meth:`ludus.policies.accelerator.Executor.on`: what runs at once comes after earlier work."""
        stream.synchronize()
        return nullcontext()

    def upload(self, target: Tensor, array: Array, stream: Stream) -> None:
        """See :meth:`ludus.policies.accelerator.Executor.upload`: the array is read late."""
        if isinstance(stream, LateStream):
            stream.submit(lambda: super(Taped, self).upload(target, array, stream))
        else:
            super().upload(target, array, stream)

    def prepare(self, run: Callable[[], None], stream: Stream, state: Sequence[Tensor]) -> Callable[[], None]:
        """Tape ``run``; see :meth:`ludus.policies.accelerator.Device.prepare`."""
        if self._late is not None:
            for other in self._late.streams:
                other.synchronize()
        kept = [tensor.detach().clone() for tensor in state]
        run()
        tape = Tape()
        with tape:
            run()
        with torch.no_grad():
            for tensor, value in zip(state, kept, strict=True):
                tensor.copy_(value)
        return tape.replay

    def submit(self, replay: Callable[[], None], stream: Stream) -> None:
        """See :meth:`ludus.policies.accelerator.Device.submit`."""
        if isinstance(stream, LateStream):
            stream.submit(replay)
        else:
            replay()


class Counting(Taped):
    """Executor that counts the programs that it prepares."""

    def __init__(self, seed: int | None = None) -> None:
        """Count from 0."""
        super().__init__(seed)
        self.prepared = 0

    def prepare(self, run: Callable[[], None], stream: Stream, state: Sequence[Tensor]) -> Callable[[], None]:
        """Tape ``run``, as :meth:`Taped.prepare`, and count it."""
        self.prepared += 1
        return super().prepare(run, stream, state)

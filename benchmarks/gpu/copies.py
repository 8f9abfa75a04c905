"""Copies between host and device in one act and one update: from pinned memory, or pageable memory.

The driver stages a copy from or to pageable memory through memory of its own, and the host waits for it.
Small ones are cheap; from ``LARGE`` bytes on there must be none. On the processor nothing is copied or
checked.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.gpu.recorded import PICTURES, Learning, first_input, load, record, record_pictures
from benchmarks.gpu.stage import Cases, Context, Outcome
from ludus.rollouts.network_actor import NetworkActor

LARGE = 64 << 10  # bytes; the driver takes less along with the command itself
PRESETS = ("minirts", "minirts-units", "pommerman-team", "minirts-dqn algorithm.learning_starts=1")
_WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")


class CopyCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Context that counts copies between host and device by direction, kind of memory and size."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts: collections.Counter[str] = collections.Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
        """Run one operation."""
        out = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name == "_to_copy":
            self._count(args[0], out)
        elif name == "copy_":
            self._count(args[1], args[0])
        return out

    def _count(self, source: Tensor, target: Tensor) -> None:
        up = target.device.type != "cpu"
        if up == (source.device.type != "cpu"):
            return
        host = source if up else target
        kind = "pinned" if torch.cuda.is_available() and host.is_pinned() else "pageable"
        size = host.numel() * host.element_size()
        direction = "up" if up else "down"
        self.counts[f"{direction}_{kind}"] += 1
        self.counts[f"{direction}_{kind}_bytes"] += size
        if kind == "pageable" and size >= LARGE:
            self.counts["large_pageable"] += 1


def cases(context: Context) -> Cases:
    """Return the cases of this stage."""
    out: dict[str, Callable[[], Outcome]] = {
        name: functools.partial(_preset, name, context) for name in PRESETS
    }
    out[PICTURES] = lambda: _pictures(context)
    return out


def _preset(name: str, context: Context) -> Outcome:
    recording = record(load(name, context))
    learner = recording.learner(context.device)
    return counted(learner, recording.slab, context)


def _pictures(context: Context) -> Outcome:
    recording = record_pictures(context)
    return counted(recording.learner(context.device), recording.slab, context)


def counted(learner: Learning, slab: Any, context: Context) -> Outcome:  # noqa: ANN401
    """Count the copies of an act and of an update, neither of them the first."""
    actor, batch = NetworkActor(learner.network, 1), first_input(slab, learner)
    numbers: dict[str, object] = {}
    large = 0
    for part, work in (("act", lambda: actor.act(batch)), ("update", lambda: learner.update(slab))):
        work()
        with CopyCounter() as counter:
            work()
        large += counter.counts["large_pageable"]
        numbers |= {f"{part}_{name}": count for name, count in counter.counts.items()}
        numbers |= {f"{part}_{name}": count for name, count in profiled(work, context).items()}
    if large:
        numbers["why"] = f"{large} copies of {LARGE} bytes or more from or to pageable memory"
    return Outcome(None if context.device == "cpu" else not large, numbers)


def profiled(work: Callable[[], object], context: Context) -> dict[str, int]:
    """Return launches, waits and copies that CUDA's own counters saw; nothing without a card."""
    if context.device != "cuda":
        return {}
    counts: collections.Counter[str] = collections.Counter()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        work()
        context.synchronise()
    for event in seen.events() or ():
        if event.device_type == DeviceType.CUDA:
            name = event.name
            counts[f"cuda {name}" if name.startswith("Memcpy") else "cuda kernels"] += 1
        elif event.name in _WAITS:
            counts["cuda waits"] += 1
    return dict(counts)

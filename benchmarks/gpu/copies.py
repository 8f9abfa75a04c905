"""Copies between host and device in one act and one update: from pinned memory, or pageable memory.

The driver stages a copy from or to pageable memory through its own memory, and the host waits for it. A
preset that runs as graphs makes at most ``PAGEABLE`` of them. Of other presets small ones are cheap; from
``LARGE`` bytes on there must be none. On the processor nothing is copied or checked.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.gpu.recorded import PICTURES, Recording, first_input, load, record, record_pictures
from benchmarks.gpu.stage import Cases, Context, Outcome
from ludus.presets.run_on_card import eager_part
from ludus.rollouts.network_actor import NetworkActor

LARGE = 64 << 10  # bytes; the driver takes less along with the command itself
PAGEABLE = {"act": 0, "update": 2}  # most copies, up and down together
PRESETS = ("minirts", "minirts-units", "pommerman-team", "minirts-dqn algorithm.learning_starts=1")
Counts = collections.Counter[str]
_WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")


class CopyCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Context that counts copies between host and device by direction, kind of memory and size."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts = Counts()

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
    return counted(record(load(name, context)), context)


def _pictures(context: Context) -> Outcome:
    return counted(record_pictures(context), context)


def counted(recording: Recording, context: Context) -> Outcome:
    """Count the copies of an act and of an update, neither of them the first."""
    learner, slab = recording.learner(context.device), recording.slab
    actor, batch = NetworkActor(learner.network, 1), first_input(slab, learner)
    parts: dict[str, Counts] = {}
    for part, work in (("act", lambda: actor.act(batch)), ("update", lambda: learner.update(slab))):
        work()
        with CopyCounter() as counter:
            work()
        parts[part] = counter.counts + profiled(work, context)
    numbers: dict[str, object] = {
        f"{part}_{name}": count for part, counts in parts.items() for name, count in counts.items()
    }
    graphs = not eager_part(recording.preset, learner.network.spec)
    # Only a card has pinned memory.
    if why := "; ".join(faults(parts, graphs and context.device == "cuda")):
        numbers["why"] = why
    return Outcome(None if context.device == "cpu" else not why, numbers)


def faults(parts: Mapping[str, Counts], graphs: bool) -> list[str]:
    """Return what is wrong with the counts of each part."""
    out = []
    large = sum(counts["large_pageable"] for counts in parts.values())
    if large:
        out.append(f"{large} copies of {LARGE} bytes or more from or to pageable memory")
    for part, counts in parts.items() if graphs else ():
        found, most = pageable(counts), PAGEABLE[part]
        if found > most:
            out.append(f"{part}: {found} copies from or to pageable memory, at most {most} expected")
    return out


def pageable(counts: Counts) -> int:
    """Return the number of copies from or to pageable memory. Only CUDA sees copies of a replayed graph."""
    seen = [n for name, n in counts.items() if name.startswith("cuda Memcpy") and "Pageable" in name]
    return max(counts["up_pageable"] + counts["down_pageable"], sum(seen))


def profiled(work: Callable[[], object], context: Context) -> Counts:
    """Return launches, waits and copies that CUDA's own counters saw; nothing without a card."""
    if context.device != "cuda":
        return Counts()
    counts = Counts()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        work()
        context.synchronise()
    for event in seen.events() or ():
        if event.device_type == DeviceType.CUDA:
            name = event.name
            counts[f"cuda {name}" if name.startswith("Memcpy") else "cuda kernels"] += 1
        elif event.name in _WAITS:
            counts["cuda waits"] += 1
    return counts

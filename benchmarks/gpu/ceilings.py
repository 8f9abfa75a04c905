"""Ceilings of the card: products of matrices, copies, the cost of a launch and of a wait."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.gpu.stage import Cases, Context, Outcome
from benchmarks.gpu.timing import median_s

LAUNCHES = 500


def cases(context: Context) -> Cases:
    """Return the cases of this stage."""
    out: dict[str, Callable[[], Outcome]] = {
        "launch": lambda: _launch(context),
        "float32": lambda: _product(context, torch.float32, "highest"),
        "tf32": lambda: _product(context, torch.float32, "high"),
        "bfloat16": lambda: _product(context, torch.bfloat16, "highest"),
        "copies": lambda: _copies(context),
    }
    if context.device == "cuda":
        out["graph"] = lambda: _graph(context)
    return out


def _seconds(context: Context) -> float:
    return min(1.0, context.left_s / 8)


def _product(context: Context, dtype: torch.dtype, precision: str) -> Outcome:
    """Multiply two square matrices."""
    n = 512 if context.small else 8192
    a, b = (torch.randn(n, n, device=context.device).to(dtype) for _ in range(2))
    torch.set_float32_matmul_precision(precision)
    try:
        took = median_s(lambda: a @ b, context, _seconds(context))
    finally:
        torch.set_float32_matmul_precision("highest")
    return Outcome(None, {"side": n, "tflop_per_s": 2 * n**3 / took / 1e12})


def _copies(context: Context) -> Outcome:
    """Copy up, down and on the device; from memory as it is, and from pinned memory."""
    size = (4 if context.small else 256) << 20
    there = torch.empty(size, dtype=torch.uint8, device=context.device)
    other = torch.empty_like(there)
    numbers: dict[str, object] = {"bytes": size}

    def measure(name: str, target: Tensor, source: Tensor) -> None:
        took = median_s(lambda: target.copy_(source, non_blocking=True), context, _seconds(context) / 2)
        numbers[f"{name}_gb_per_s"] = size / took / 1e9

    measure("on_device", other, there)
    for pinned in (False, True) if context.device == "cuda" else (False,):
        here = torch.ones(size, dtype=torch.uint8, pin_memory=pinned)
        kind = "pinned" if pinned else "pageable"
        measure(f"up_{kind}", there, here)
        measure(f"down_{kind}", here, there)
    return Outcome(None, numbers)


def _launch(context: Context) -> Outcome:
    """Time a kernel that does next to nothing: many without a wait, and each with one."""
    x = torch.zeros(16, device=context.device)

    def many() -> None:
        for _ in range(LAUNCHES):
            x.add_(1.0)

    launch = median_s(many, context, _seconds(context)) / LAUNCHES
    wait = median_s(lambda: x.add_(1.0)[0].item(), context, _seconds(context))
    return Outcome(None, {"launch_us": launch * 1e6, "launch_and_wait_us": wait * 1e6})


def _graph(context: Context) -> Outcome:
    """Time the same kernels in a CUDA graph."""
    x = torch.zeros(16, device=context.device)
    graph = torch.cuda.CUDAGraph()
    x.add_(1.0)
    context.synchronise()
    with torch.cuda.graph(graph):
        for _ in range(LAUNCHES):
            x.add_(1.0)
    took = median_s(graph.replay, context, _seconds(context))
    return Outcome(None, {"node_us": took / LAUNCHES * 1e6})

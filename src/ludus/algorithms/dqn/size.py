"""Size of the replay buffer of slabs, computed before it is allocated. Without torch."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ludus.flow.spec import GameSpec, TensorSpec

MIB = 1 << 20
Shapes = Mapping[str, tuple[tuple[int, ...], "np.dtype[np.generic]"]]


def slab_shapes(spec: GameSpec, inputs: tuple[TensorSpec, ...], steps: int, rows: int) -> Shapes:
    """Return the arrays that the buffer keeps of one slab: name -> shape and dtype.

    Args:
        spec: Spec of the game.
        inputs: Observation tensors to keep.
        steps: Time steps of a slab.
        rows: Rows of a slab.
    """
    decisions = (steps, rows)
    shapes: dict[str, tuple[tuple[int, ...], np.dtype[np.generic]]] = {
        f"obs.{t.name}": ((steps + 1, rows, *t.packed_shape), np.dtype(t.packed_dtype)) for t in inputs
    }
    shapes["mask"] = ((steps + 1, rows, spec.mask_size), np.dtype(np.uint8))
    shapes["actions"] = ((*decisions, len(spec.heads)), np.dtype(np.int32))
    for name in ("returns", "discount", "priority"):
        shapes[name] = (decisions, np.dtype(np.float32))
    shapes["successor"] = (decisions, np.dtype(np.int32))
    return shapes


def slab_bytes(shapes: Shapes) -> int:
    """Return the memory of one slab, in bytes."""
    return sum(math.prod(shape) * dtype.itemsize for shape, dtype in shapes.values())


def too_large(shapes: Shapes, slabs: int, buffer_mib: float) -> str:
    """Return why ``slabs`` do not fit into ``buffer_mib``, and how many do; empty where they fit."""
    steps, rows = shapes["returns"][0]
    each = slab_bytes(shapes)
    if slabs * each <= buffer_mib * MIB:
        return ""
    fit = int(buffer_mib * MIB // each)
    return (
        f"{slabs} slabs of {steps} steps and {rows} rows need {slabs * each / MIB:,.1f} MiB; "
        f"algorithm.buffer_mib = {buffer_mib:g} holds {fit} slabs, up to {fit * steps * rows:,} transitions"
    )

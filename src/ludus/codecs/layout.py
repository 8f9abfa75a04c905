"""The layout of a decoded tensor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Kind = Literal["planes", "rows", "vector"]


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """``shape``: ``(C, H, W)`` of planes, ``(U, F)`` of entity rows, ``(D,)`` of a vector."""

    kind: Kind
    shape: tuple[int, ...]


def by_rank(shape: tuple[int, ...]) -> TensorLayout:
    """Return the layout for a shape: three axes are planes, two are entity rows, others a flat vector."""
    if len(shape) == 3:
        return TensorLayout("planes", shape)
    if len(shape) == 2:
        return TensorLayout("rows", shape)
    return TensorLayout("vector", (math.prod(shape),))

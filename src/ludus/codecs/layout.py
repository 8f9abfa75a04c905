"""What a packed tensor becomes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Kind = Literal["planes", "rows", "vector"]


@dataclass(frozen=True, slots=True)
class Unfolded:
    """``shape``: ``(C, H, W)`` of planes, ``(U, F)`` of entity rows, ``(D,)`` of a vector."""

    kind: Kind
    shape: tuple[int, ...]


def by_rank(shape: tuple[int, ...]) -> Unfolded:
    """Three axes are planes, two are entity rows, anything else is read as a flat vector."""
    if len(shape) == 3:
        return Unfolded("planes", shape)
    if len(shape) == 2:
        return Unfolded("rows", shape)
    return Unfolded("vector", (math.prod(shape),))

"""Packing: several named arrays in one buffer of bytes, so that one copy moves them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ludus.flow.slab import Array

ALIGNMENT = 64  # bytes; arrays in one buffer start at multiples of it


def dtype_of(dtype: np.dtype[Any]) -> torch.dtype:
    """Return torch's name of a dtype."""
    return torch.from_numpy(np.empty(0, dtype)).dtype


@dataclass(frozen=True, slots=True)
class _Part:
    """Place of one array in a buffer of bytes."""

    name: str
    at: int
    size: int  # bytes
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class Packing:
    """Places of named arrays in one buffer of :attr:`size` bytes."""

    def __init__(self, examples: Mapping[str, Array]) -> None:
        """Place arrays in the shapes and dtypes of ``examples``, in their order."""
        self._parts: list[_Part] = []
        at = 0
        for name, array in examples.items():
            self._parts.append(_Part(name, at, array.nbytes, array.shape, array.dtype))
            at += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        self.size = max(at, ALIGNMENT)

    def arrays(self, buffer: npt.NDArray[np.uint8]) -> dict[str, Array]:
        """Return views of a buffer of the host."""
        return {p.name: buffer[p.at : p.at + p.size].view(p.dtype).reshape(p.shape) for p in self._parts}

    def tensors(self, buffer: Tensor) -> dict[str, Tensor]:
        """Return views of ``buffer: uint8[size]``."""
        return {
            p.name: buffer[p.at : p.at + p.size].view(dtype_of(p.dtype)).view(p.shape) for p in self._parts
        }

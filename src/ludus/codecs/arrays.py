"""Decoded observations as numpy arrays, for programs that bring their own networks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch

from ludus.codecs.forms import decoded
from ludus.codecs.identity import IDENTITY
from ludus.codecs.layout import TensorLayout
from ludus.codecs.registry import codec_of, layout_of
from ludus.flow import TensorSpec
from ludus.flow.slab import Array


class ArrayDecoder:
    """Decodes observations to the numbers that a network reads, one array a tensor."""

    def __init__(self, tensors: Sequence[TensorSpec]) -> None:
        """Find the codec of each tensor.

        Args:
            tensors: Tensors of a game's spec.

        Raises:
            ValueError: A codec is unknown or cannot read its tensor.
        """
        self._tensors = tuple(tensors)
        self._layouts: dict[str, TensorLayout] = {t.name: layout_of(t) for t in self._tensors}

    def shape(self, name: str) -> tuple[int, ...]:
        """Return ``(C, H, W)`` of planes, ``(U, F)`` of entity rows or ``(D,)`` of a vector."""
        return self._layouts[name].shape

    def bounds(self, tensor: TensorSpec) -> tuple[float, float]:
        """Return the range of the decoded numbers, infinite where only the codec determines it."""
        if codec_of(tensor) is not IDENTITY:
            return -math.inf, math.inf
        low, high = (0.0, 1.0) if tensor.dtype == "bits" else (tensor.low, tensor.high)
        if low >= high or max(abs(low), abs(high)) >= float(np.finfo(np.float32).max):
            return -math.inf, math.inf
        ends = sorted(float(np.float32(end) * np.float32(tensor.scale)) for end in (low, high))
        return ends[0], ends[1]

    def decode(self, packed: Mapping[str, Array]) -> dict[str, npt.NDArray[np.float32]]:
        """Decode ``packed[N, *packed_shape]`` to ``float32[N, *shape]`` for each tensor."""
        out: dict[str, npt.NDArray[np.float32]] = {}
        with torch.inference_mode():
            for t in self._tensors:
                rows = torch.from_numpy(np.require(packed[t.name], requirements=["C", "W"]))
                out[t.name] = decoded(t, self._layouts[t.name], rows).contiguous().numpy()
        return out

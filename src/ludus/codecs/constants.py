"""Tensors of constant numbers, on a device once and not at every call."""

from __future__ import annotations

import functools

import torch
from torch import Tensor


@functools.lru_cache(maxsize=512)
def constant(values: tuple[float, ...], device: torch.device, dtype: torch.dtype = torch.int64) -> Tensor:
    """Return ``values`` as a tensor ``[len(values)]``, which no one may write to.

    Args:
        values: The numbers, integers for an integer ``dtype``.
        device: Device of the tensor.
        dtype: Type of the tensor.
    """
    with torch.inference_mode(False):  # the first caller's mode must not bind the others
        return torch.tensor(values, dtype=dtype, device=device)

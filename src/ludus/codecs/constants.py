"""Tensors of constant numbers, on a device once and not at every call."""

from __future__ import annotations

import torch
from torch import Tensor

# Kept for the life of the process: a captured graph reads their memory and holds no reference to them.
_made: dict[tuple[tuple[float, ...], torch.device, torch.dtype], Tensor] = {}


def constant(values: tuple[float, ...], device: torch.device, dtype: torch.dtype = torch.int64) -> Tensor:
    """Return ``values`` as a tensor ``[len(values)]``, which no one may write to.

    Args:
        values: The numbers, integers for an integer ``dtype``.
        device: Device of the tensor.
        dtype: Type of the tensor.
    """
    key = (values, device, dtype)
    made = _made.get(key)
    if made is None:
        with torch.inference_mode(False):  # the first caller's mode must not bind the others
            made = torch.tensor(values, dtype=dtype, device=device)
        made = _made.setdefault(key, made)  # of two threads that made it, both take the first
    return made

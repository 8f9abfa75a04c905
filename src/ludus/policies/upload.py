"""Arrays of the host as tensors of a network's device: the one place where data go up."""

from __future__ import annotations

import torch
from torch import Tensor

from ludus.flow.slab import Array


def on_device(array: Array, device: torch.device) -> Tensor:
    """Return ``array`` on ``device``; on the processor the tensor shares its memory.

    A copy to a GPU is ordered with the work of this thread's stream, and the host does not wait for it. The
    array may be written to again at once: its memory is pageable, which CUDA has read when the call returns.
    """
    tensor = torch.from_numpy(array)
    return tensor if device.type == "cpu" else tensor.to(device, non_blocking=True)

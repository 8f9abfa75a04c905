"""Copies of arrays between the host and a device.

Large ones pass through pinned memory on CUDA: from pageable memory the driver would stage them in pieces, and
the host would wait. torch keeps pinned memory for the next copy, and does not give it away before the copy
from it is over.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ludus.flow.slab import Array
from ludus.policies.accelerator import kind_of

LARGE = 64 << 10  # bytes; the driver takes less along with the command itself


def uploaded(array: Array, device: torch.device) -> Tensor:
    """Return ``array`` on ``device``; on the processor the tensor shares its memory.

    The array may change when this returns.
    """
    tensor = torch.from_numpy(array)
    kind = kind_of(device)
    if kind == "cpu":
        return tensor
    if kind == "cuda" and array.nbytes >= LARGE:
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def downloaded(tensor: Tensor) -> npt.NDArray[np.float32]:
    """Return the numbers of a float32 tensor, for which the host waits.

    On the processor they share its memory.
    """
    if kind_of(tensor.device) == "cuda" and tensor.nbytes >= LARGE:
        host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        host.copy_(tensor, non_blocking=True)
        torch.cuda.current_stream(tensor.device).synchronize()
    else:
        host = tensor.cpu()
    numbers: npt.NDArray[np.float32] = host.numpy()
    return numbers

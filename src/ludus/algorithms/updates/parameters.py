"""Parameters of a network in one flat vector: replicas and their gradients.

A replica reads the same numbers as the network it was made from and has separate gradients, so
several threads differentiate at once; their gradients are added in a fixed order.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence
from typing import TypeVar, cast

import numpy as np
import torch
from torch import Tensor, nn

from ludus.flow.slab import Array
from ludus.policies.accelerator import ALIGNMENT, executor_of

Network = TypeVar("Network", bound=nn.Module)


class FlatParameters:
    """Parameters of a network in one vector, of which they stay views.

    On a card each starts at a multiple of :data:`ludus.policies.accelerator.ALIGNMENT` bytes: convolutions
    read 16 bytes at once there, and fail on weights that start in between. The gaps hold zeros, and so does
    every gradient there, so that optimisers and sums over ranks leave them zero. The processor has no gaps:
    the last bits of its matrix products depend on where their operands start.

    ``P``: length of the vector with its gaps.
    """

    def __init__(self, network: nn.Module, alignment: int | None = None) -> None:
        """Move the parameters of ``network`` into one vector.

        Args:
            network: Network on its device.
            alignment: Bytes at whose multiples parameters start; None: as the device needs it.
        """
        self.network = network
        self.names = [name for name, _ in network.named_parameters()]
        parameters = list(network.parameters())
        self.sizes = [p.numel() for p in parameters]
        first = parameters[0].detach()
        if alignment is None:
            alignment = ALIGNMENT if executor_of(first.device).static else first.element_size()
        step = alignment // first.element_size()
        lengths = [-(-size // step) * step for size in self.sizes]
        starts = [0, *np.cumsum(lengths)[:-1].tolist()]
        self._places = [slice(at, at + size) for at, size in zip(starts, self.sizes, strict=True)]
        zeros = first.new_zeros(step)
        #: behind each parameter, up to where the next one may start; empty without gaps
        self._gaps = [zeros[: length - size] for length, size in zip(lengths, self.sizes, strict=True)]
        if lengths == self.sizes:
            self._gaps = []
        self.vector = self._joined([p.detach().reshape(-1) for p in parameters])
        for p, part in zip(parameters, self.cut(self.vector), strict=True):
            p.data = part.view_as(p)

    def _joined(self, parts: Sequence[Tensor], out: Tensor | None = None) -> Tensor:
        """Return flat parts, one a parameter, with zeros in the gaps: ``[P]``."""
        if not self._gaps:
            return torch.cat(list(parts), out=out)
        return torch.cat([x for pair in zip(parts, self._gaps, strict=True) for x in pair], out=out)

    def cut(self, vector: Tensor) -> list[Tensor]:
        """Return views of a vector ``[P]``, one a parameter, still flat."""
        return [vector[place] for place in self._places]

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum(self.sizes)

    def matrices(self) -> Tensor:
        """Return ``float32[P]``: 1 at parameters of two or more dimensions, 0 elsewhere."""
        out = torch.zeros_like(self.vector)
        for part, parameter in zip(self.cut(out), self.network.parameters(), strict=True):
            part.fill_(float(parameter.dim() > 1))
        return out

    def marks(self, names: Collection[str]) -> Tensor:
        """Return ``bool[P]``: whether a number belongs to one of the parameters called ``names``."""
        out = torch.zeros_like(self.vector, dtype=torch.bool)
        for part, name in zip(self.cut(out), self.names, strict=True):
            part.fill_(name in names)
        return out

    def gradient(self, loss: Tensor, network: nn.Module, out: Tensor) -> None:
        """Write d loss / d parameters of ``network`` (this one or a replica) into ``out: [P]``."""
        parameters = list(network.parameters())
        grads: tuple[Tensor | None, ...] = torch.autograd.grad(loss, parameters, allow_unused=True)
        parts = [
            out.new_zeros(size) if grad is None else grad.reshape(-1)
            for grad, size in zip(grads, self.sizes, strict=True)
        ]
        self._joined(parts, out=out)

    def named(self, vector: Tensor) -> dict[str, Array]:
        """Cut a vector ``[P]`` into copies by parameter name, in the parameters' shapes."""
        shapes = [p.shape for p in self.network.parameters()]
        parts = self.cut(vector.detach().cpu())
        return {n: p.reshape(s).numpy().copy() for n, p, s in zip(self.names, parts, shapes, strict=True)}

    def fill(self, vector: Tensor, arrays: dict[str, Array], what: str) -> None:
        """Fill ``vector`` from arrays of :meth:`named`.

        Raises:
            ValueError: An array is missing or has the wrong shape; ``what`` precedes its name.
        """
        shapes = [tuple(p.shape) for p in self.network.parameters()]
        for name, part, shape in zip(self.names, self.cut(vector), shapes, strict=True):
            if name not in arrays:
                raise ValueError(f"{what}: no array {name!r}")
            array = arrays[name]
            if tuple(array.shape) != shape:
                raise ValueError(f"{what}: {name!r} has shape {tuple(array.shape)}, expected {shape}")
            part.copy_(torch.from_numpy(np.array(array)).to(part.dtype).reshape(-1))


def replica_of(network: Network) -> Network:
    """Return a module with its own graph that shares storage of parameters and buffers with ``network``."""
    memo: dict[int, object] = {}
    for parameter in network.parameters():
        memo[id(parameter)] = nn.Parameter(parameter.data)
    for buffer in network.buffers():
        memo[id(buffer)] = buffer
    return copy.deepcopy(network, memo)


def summed(gradients: Sequence[Tensor]) -> Tensor:
    """Add all into the first, in their order, so that the bits do not depend on the threads."""
    total = gradients[0]
    for gradient in gradients[1:]:
        total.add_(gradient)
    return total


def tensors_of(network: nn.Module) -> dict[str, Array]:
    """Return copies of parameters and buffers by name."""
    tensors = {n: t.detach().cpu().numpy().copy() for n, t in network.state_dict().items()}
    return cast("dict[str, Array]", tensors)


@torch.no_grad()
def load_tensors(network: nn.Module, arrays: dict[str, Array], prefix: str, where: str) -> None:
    """Set parameters and buffers from the arrays ``prefix + name``.

    Raises:
        ValueError: An array is missing or has the wrong shape; ``where`` precedes its name.
    """
    for name, tensor in network.state_dict().items():
        array = arrays.get(prefix + name)
        if array is None or tuple(array.shape) != tuple(tensor.shape):
            found = "nothing" if array is None else f"shape {tuple(array.shape)}"
            raise ValueError(f"{where}: {prefix}{name}: expected {tuple(tensor.shape)}, found {found}")
        tensor.copy_(torch.from_numpy(np.array(array)))

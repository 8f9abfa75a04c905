"""All parameters of a network in one flat vector: replicas, gradients, Adam.

A replica reads the same numbers as the network it was made from and has gradients of its own, so
several threads differentiate at once; their gradients are added in a fixed order.
"""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import Tensor, nn

from ludus.flow.slab import Array


class FlatParameters:
    """Moves the parameters of ``network`` into one vector, which they go on viewing."""

    def __init__(self, network: nn.Module) -> None:
        self.network = network
        self.names = [name for name, _ in network.named_parameters()]
        parameters = list(network.parameters())
        self.sizes = [p.numel() for p in parameters]
        self.vector = torch.cat([p.detach().reshape(-1) for p in parameters])
        for p, part in zip(parameters, self.cut(self.vector), strict=True):
            p.data = part.view_as(p)

    def cut(self, vector: Tensor) -> list[Tensor]:
        """Views of a flat vector, one a parameter, still flat."""
        ends = np.cumsum(self.sizes).tolist()
        return [vector[end - size : end] for size, end in zip(self.sizes, ends, strict=True)]

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.vector.numel()

    def gradient(self, loss: Tensor, network: nn.Module, out: Tensor) -> None:
        """Writes d loss / d parameters of ``network`` (this one or a replica) into ``out: [size]``."""
        parameters = list(network.parameters())
        grads: tuple[Tensor | None, ...] = torch.autograd.grad(loss, parameters, allow_unused=True)
        for grad, part in zip(grads, self.cut(out), strict=True):
            if grad is None:
                part.zero_()
            else:
                part.copy_(grad.reshape(-1))

    def named(self, vector: Tensor) -> dict[str, Array]:
        """A vector of ``size`` cut into copies by parameter name, in the parameters' shapes."""
        shapes = [p.shape for p in self.network.parameters()]
        parts = self.cut(vector.detach().cpu())
        return {n: p.reshape(s).numpy().copy() for n, p, s in zip(self.names, parts, shapes, strict=True)}

    def fill(self, vector: Tensor, arrays: dict[str, Array], what: str) -> None:
        """The inverse of :meth:`named`. ``ValueError`` naming a missing array or a wrong shape."""
        shapes = [tuple(p.shape) for p in self.network.parameters()]
        for name, part, shape in zip(self.names, self.cut(vector), shapes, strict=True):
            if name not in arrays:
                raise ValueError(f"{what}: no array {name!r}")
            array = arrays[name]
            if tuple(array.shape) != shape:
                raise ValueError(f"{what}: {name!r} has shape {tuple(array.shape)}, expected {shape}")
            part.copy_(torch.from_numpy(np.array(array)).to(part.dtype).reshape(-1))


def replica_of(network: nn.Module) -> nn.Module:
    """A module with its own graph that shares the storage of parameters and buffers with ``network``."""
    memo: dict[int, object] = {}
    for parameter in network.parameters():
        memo[id(parameter)] = nn.Parameter(parameter.data)
    for buffer in network.buffers():
        memo[id(buffer)] = buffer
    return copy.deepcopy(network, memo)


class Adam:
    """Adam (Kingma and Ba 2015) on one flat vector; a handful of vector operations a step."""

    def __init__(self, size: int, betas: tuple[float, float], eps: float, device: torch.device) -> None:
        self.betas, self.eps = betas, eps
        self.first = torch.zeros(size, device=device)
        self.second = torch.zeros(size, device=device)
        self.steps = 0

    def step(self, parameters: Tensor, gradient: Tensor, learning_rate: float) -> None:
        """``parameters -= learning_rate * m / (sqrt(v) + eps)`` with the bias of m and v removed."""
        self.steps += 1
        a, b = self.betas
        self.first.lerp_(gradient, 1.0 - a)
        self.second.mul_(b).addcmul_(gradient, gradient, value=1.0 - b)
        root = self.second.sqrt().div_((1.0 - b**self.steps) ** 0.5).add_(self.eps)
        parameters.addcdiv_(self.first, root, value=-learning_rate / (1.0 - a**self.steps))

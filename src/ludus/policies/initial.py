"""Initial weights of a network: orthogonal matrices (Saxe et al. 2014) and zero biases."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import torch
from torch import nn

from ludus.policies.memory import Recurrent


@torch.no_grad()
def draw_orthogonal(
    network: nn.Module,
    gains: Mapping[int, float],
    kept: Sequence[nn.Module],
    generator: torch.Generator,
    only: Collection[str] | None = None,
) -> None:
    """Draw the matrices of linear layers and convolutions, in the order of the network's modules.

    Args:
        network: Network whose weights are drawn.
        gains: Gains of layers by their ``id``; layers of memories have 1, the rest have the root of 2.
        kept: Modules that are left as they are, with all that they consist of.
        generator: Source of the draws.
        only: Names of the matrices to draw; None for all.
    """
    of_memory = [m for m in network.modules() if isinstance(m, Recurrent)]
    every = {id(layer): 1.0 for memory in of_memory for layer in (memory.read, memory.recur)} | dict(gains)
    left = {id(module) for own in kept for module in own.modules()}
    for name, module in network.named_modules():
        if isinstance(module, nn.Linear | nn.Conv2d) and id(module) not in left:
            if only is None or f"{name}.weight" in only:
                nn.init.orthogonal_(module.weight, every.get(id(module), 2.0**0.5), generator=generator)
            if module.bias is not None:
                module.bias.zero_()

"""Parts of a residual tower: convolutions with batch normalisation, and blocks of two of them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from ludus.policies.actions.own_draws import own_draws


class Convolution(nn.Module):
    """Convolution without bias and its batch normalisation."""

    def __init__(self, inputs: int, outputs: int, kernel: int) -> None:
        """Make a convolution that keeps height and width."""
        super().__init__()
        self.convolution = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)
        # momentum None: while statistics are measured they are plain means (see `measure`)
        self.norm = nn.BatchNorm2d(outputs, momentum=None)
        self.norm.track_running_stats = False

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalised output."""
        out: Tensor = self.norm(self.convolution(x))
        return out

    @own_draws
    def folded(self) -> nn.Conv2d:
        """Return one convolution with bias, equal to this one with its stored statistics."""
        old = self.convolution
        made = nn.Conv2d(
            old.in_channels, old.out_channels, old.kernel_size[0], padding=old.padding[0], bias=True
        )
        self.fold_into(made)
        return made

    @torch.no_grad()
    def fold_into(self, made: nn.Conv2d) -> None:
        """Write weight and bias of :meth:`folded` into a convolution of its form."""
        norm = self.norm
        assert norm.running_mean is not None
        assert norm.running_var is not None
        assert made.bias is not None
        scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
        made.weight.copy_(self.convolution.weight * scale.reshape(-1, 1, 1, 1))
        made.bias.copy_(norm.bias - norm.running_mean * scale)


class Block(nn.Module):
    """Two convolutions with a skip connection."""

    def __init__(self, filters: int) -> None:
        """Make two convolutions of ``filters`` channels."""
        super().__init__()
        self.first = Convolution(filters, filters, 3)
        self.second = Convolution(filters, filters, 3)

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output, after its ReLU."""
        return functional.relu(x + self.second(functional.relu(self.first(x))))

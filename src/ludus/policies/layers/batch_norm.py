"""Batch normalisation by stored statistics (Ioffe, Szegedy 2015), the same in acting and in learning.

    z = (x - mean) / sqrt(variance + eps)        y = z + bias

A learner refreshes ``mean`` and ``variance`` after an update, from what its gradient passes saw; until then
they are frozen, so that the probability ratio is 1 at lag 0. Two things differ from the paper:

- The gradient does not pass through the statistics.
- There is no scale behind the norm: the weights of the next layer are one (as in KataGo).

Shapes: ``C`` channels; inputs ``[N, C]`` or ``[N, C, H, W]``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

EPS = 1e-5
DECAY = 0.9  # factor of stored statistics per update


class BatchNorm(nn.Module):
    """Norm of one layer. Its statistics start as the identity."""

    mean: Tensor
    variance: Tensor
    weight: Tensor

    def __init__(self, size: int) -> None:
        """Make the norm of ``size`` channels."""
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(size))
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("variance", torch.ones(size))
        self.register_buffer("weight", torch.zeros((), dtype=torch.float64))  # of past updates
        #: sums of z, of its squares and their number, of each pass; None outside observing()
        self.seen: list[Tensor] | None = None
        #: ``bool[N]``, the recorded rows; None: all
        self.counted: Tensor | None = None

    def affine(self) -> tuple[Tensor, Tensor]:
        """Return scale and shift, ``[C]`` each, of ``y = x * scale + shift``."""
        scale = torch.rsqrt(self.variance + EPS)
        return scale, self.bias - self.mean * scale

    def forward(self, x: Tensor) -> Tensor:
        """Normalise ``[N, C]`` or ``[N, C, H, W]``."""
        scale, shift = self.affine()
        if x.dim() == 4:
            scale, shift = scale[:, None, None], shift[:, None, None]
        return self.observed(torch.addcmul(shift, x, scale))

    def folded(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """Return weights of a convolution that gives ``y`` where ``weight: [C, ...], bias: [C]`` give ``x``.

        Weights are fewer than outputs, so this is much cheaper. Pass the outputs to :meth:`observed`.
        """
        scale, shift = self.affine()
        return weight * scale.reshape(-1, *([1] * (weight.dim() - 1))), torch.addcmul(shift, bias, scale)

    def observed(self, y: Tensor) -> Tensor:
        """Return ``y`` itself; its moments are recorded inside :func:`observing`."""
        if self.seen is not None and y.numel():
            with torch.no_grad():
                self.seen.append(self._sums(y.detach().float()))
        return y

    def _sums(self, y: Tensor) -> Tensor:
        """Return the sums ``float64[3, C]`` of ``y: [N, C, ...]``, see ``seen``."""
        dims = (0, 2, 3) if y.dim() == 4 else (0,)
        bias = self.bias.detach()
        cells = y.numel() // (y.shape[0] * y.shape[1])
        if self.counted is not None:
            some = y * self.counted.to(y.dtype).reshape(-1, *([1] * (y.dim() - 1)))
            number = (self.counted.sum() * cells).to(y.dtype).expand_as(bias)
            total, square = some.sum(dims), (some * y).sum(dims)
            first = total - bias * number
            second = square - 2.0 * bias * total + bias.square() * number
            return torch.stack([first, second, number]).double()
        mean, square = y.mean(dims), y.square().mean(dims)
        count = y.shape[0] * cells
        first = mean - bias
        second = square - 2.0 * bias * mean + bias.square()
        number = torch.full_like(mean, float(count))
        return torch.stack([first * count, second * count, number]).double()

    @torch.no_grad()
    def absorb(self, sums: Tensor) -> None:
        """Refresh the statistics by ``float64[3, C]``, see ``seen``.

        A decaying average over updates without the bias of its start; the first call replaces everything.
        Sums over nothing change nothing. The host waits for no number.
        """
        mean_z, square_z = sums[0] / sums[2], sums[1] / sums[2]
        deviation = torch.sqrt(self.variance.double() + EPS)
        mean = self.mean.double() + deviation * mean_z
        variance = deviation.square() * (square_z - mean_z.square()).clamp(min=0.0)
        old = self.weight * DECAY
        total = old + 1.0
        known = sums[2] > 0.0
        for kept, new in ((self.mean, mean), (self.variance, variance)):
            kept.copy_(torch.where(known, (kept.double() * old + new) / total, kept.double()))
        self.weight.copy_(torch.where(known[0], total, self.weight))


def batch_norms(network: nn.Module) -> list[BatchNorm]:
    """Return the norms of a network, in the order of its modules."""
    return [module for module in network.modules() if isinstance(module, BatchNorm)]


@contextmanager
def counting(norms: Sequence[BatchNorm], rows: Tensor) -> Iterator[None]:
    """Record only ``rows: bool[N]`` of the inputs of ``norms`` meanwhile, if anything is recorded."""
    before = [norm.counted for norm in norms]
    for norm in norms:
        norm.counted = rows
    try:
        yield
    finally:
        for norm, counted in zip(norms, before, strict=True):
            norm.counted = counted


@contextmanager
def observing(norms: Sequence[BatchNorm]) -> Iterator[list[list[Tensor]]]:
    """Record the moments of the inputs of ``norms`` meanwhile: for each of them, sums ``float64[3, C]``."""
    seen: list[list[Tensor]] = [[] for _ in norms]
    for norm, sums in zip(norms, seen, strict=True):
        norm.seen = sums
    try:
        yield seen
    finally:
        for norm in norms:
            norm.seen = None


class NormSums:
    """Sums of the norms of a network over an update, added in the order of the calls."""

    def __init__(self, network: nn.Module) -> None:
        """Start without sums."""
        self.norms = batch_norms(network)
        #: ``float64[3, C]`` of each norm, always the same tensors, so that a graph adds to them
        self.totals = [
            torch.zeros((3, n.bias.numel()), dtype=torch.float64, device=n.bias.device) for n in self.norms
        ]

    def clear(self) -> None:
        """Drop all sums, before an update."""
        for total in self.totals:
            total.zero_()

    def add(self, seen: Sequence[Sequence[Tensor]]) -> None:
        """Add the sums of :func:`observing`."""
        for total, some in zip(self.totals, seen, strict=True):
            for sums in some:
                total.add_(sums)

    def meet(self, add: Callable[[Tensor], Tensor]) -> None:
        """Replace the sums of every norm by ``add`` of them, which adds other learners' sums.

        A norm without sums gives zeros ``float64[3, C]``, and has none afterwards if all gave zeros.
        """
        for total in self.totals:
            total.copy_(add(total))

    @property
    def sums(self) -> tuple[Tensor | None, ...]:
        """Sums ``float64[3, C]`` of each norm, None without any."""
        return tuple(total if float(total[2, 0]) > 0.0 else None for total in self.totals)

    @property
    def complete(self) -> bool:
        """Whether every norm has sums. The host waits once."""
        if not self.totals:
            return True
        return bool(torch.stack([total[2, 0] for total in self.totals]).min() > 0.0)

    def absorb(self) -> None:
        """Refresh the statistics of the norms that have sums."""
        for norm, total in zip(self.norms, self.totals, strict=True):
            norm.absorb(total)

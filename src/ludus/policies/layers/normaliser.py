"""Running statistics that live inside a network as buffers, hence inside its weights files.

Frozen while a network acts or is differentiated; changed only by the explicit ``absorb`` calls of a
learner, in float64 and in a fixed order, so that equal data give equal bits.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from ludus.policies.accelerator import executor_of


class ObservationNormaliser(nn.Module):
    """``(x - mean) / deviation`` of a column, clipped to ``[-limit, limit]``.

    Mean and variance of everything seen so far (Chan, Golub, LeVeque 1983: pairwise update).
    """

    mean: Tensor
    variance: Tensor
    count: Tensor

    def __init__(self, size: int, limit: float = 8.0) -> None:
        """Start with mean 0 and deviation 1 for ``size`` columns."""
        super().__init__()
        self.limit = limit
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("variance", torch.ones(size))
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise ``float32[N, D]``."""
        scaled = (x - self.mean) * torch.rsqrt(self.variance + 1e-5)
        return scaled.clamp(-self.limit, self.limit)

    @torch.no_grad()
    def absorb(self, x: Tensor) -> None:
        """Add ``float32[N, D]`` to the statistics."""
        if x.shape[0] == 0:
            return
        data = x.double()
        n = float(x.shape[0])
        mean = data.mean(dim=0)
        variance = data.var(dim=0, unbiased=False)
        old = self.count
        total = old + n
        delta = mean - self.mean.double()
        merged = self.variance.double() * old + variance * n + delta.square() * (old * n / total)
        self.mean.copy_(self.mean.double() + delta * (n / total))
        self.variance.copy_(merged / total)
        self.count.copy_(total)


class _Read(NamedTuple):
    """Moments, the tensors that they were read from, and the number of writes to each until then."""

    mean: Tensor
    mean_writes: int
    square: Tensor
    square_writes: int
    moments: tuple[float, float]

    def holds(self, mean: Tensor, square: Tensor) -> bool:
        """Return whether these are the same tensors, and no one has written to them."""
        same = mean is self.mean and square is self.square
        return same and (mean._version, square._version) == (self.mean_writes, self.square_writes)


class ValueNormaliser(nn.Module):
    """Mean and deviation of value targets (PopArt; van Hasselt et al. 2016, Hessel et al. 2019).

    The value head predicts normalised returns. ``absorb`` updates the statistics and rescales the
    head's last layer so that every denormalised prediction stays unchanged. The first call is different:
    predictions are still arbitrary, so they move to the returns' mean.
    """

    mean: Tensor
    square: Tensor
    weight: Tensor

    def __init__(self, decay: float = 0.99, floor: float = 1e-2) -> None:
        """Start with mean 0 and deviation 1.

        Args:
            decay: Factor of both moments per update of the learner.
            floor: Smallest deviation, so that constant returns are not amplified.
        """
        super().__init__()
        self.decay = decay  # of both moments, per update of the learner
        self.floor = floor  # smallest deviation, so that constant returns are not amplified
        self.register_buffer("mean", torch.zeros((), dtype=torch.float64))
        self.register_buffer("square", torch.ones((), dtype=torch.float64))
        self.register_buffer("weight", torch.zeros((), dtype=torch.float64))
        self._read: _Read | None = None
        #: whether the moments stay tensors, which a graph follows; None: the executor of the device decides
        self.static: bool | None = None

    def __getstate__(self) -> dict[str, object]:
        """Leave out what was read: a copy has separate tensors."""
        return {**self.__dict__, "_read": None}

    def moments(self) -> tuple[float, float]:
        """Return mean and standard deviation of returns.

        They are read once after each change: on a GPU the host waits for them.
        """
        read = self._read
        if read is None or not read.holds(self.mean, self.square):
            mean = float(self.mean)
            variance = max(float(self.square) - mean * mean, 0.0)
            moments = mean, max(variance**0.5, self.floor)
            read = self._read = _Read(
                self.mean, self.mean._version, self.square, self.square._version, moments
            )
        return read.moments

    def reread(self) -> None:
        """Read the moments again when next asked: a graph wrote them, which tensors do not count."""
        self._read = None

    def moment_tensors(self) -> tuple[Tensor, Tensor]:
        """Return :meth:`moments` as tensors ``float64[]``, which the host does not wait for."""
        variance = (self.square - self.mean.square()).clamp(min=0.0)
        return self.mean.clone(), variance.sqrt().clamp(min=self.floor)

    def _static(self) -> bool:
        return executor_of(self.mean.device).static if self.static is None else self.static

    def _units(self, like: Tensor) -> tuple[Tensor, Tensor] | tuple[float, float]:
        """Return mean and standard deviation for numbers on the device of ``like``."""
        if self._static() and like.device == self.mean.device:
            mean, deviation = self.moment_tensors()
            return mean.to(like.dtype), deviation.to(like.dtype)
        return self.moments()

    def denormalise(self, value: Tensor) -> Tensor:
        """Return predictions of the head in the game's own units."""
        mean, deviation = self._units(value)
        return value * deviation + mean

    def normalise(self, returns: Tensor) -> Tensor:
        """Return targets of the head for returns."""
        mean, deviation = self._units(returns)
        return (returns - mean) / deviation

    @torch.no_grad()
    def absorb(self, returns: Tensor, head: nn.Linear) -> None:
        """Add ``float32[N]`` returns and rescale ``head`` (one output) to keep its predictions."""
        if returns.numel() == 0:
            return
        if self._static():
            self._absorb_tensors(returns, head)
            return
        old_mean, old_deviation = self.moments()
        data = returns.double()
        # A decaying average without the bias of its start: weights of old and new are explicit.
        old = float(self.weight) * self.decay
        total = old + 1.0
        self.mean.mul_(old).add_(data.mean()).div_(total)
        self.square.mul_(old).add_(data.square().mean()).div_(total)
        self.weight.fill_(total)
        if old == 0.0:
            return
        self.rescale(head, old_mean, old_deviation)

    @torch.no_grad()
    def rescale(self, head: nn.Linear, old_mean: float, old_deviation: float) -> None:
        """Rescale ``head`` to keep the predictions that it made under ``old_mean`` and ``old_deviation``."""
        mean, deviation = self.moments()
        head.weight.mul_(old_deviation / deviation)
        head.bias.mul_(old_deviation).add_(old_mean - mean).div_(deviation)

    def _absorb_tensors(self, returns: Tensor, head: nn.Linear) -> None:
        """Do as :meth:`absorb`; the host waits for no number."""
        old_mean, old_deviation = self.moment_tensors()
        # means of one head are numbers, which a device takes along with the operation that reads them
        data = (returns.to(self.mean.device) if returns.dim() > 1 else returns).double()
        old = self.weight * self.decay
        total = old + 1.0
        self.mean.mul_(old).add_(data.mean(dim=0)).div_(total)
        self.square.mul_(old).add_(data.square().mean(dim=0)).div_(total)
        self.weight.copy_(total)
        mean, deviation = self.moment_tensors()
        known = old > 0.0  # predictions move to the mean of the first returns
        scale = torch.where(known, old_deviation / deviation, torch.ones_like(deviation))
        head.weight.mul_(scale.to(head.weight.dtype).reshape(-1, 1))
        bias = head.bias.double()
        head.bias.copy_(torch.where(known, (bias * old_deviation + old_mean - mean) / deviation, bias))


class HeadsNormaliser(ValueNormaliser):
    """A :class:`ValueNormaliser` for ``K`` value heads; values, returns and moments are ``[..., K]``."""

    def __init__(self, heads: int, decay: float = 0.99, floor: float = 1e-2) -> None:
        """Start with mean 0 and deviation 1 for each of ``heads``."""
        super().__init__(decay, floor)
        self.register_buffer("mean", torch.zeros(heads, dtype=torch.float64))
        self.register_buffer("square", torch.ones(heads, dtype=torch.float64))

    def moments(self) -> tuple[float, float]:
        """Raise ``TypeError``: each head has separate moments."""
        raise TypeError("several value heads have no common moments")

    def denormalise(self, value: Tensor) -> Tensor:
        """Return predictions of the heads in the game's own units."""
        mean, deviation = (x.to(value.device) for x in self.moment_tensors())
        return value * deviation.to(value.dtype) + mean.to(value.dtype)

    def normalise(self, returns: Tensor) -> Tensor:
        """Return targets of the heads for returns."""
        mean, deviation = (x.to(returns.device) for x in self.moment_tensors())
        return (returns - mean.to(returns.dtype)) / deviation.to(returns.dtype)

    @torch.no_grad()
    def absorb(self, returns: Tensor, head: nn.Linear) -> None:
        """Add ``float32[N, K]`` returns and rescale ``head`` (K outputs) to keep its predictions."""
        if returns.numel() > 0:
            self._absorb_tensors(returns, head)

"""Decisions with continuous factors: Gaussians, squashed by tanh where the number has two bounds.

The slab keeps ``u``, the number before squashing, as the bits of a float32
(:class:`ludus.flow.spec.HeadSpec`), so that nothing has to be inverted: ``a = low + (tanh(u) + 1) / 2 *
(high - low)`` has the density of ``u`` divided by a Jacobian of ``u``, which cancels in
every probability ratio and divergence. Log-probabilities here are therefore of ``u``, but entropies of
``tanh(u)`` (Haarnoja et al. 2018, appendix C).

A continuous head has two outputs among the ``A``: mean and log-deviation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ludus.codecs.constants import constant
from ludus.policies.actions.distribution import Heads
from ludus.policies.actions.own_draws import own_draws

LOG_DEVIATION = (-5.0, 2.0)  # bounds of a network's output
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
_nodes, _weights = np.polynomial.hermite_e.hermegauss(8)  # expectations under a normal distribution
_NODES: tuple[float, ...] = tuple(_nodes.tolist())
_WEIGHTS: tuple[float, ...] = tuple((_weights / _weights.sum()).tolist())


def to_bits(u: Tensor) -> Tensor:
    """Return the bits of ``float32`` as an int32, in ``int64``."""
    return u.float().contiguous().view(torch.int32).long()


def from_bits(bits: Tensor) -> Tensor:
    """Invert :func:`to_bits`."""
    return bits.to(torch.int32).contiguous().view(torch.float32)


def gaussian_log_prob(mean: Tensor, log_deviation: Tensor, u: Tensor) -> Tensor:
    """Return the log-probability of ``u``, elementwise, in nats."""
    z = (u - mean) * torch.exp(-log_deviation)
    return -0.5 * z.square() - log_deviation - _HALF_LOG_2PI


def squashed_entropy(mean: Tensor, log_deviation: Tensor, bounded: bool) -> Tensor:
    """Return the entropy of ``u``, or of ``tanh(u)``, elementwise, in nats.

    The latter is H(u) + E[log(1 - tanh(u)^2)] by Gauss-Hermite quadrature.
    """
    entropy = log_deviation + 0.5 + _HALF_LOG_2PI
    if not bounded:
        return entropy
    nodes = constant(_NODES, mean.device, mean.dtype)
    weights = constant(_WEIGHTS, mean.device, mean.dtype)
    u = mean.unsqueeze(-1) + log_deviation.exp().unsqueeze(-1) * nodes
    slope = 2.0 * (math.log(2.0) - u - functional.softplus(-2.0 * u))
    return entropy + (slope * weights).sum(dim=-1)


@dataclass(frozen=True)
class MixedHeads(Heads):
    """Heads of which some are continuous; ``log_probs`` holds their mean and log-deviation."""

    continuous: tuple[bool, ...] = ()
    bounded: tuple[bool, ...] = ()

    def _spans(self) -> list[tuple[int, slice, bool, bool]]:
        ends = np.cumsum(self.sizes).tolist()
        return [
            (k, slice(end - size, end), self.continuous[k], self.bounded[k])
            for k, (size, end) in enumerate(zip(self.sizes, ends, strict=True))
        ]

    def _one(self, span: slice) -> Heads:
        return Heads((span.stop - span.start,))

    def log_probs(self, logits: Tensor, mask: Tensor) -> Tensor:
        """Return ``float32[N, A]``, as :meth:`Heads.log_probs`; mean and log-deviation if continuous."""
        parts = []
        for _, span, continuous, _ in self._spans():
            if continuous:
                mean, log_deviation = logits[:, span].float().unbind(dim=1)
                parts.append(torch.stack([mean, log_deviation.clamp(*LOG_DEVIATION)], dim=1))
            else:
                parts.append(self._one(span).log_probs(logits[:, span], mask[:, span]))
        return torch.cat(parts, dim=1)

    def log_prob_of(self, log_probs: Tensor, actions: Tensor) -> Tensor:
        """Return the log-probability of decisions, as :meth:`Heads.log_prob_of`."""
        total = log_probs.new_zeros(log_probs.shape[0])
        for k, span, continuous, _ in self._spans():
            part = log_probs[:, span]
            if continuous:
                total = total + gaussian_log_prob(part[:, 0], part[:, 1], from_bits(actions[:, k]))
            else:
                total = total + self._one(span).log_prob_of(part, actions[:, k : k + 1])
        return total

    def entropy(self, log_probs: Tensor) -> Tensor:
        """Return the entropy, as :meth:`Heads.entropy`."""
        total = log_probs.new_zeros(log_probs.shape[0])
        for _, span, continuous, bounded in self._spans():
            part = log_probs[:, span]
            if continuous:
                total = total + squashed_entropy(part[:, 0], part[:, 1], bounded)
            else:
                total = total + self._one(span).entropy(part)
        return total

    def kl(self, log_p: Tensor, log_q: Tensor) -> Tensor:
        """Return the divergence, as :meth:`Heads.kl`."""
        total = log_p.new_zeros(log_p.shape[0])
        for _, span, continuous, _ in self._spans():
            p, q = log_p[:, span], log_q[:, span]
            if continuous:
                ratio = torch.exp(2.0 * (p[:, 1] - q[:, 1]))
                distance = (p[:, 0] - q[:, 0]).square() * torch.exp(-2.0 * q[:, 1])
                total = total + 0.5 * (ratio + distance - 1.0) - (p[:, 1] - q[:, 1])
            else:
                total = total + self._one(span).kl(p, q)
        return total

    def sample(self, log_probs: Tensor, uniform: Tensor) -> Tensor:
        """Sample decisions, as :meth:`Heads.sample`; continuous heads by inversion too."""
        chosen = []
        for k, span, continuous, _ in self._spans():
            part = log_probs[:, span]
            if continuous:
                # Uniforms lie on multiples of 2^-24 below 1; the middle of each step is never 0 or 1.
                z = torch.special.ndtri(uniform[:, k].double() + 2.0**-25)
                chosen.append(to_bits(part[:, 0] + part[:, 1].exp() * z.float()))
            else:
                chosen.append(self._one(span).sample(part, uniform[:, k : k + 1])[:, 0])
        return torch.stack(chosen, dim=1)

    def greedy(self, log_probs: Tensor) -> Tensor:
        """Return the most probable decisions, as :meth:`Heads.greedy`; the mean of continuous heads."""
        chosen = []
        for _, span, continuous, _ in self._spans():
            part = log_probs[:, span]
            chosen.append(to_bits(part[:, 0]) if continuous else self._one(span).greedy(part)[:, 0])
        return torch.stack(chosen, dim=1)


class FreeDeviation(nn.Module):
    """Outputs ``[N, A]`` of heads whose log-deviations are parameters, the same in every state.

    ``linear`` makes the means and the logits of the other heads; ``log_deviation: float32[C]`` has
    one entry for each continuous head, in the spec's order, and starts at 0.
    """

    def __init__(self, features: int, heads: Heads) -> None:
        """Make the layer. Raise ``ValueError`` for a game without continuous heads."""
        super().__init__()
        if not isinstance(heads, MixedHeads):
            raise ValueError('policy.deviation = "free": the game has no continuous heads; expected "state"')
        count = sum(heads.continuous)
        self.linear = nn.Linear(features, heads.choices - count)
        self.log_deviation = nn.Parameter(torch.zeros(count))
        order: list[int] = []  # of the A outputs among linear's and the deviations behind them
        made, free = 0, heads.choices - count
        for size, continuous in zip(heads.sizes, heads.continuous, strict=True):
            order += [made, free] if continuous else range(made, made + size)
            made, free = made + (1 if continuous else size), free + continuous
        self.order = order

    def forward(self, features: Tensor) -> Tensor:
        """Return the outputs ``[N, A]`` of features ``[N, F]``."""
        return self._ordered(self.linear(features), self.log_deviation.expand(features.shape[0], -1), 1)

    @own_draws
    def as_linear(self) -> nn.Linear:
        """Return a copy as one linear layer, whose weights are 0 at the deviations."""
        weight, bias = self.linear.weight.detach(), self.linear.bias.detach()
        free = self.log_deviation.detach()
        layer = nn.Linear(weight.shape[1], len(self.order), device=weight.device)
        with torch.no_grad():
            layer.weight.copy_(self._ordered(weight, weight.new_zeros((len(free), weight.shape[1])), 0))
            layer.bias.copy_(self._ordered(bias, free, 0))
        return layer

    def _ordered(self, made: Tensor, free: Tensor, dim: int) -> Tensor:
        order = constant(tuple(self.order), made.device)
        return torch.cat([made, free], dim=dim).index_select(dim, order)

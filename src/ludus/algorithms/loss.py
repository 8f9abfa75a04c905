"""Loss: the result of a loss function, and terms that several methods' losses are made of.

``N`` samples. Everything is a sum over samples, so that the gradients of micro-batches add up.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

#: A number of Python, or in a program a scalar tensor.
Coefficient: TypeAlias = float | Tensor


class Loss(NamedTuple):
    """Loss over ``N`` samples."""

    total: Tensor  # scalar, the sum to differentiate
    numbers: dict[str, Tensor]  # scalars, sums; ``UpdateStats.numbers`` has their means


def total(values: Tensor, weight: Tensor | None = None) -> Tensor:
    """Return the sum of ``values: [N]``, each times its ``weight: float32[N]`` if there are weights."""
    return values.sum() if weight is None else (values * weight).sum()


def value_loss(
    value: Tensor,
    target: Tensor,
    old_value: Tensor | None = None,
    clip: float = 0.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Return half the squared error of the value, summed over samples.

    Args:
        value: ``float32[N]``, the learner's predictions; of K heads ``[N, K]``, whose mean is taken.
        target: Targets, of the shape of ``value``.
        old_value: Predictions of the behaviour policy, of the shape of ``value``; only with ``clip``.
        clip: Bound > 0 of the change from ``old_value``; the larger error counts (the reference code of
            Schulman et al. 2017; not in the paper). 0 = off.
        weight: ``float32[N]``, of each sample; None: 1.
    """
    error = (value - target).square()
    if clip > 0.0:
        assert old_value is not None
        near = old_value + (value - old_value).clamp(-clip, clip)
        error = torch.maximum(error, (near - target).square())
    if error.dim() > 1:
        error = error.mean(dim=1)
    return 0.5 * total(error, weight)


def kl_estimate(log_ratio: Tensor, weight: Tensor | None = None) -> Tensor:
    """Estimate KL(mu || pi), in nats, summed over samples drawn from mu.

    Unbiased and never negative: ratio - 1 - log ratio (Schulman 2020, "Approximating KL Divergence").

    Args:
        log_ratio: ``float32[N]``, log pi(a|s) - log mu(a|s).
        weight: ``float32[N]``, of each sample; None: 1.
    """
    return total(log_ratio.exp() - 1.0 - log_ratio, weight)


def weighted_policy_loss(
    log_ratio: Tensor,
    log_prob: Tensor,
    advantage: Tensor,
    clip_ratio: float,
    weight: Tensor | None = None,
) -> Tensor:
    """Return the policy gradient with clipped importance weights, negated and summed over samples.

    -min(pi/mu, clip_ratio) A log pi(a|s), with the weight held constant (Espeholt et al. 2018, section 4.2).

    Args:
        log_ratio: ``float32[N]``, log pi(a|s) - log mu(a|s).
        log_prob: ``float32[N]``, log pi(a|s); carries gradients.
        advantage: ``float32[N]``.
        clip_ratio: Largest importance weight, > 0.
        weight: ``float32[N]``, of each sample; None: 1.
    """
    importance = log_ratio.detach().clamp(max=math.log(clip_ratio)).exp()
    return -total(importance * advantage * log_prob, weight)

"""The loss of APPO as a pure function over flat samples; sums, so that micro-batches add up."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ludus.algorithms.appo.config import AppoConfig


class LossTerms(NamedTuple):
    """Sums over the ``N`` samples. Only ``total`` carries gradients that matter."""

    total: Tensor
    policy: Tensor
    value: Tensor
    entropy: Tensor
    kl: Tensor  # estimate of KL(behaviour || learner), in nats
    clipped: Tensor  # samples whose ratio lies outside the clip range


def appo_loss(
    config: AppoConfig,
    *,
    log_prob: Tensor,
    behaviour_log_prob: Tensor,
    advantage: Tensor,
    entropy: Tensor,
    value: Tensor,
    old_value: Tensor,
    target: Tensor,
    entropy_coefficient: float,
) -> LossTerms:
    """All arguments ``float32[N]``; ``value``, ``old_value`` and ``target`` in normalised units.

    Policy: the clipped surrogate of PPO (Schulman et al. 2017, equation 7). Value: squared error,
    optionally with the prediction kept within ``clip_value`` of ``old_value`` (0 = off).
    """
    log_ratio = log_prob - behaviour_log_prob
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - config.clip_ratio, 1.0 + config.clip_ratio)
    policy = -torch.minimum(ratio * advantage, clipped * advantage).sum()

    error = (value - target).square()
    if config.clip_value > 0.0:
        near = old_value + (value - old_value).clamp(-config.clip_value, config.clip_value)
        error = torch.maximum(error, (near - target).square())
    value_loss = 0.5 * error.sum()

    entropy_sum = entropy.sum()
    total = policy + config.value_coefficient * value_loss - entropy_coefficient * entropy_sum
    with torch.no_grad():
        kl = (
            ratio - 1.0 - log_ratio
        ).sum()  # unbiased and never negative (Schulman 2020, "Approximating KL")
        outside = ((ratio - 1.0).abs() > config.clip_ratio).sum()
    return LossTerms(total, policy, value_loss, entropy_sum, kl, outside)

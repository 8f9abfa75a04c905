"""AlphaZero's loss: (z - v)^2 - pi . log p (Silver et al. 2018, equation 1); the L2 term is weight decay."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Loss(NamedTuple):
    """Sums over samples; ``total`` is to be differentiated, the others are for people."""

    total: Tensor
    policy: Tensor  # cross entropy, nats
    value: Tensor  # squared error
    entropy: Tensor  # of the targets: the least that the cross entropy can be


def alphazero_loss(
    log_probs: Tensor, value: Tensor, policy_target: Tensor, value_target: Tensor, value_coefficient: float
) -> Loss:
    """``log_probs, policy_target: [N, A]`` (-inf and 0 where illegal), ``value, value_target: [N]``.

    The two terms are means over the same samples, not divided by the number of moves: that mistake let
    the value dominate and stalled the paper's run (003, appendix C).
    """
    finite = log_probs.clamp(min=-1e9)
    policy = -(policy_target * finite).sum()
    squared = (value - value_target).square().sum()
    known = policy_target.clamp(min=1e-30)
    entropy = -(policy_target * known.log()).sum()
    total = policy + value_coefficient * squared
    return Loss(total, policy.detach(), squared.detach(), entropy.detach())


def masked_log_probs(logits: Tensor, mask: Tensor) -> Tensor:
    """Log-probabilities over the legal moves of ``mask: uint8[N, A]``, -inf elsewhere."""
    return torch.log_softmax(logits.float().masked_fill(mask == 0, -torch.inf), dim=1)

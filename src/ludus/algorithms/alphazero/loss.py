"""AlphaZero's loss: (z - v)^2 - pi . log p (Silver et al. 2018, equation 1); the L2 term is weight decay.

Beside it what KataGo teaches of how matches end (Wu 2019, arXiv 1902.10565, section 4.1).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

SCORE_DELTA = 12.0  # points: errors beyond count linearly, as in KataGo's trainer


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


class EndsLoss(NamedTuple):
    """Sums over the samples whose match was counted; ``total`` is to be differentiated."""

    total: Tensor
    ownership: Tensor  # cross entropy of a cell's owner, nats, the mean over a sample's cells
    score: Tensor  # Huber's, points


def ends_loss(
    ownership: Tensor | None,
    score: Tensor | None,
    ownership_target: Tensor,
    score_target: Tensor,
    counted: Tensor,
    ownership_coefficient: float,
    score_coefficient: float,
) -> EndsLoss:
    """``ownership: [N, cells]`` log-odds of owning a cell, ``score: [N]`` points; None without such a head.

    ``ownership_target: [N, cells]`` in {-1, 0, +1} (a cell that is nobody's is half everyone's),
    ``score_target: [N]`` points, ``counted: [N]`` 1 or 0: samples with 0 add nothing. The mean over cells
    makes boards of all sizes weigh alike: KataGo's 1.5 / b^2 a cell is a coefficient of 1.5 here.
    """
    weight = counted.float()
    zero = weight.new_zeros(())
    owned = points = zero
    if ownership is not None:
        share = 0.5 + 0.5 * ownership_target.float()
        cells = functional.binary_cross_entropy_with_logits(ownership, share, reduction="none")
        owned = (weight * cells.mean(dim=1)).sum()
    if score is not None:
        huber = functional.huber_loss(score, score_target, reduction="none", delta=SCORE_DELTA)
        points = (weight * huber).sum()
    total = ownership_coefficient * owned + score_coefficient * points
    return EndsLoss(total, owned.detach(), points.detach())


def masked_log_probs(logits: Tensor, mask: Tensor) -> Tensor:
    """Log-probabilities over the legal moves of ``mask: uint8[N, A]``, -inf elsewhere."""
    return torch.log_softmax(logits.float().masked_fill(mask == 0, -torch.inf), dim=1)

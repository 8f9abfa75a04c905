"""AlphaZero's loss: (z - v)^2 - pi . log p (Silver et al. 2018, equation 1); the L2 term is weight decay.

Auxiliary targets from the ends of matches: KataGo (Wu 2019, arXiv 1902.10565, section 4.1).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from ludus.algorithms.loss import Loss

SCORE_DELTA = 12.0  # points: larger errors count linearly, as in KataGo's trainer


def alphazero_loss(
    log_probs: Tensor, value: Tensor, policy_target: Tensor, value_target: Tensor, value_coefficient: float
) -> Loss:
    """Return the cross entropy of the policy and the squared error of the value, summed over samples.

    The two terms are means over the same samples in the end, not divided by the number of moves: that mistake
    let the value dominate and stalled a run of ELF OpenGo (Tian et al. 2019, appendix C).

    Args:
        log_probs: ``[N, A]``, -inf where illegal.
        value: ``[N]``.
        policy_target: ``[N, A]``, 0 where illegal.
        value_target: ``[N]``; NaN where it is unknown: nothing is learned of the value there.
        value_coefficient: Weight of the value, >= 0.

    Returns:
        The sum with ``loss/policy`` (nats), ``loss/value`` and ``target/entropy`` (nats): the entropy of the
        targets, the lower bound of the cross entropy.
    """
    finite = log_probs.clamp(min=-1e9)
    policy = -(policy_target * finite).sum()
    target = torch.where(torch.isnan(value_target), value.detach(), value_target)
    squared = (value - target).square().sum()
    known = policy_target.clamp(min=1e-30)
    entropy = -(policy_target * known.log()).sum()
    total = policy + value_coefficient * squared
    numbers = {
        "loss/policy": policy.detach(),
        "loss/value": squared.detach(),
        "target/entropy": entropy.detach(),
    }
    return Loss(total, numbers)


def ends_loss(
    ownership: Tensor | None,
    score: Tensor | None,
    ownership_target: Tensor,
    score_target: Tensor,
    counted: Tensor,
    ownership_coefficient: float,
    score_coefficient: float,
) -> Loss:
    """Return the losses of final ownership and score, summed over the samples whose match was counted.

    The mean over cells makes boards of all sizes weigh the same: KataGo's 1.5 / b^2 a cell is a coefficient
    of 1.5 here.

    Args:
        ownership: ``[N, cells]``, log-odds of owning a cell; None without such a head.
        score: ``[N]``, points; None without such a head.
        ownership_target: ``[N, cells]`` in {-1, 0, +1}; a cell without an owner is half of each seat.
        score_target: ``[N]``, points.
        counted: ``[N]``, 1 or 0; samples with 0 add nothing.
        ownership_coefficient: Weight of the ownership, >= 0.
        score_coefficient: Weight of the score, >= 0.

    Returns:
        The sum, with those that have a head of ``loss/ownership`` (cross entropy of a cell's owner, nats, the
        mean over a sample's cells) and ``loss/score`` (Huber's, points).
    """
    weight = counted.float()
    zero = weight.new_zeros(())
    owned = points = zero
    numbers: dict[str, Tensor] = {}
    if ownership is not None:
        share = 0.5 + 0.5 * ownership_target.float()
        cells = functional.binary_cross_entropy_with_logits(ownership, share, reduction="none")
        owned = (weight * cells.mean(dim=1)).sum()
        numbers["loss/ownership"] = owned.detach()
    if score is not None:
        huber = functional.huber_loss(score, score_target, reduction="none", delta=SCORE_DELTA)
        points = (weight * huber).sum()
        numbers["loss/score"] = points.detach()
    return Loss(ownership_coefficient * owned + score_coefficient * points, numbers)


def masked_log_probs(logits: Tensor, mask: Tensor) -> Tensor:
    """Return log-probabilities over the legal moves of ``mask: uint8[N, A]``, -inf elsewhere."""
    return torch.log_softmax(logits.float().masked_fill(mask == 0, -torch.inf), dim=1)

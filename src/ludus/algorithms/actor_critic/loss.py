"""What the losses of actor-critic methods have in common: a policy term, a value term, an entropy term."""

from __future__ import annotations

import torch
from torch import Tensor

from ludus.algorithms.actor_critic.config import AdvantageConfig
from ludus.algorithms.actor_critic.objective import Decisions
from ludus.algorithms.loss import Loss, kl_estimate, value_loss, weighted_policy_loss


def weighted_loss(
    config: AdvantageConfig, decisions: Decisions, entropy_coefficient: float, ratio_clip: float
) -> Loss:
    """Policy gradient with weights min(pi/mu, ratio_clip), a value and an entropy term.

    Args:
        config: ``value_coefficient``.
        decisions: ``N`` decisions.
        entropy_coefficient: of the entropy at this point of the run.
        ratio_clip: largest weight, > 0.

    Returns:
        See :func:`with_value`; ``policy/clip_fraction`` is the share of weights that were cut.
    """
    log_ratio = decisions.log_prob - decisions.behaviour_log_prob
    policy = weighted_policy_loss(log_ratio, decisions.log_prob, decisions.advantage, ratio_clip)
    outside = (log_ratio.exp() > ratio_clip).sum()
    value = value_loss(decisions.value, decisions.target)
    return with_value(config, decisions, policy, value, outside, entropy_coefficient)


def with_value(
    config: AdvantageConfig,
    decisions: Decisions,
    policy: Tensor,
    value: Tensor,
    outside: Tensor,
    entropy_coefficient: float,
) -> Loss:
    """``policy + value_coefficient value - entropy_coefficient entropy``, a sum over decisions.

    Args:
        config: ``value_coefficient``.
        decisions: ``N`` decisions.
        policy: scalar, the policy's loss summed over decisions.
        value: scalar, the value's.
        outside: number of decisions whose ratio is outside the method's range.
        entropy_coefficient: of the entropy at this point of the run.

    Returns:
        The loss with ``loss/policy``, ``loss/value`` (normalised units), ``policy/entropy`` and ``policy/kl``
        (nats), ``policy/clip_fraction``.
    """
    entropy = decisions.entropy.sum()
    total = policy + config.value_coefficient * value - entropy_coefficient * entropy
    with torch.no_grad():
        kl = kl_estimate(decisions.log_prob - decisions.behaviour_log_prob)
    numbers = {
        "loss/policy": policy,
        "loss/value": value,
        "policy/entropy": entropy,
        "policy/kl": kl,
        "policy/clip_fraction": outside,
    }
    return Loss(total, numbers)

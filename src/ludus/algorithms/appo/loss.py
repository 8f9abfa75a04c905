"""The loss of APPO as a pure function over flat samples (Petrenko et al. 2020, section 3.4)."""

from __future__ import annotations

import torch

from ludus.algorithms.actor_critic.objective import Decisions
from ludus.algorithms.appo.config import AppoConfig
from ludus.algorithms.loss import Loss, kl_estimate, value_loss


def appo_loss(config: AppoConfig, decisions: Decisions, entropy_coefficient: float) -> Loss:
    """PPO's clipped surrogate with a value and an entropy term (Schulman et al. 2017, equations 7 and 9).

    Args:
        config: ``clip_ratio``, ``clip_value`` (0 = off) and ``value_coefficient``.
        decisions: ``N`` decisions.
        entropy_coefficient: of the entropy at this point of the run.

    Returns:
        The sum over decisions, with ``loss/policy``, ``loss/value`` (normalised units), ``policy/entropy``,
        ``policy/kl`` (nats) and ``policy/clip_fraction``.
    """
    log_ratio = decisions.log_prob - decisions.behaviour_log_prob
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - config.clip_ratio, 1.0 + config.clip_ratio)
    policy = -torch.minimum(ratio * decisions.advantage, clipped * decisions.advantage).sum()
    value = value_loss(decisions.value, decisions.target, decisions.old_value, config.clip_value)
    entropy = decisions.entropy.sum()
    total = policy + config.value_coefficient * value - entropy_coefficient * entropy
    with torch.no_grad():
        kl = kl_estimate(log_ratio)
        outside = ((ratio - 1.0).abs() > config.clip_ratio).sum()
    numbers = {
        "loss/policy": policy,
        "loss/value": value,
        "policy/entropy": entropy,
        "policy/kl": kl,
        "policy/clip_fraction": outside,
    }
    return Loss(total, numbers)

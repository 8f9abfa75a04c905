"""Losses of TRPO as pure functions over flat samples."""

from __future__ import annotations

from torch import Tensor

from ludus.algorithms.actor_critic.objective import Decisions
from ludus.algorithms.config import TrpoConfig
from ludus.algorithms.loss import Coefficient, Loss, value_loss


def surrogate_loss(config: TrpoConfig, decisions: Decisions, entropy_coefficient: Coefficient) -> Loss:
    """Return -(pi / mu) A - entropy_coefficient * entropy (Schulman et al. 2015, equation 14).

    Args:
        config: Not read.
        decisions: ``N`` decisions.
        entropy_coefficient: Weight of the entropy at this point of the run.

    Returns:
        The sum over decisions, with ``loss/policy`` and ``policy/entropy`` (nats).
    """
    ratio = (decisions.log_prob - decisions.behaviour_log_prob).exp()
    policy = -(ratio * decisions.advantage).sum()
    entropy = decisions.entropy.sum()
    return Loss(policy - entropy_coefficient * entropy, {"loss/policy": policy, "policy/entropy": entropy})


def critic_loss(config: TrpoConfig, value: Tensor, target: Tensor) -> Loss:
    """Return ``value_coefficient`` times half the squared error of the value, summed over decisions.

    Args:
        config: ``value_coefficient``.
        value: ``float32[N]`` or ``[N, heads]``, predictions in normalised units.
        target: Targets, of the shape of ``value``.
    """
    error = value_loss(value, target)
    return Loss(config.value_coefficient * error, {"loss/value": error})

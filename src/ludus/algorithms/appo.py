"""APPO: PPO's clipped surrogate on V-trace corrected advantages (Petrenko et al. 2020, section 3.4)."""

from __future__ import annotations

import torch

from ludus.algorithms.actor_critic.learner import ActorCriticLearner
from ludus.algorithms.actor_critic.objective import Decisions, Objective, with_value
from ludus.algorithms.actor_critic.returns import vtrace_returns
from ludus.algorithms.config import AppoConfig
from ludus.algorithms.learner import LearnerContext
from ludus.algorithms.loss import Coefficient, Loss, total, value_loss
from ludus.policies.network import PolicyNetwork


def appo_loss(config: AppoConfig, decisions: Decisions, entropy_coefficient: Coefficient) -> Loss:
    """Return PPO's clipped surrogate with a value and an entropy term.

    Schulman et al. 2017, equations 7 and 9.

    Args:
        config: ``clip_ratio``, ``clip_value`` (0 = off) and ``value_coefficient``.
        decisions: ``N`` decisions.
        entropy_coefficient: Weight of the entropy at this point of the run.

    Returns:
        See :func:`~ludus.algorithms.actor_critic.objective.with_value`; ``policy/clip_fraction`` is the share
        of ratios outside 1 +- ``clip_ratio``.
    """
    ratio = (decisions.log_prob - decisions.behaviour_log_prob).exp()
    clipped = ratio.clamp(1.0 - config.clip_ratio, 1.0 + config.clip_ratio)
    weight = decisions.weight
    policy = -total(torch.minimum(ratio * decisions.advantage, clipped * decisions.advantage), weight)
    value = value_loss(decisions.value, decisions.target, decisions.old_value, config.clip_value, weight)
    outside = total((ratio.detach() - 1.0).abs() > config.clip_ratio, weight)
    return with_value(config, decisions, policy, value, outside, entropy_coefficient)


OBJECTIVE = Objective(vtrace_returns, appo_loss, corrects_lag=lambda config: config.vtrace)


def make_learner(
    config: AppoConfig, network: PolicyNetwork, context: LearnerContext
) -> ActorCriticLearner[AppoConfig]:
    """Build the learner of a run or of one player. See :class:`~ludus.algorithms.learner.SlabLearner`."""
    return ActorCriticLearner(OBJECTIVE, config, network, context)

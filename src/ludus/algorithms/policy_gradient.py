"""Policy gradient: Monte-Carlo returns less a baseline (Williams 1992; Sutton et al. 2000)."""

from __future__ import annotations

import msgspec
import numpy as np

from ludus.algorithms.actor_critic.learner import ActorCriticLearner
from ludus.algorithms.actor_critic.objective import Decisions, MinimumCoverage, Objective, weighted_loss
from ludus.algorithms.config import PolicyGradientConfig
from ludus.algorithms.group import ALONE, Group
from ludus.algorithms.learner import LearnerContext
from ludus.algorithms.loss import Coefficient, Loss
from ludus.algorithms.returns import Floats, Returns, Transitions, gae, monte_carlo
from ludus.policies.network import PolicyNetwork

LEAST_COVERAGE = 0.2  # share of decisions whose match must end inside the slab where no value bootstraps


def policy_gradient_returns(
    config: PolicyGradientConfig,
    transitions: Transitions,
    value: Floats,
    ratio: Floats | None,
    group: Group = ALONE,
) -> Returns:
    """Return rewards up to the end of the match, less the baseline.

    With the baseline ``value``, matches that continue past the slab bootstrap from it there; with another one
    their decisions are not valid.

    Args:
        config: ``baseline`` and ``discount``.
        transitions: ``[T, R]``.
        value: ``float32[T+1, R]``, in the game's units.
        ratio: Not read: importance weights are in the loss.
        group: Learners over whose decisions the baseline ``mean`` is taken.
    """
    if config.baseline == "value":
        return gae(transitions, value, discount=config.discount, gae_lambda=1.0)
    found = monte_carlo(transitions, discount=config.discount)
    if config.baseline == "none" or not group.total(int(found.valid.sum())):
        return found
    mean = np.float32(group.mean(found.target[found.valid]))
    advantage = np.where(found.valid, found.target - mean, np.float32(0.0))
    return Returns(advantage, found.target, found.valid)


def policy_gradient_loss(
    config: PolicyGradientConfig, decisions: Decisions, entropy_coefficient: Coefficient
) -> Loss:
    """Return -min(pi/mu, ``clip_ratio``) A log pi, an entropy term, a value term for the baseline ``value``.

    Williams 1992, equation 11. For arguments and result see
    :func:`~ludus.algorithms.actor_critic.objective.weighted_loss`.
    """
    if config.baseline == "value":
        return weighted_loss(config, decisions, entropy_coefficient, config.clip_ratio)
    without = msgspec.structs.replace(config, value_coefficient=0.0)
    loss = weighted_loss(without, decisions, entropy_coefficient, config.clip_ratio)
    return Loss(loss.total, {n: x for n, x in loss.numbers.items() if n != "loss/value"})


def minimum_coverage(config: PolicyGradientConfig) -> MinimumCoverage | None:
    """Return the share of decisions that must have a return; None where a value bootstraps."""
    if config.baseline == "value":
        return None
    setting = f'algorithm.baseline = "{config.baseline}"'
    return MinimumCoverage(LEAST_COVERAGE, setting, 'algorithm.baseline = "value"')


OBJECTIVE = Objective(policy_gradient_returns, policy_gradient_loss, lambda config: False, minimum_coverage)


def make_learner(
    config: PolicyGradientConfig, network: PolicyNetwork, context: LearnerContext
) -> ActorCriticLearner[PolicyGradientConfig]:
    """Build the learner of a run or of one player. See :class:`~ludus.algorithms.learner.SlabLearner`."""
    return ActorCriticLearner(OBJECTIVE, config, network, context)

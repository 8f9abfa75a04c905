"""A2C: n-step returns and clipped importance weights, as in ELF (Mnih et al. 2016; Tian et al. 2017)."""

from __future__ import annotations

from ludus.algorithms.actor_critic.learner import ActorCriticLearner
from ludus.algorithms.actor_critic.objective import Decisions, Objective, weighted_loss
from ludus.algorithms.config import A2cConfig
from ludus.algorithms.group import ALONE, Group
from ludus.algorithms.learner import LearnerContext
from ludus.algorithms.loss import Coefficient, Loss
from ludus.algorithms.returns import Floats, Returns, Transitions, gae, n_step
from ludus.policies.network import PolicyNetwork


def a2c_returns(
    config: A2cConfig,
    transitions: Transitions,
    value: Floats,
    ratio: Floats | None,
    group: Group = ALONE,
) -> Returns:
    """Return n-step returns; with ``n_steps = 0`` they reach the end of the match or of the slab.

    Args:
        config: ``n_steps`` and ``discount``.
        transitions: ``[T, R]``.
        value: ``float32[T+1, R]``, in the game's units.
        ratio: Not read: importance weights are in the loss.
        group: Not read.
    """
    if 0 < config.n_steps < len(transitions.reward):
        return n_step(transitions, value, discount=config.discount, n_steps=config.n_steps)
    return gae(transitions, value, discount=config.discount, gae_lambda=1.0)


def a2c_loss(config: A2cConfig, decisions: Decisions, entropy_coefficient: Coefficient) -> Loss:
    """Return -min(pi/mu, ``clip_ratio``) A log pi with a value and an entropy term.

    Tian et al. 2017, section 4.2.1. For arguments and result see
    :func:`~ludus.algorithms.actor_critic.objective.weighted_loss`.
    """
    return weighted_loss(config, decisions, entropy_coefficient, config.clip_ratio)


OBJECTIVE = Objective(a2c_returns, a2c_loss, corrects_lag=lambda config: False)


def make_learner(
    config: A2cConfig, network: PolicyNetwork, context: LearnerContext
) -> ActorCriticLearner[A2cConfig]:
    """Build the learner of a run or of one player. See :class:`~ludus.algorithms.learner.SlabLearner`."""
    return ActorCriticLearner(OBJECTIVE, config, network, context)

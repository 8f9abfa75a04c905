"""IMPALA: V-trace and an importance weighted policy gradient (Espeholt et al. 2018)."""

from __future__ import annotations

from ludus.algorithms.actor_critic.learner import ActorCriticLearner
from ludus.algorithms.actor_critic.objective import Decisions, Objective, weighted_loss
from ludus.algorithms.actor_critic.returns import vtrace_returns
from ludus.algorithms.config import ImpalaConfig
from ludus.algorithms.learner import LearnerContext
from ludus.algorithms.loss import Coefficient, Loss
from ludus.policies.network import PolicyNetwork


def impala_loss(config: ImpalaConfig, decisions: Decisions, entropy_coefficient: Coefficient) -> Loss:
    """Return -rho A log pi with rho = min(``rho_clip``, pi/mu), a value and an entropy term.

    Espeholt et al. 2018, section 4.2. For arguments and result see
    :func:`~ludus.algorithms.actor_critic.objective.weighted_loss`.
    """
    return weighted_loss(config, decisions, entropy_coefficient, config.rho_clip)


OBJECTIVE = Objective(vtrace_returns, impala_loss, corrects_lag=lambda config: True)


def make_learner(
    config: ImpalaConfig, network: PolicyNetwork, context: LearnerContext
) -> ActorCriticLearner[ImpalaConfig]:
    """Build the learner of a run or of one player. See :class:`~ludus.algorithms.learner.SlabLearner`."""
    return ActorCriticLearner(OBJECTIVE, config, network, context)

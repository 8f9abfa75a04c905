"""IMPALA: V-trace and a weighted policy gradient (Espeholt et al. 2018)."""

from __future__ import annotations

from ludus.algorithms.actor_critic.corrected import corrected_returns
from ludus.algorithms.actor_critic.learner import ActorCriticLearner
from ludus.algorithms.actor_critic.objective import Objective
from ludus.algorithms.impala.config import ImpalaConfig
from ludus.algorithms.impala.loss import impala_loss
from ludus.policies.network import PolicyNetwork

OBJECTIVE = Objective(corrected_returns, impala_loss, corrects_lag=lambda config: True)


def make_learner(
    config: ImpalaConfig,
    network: PolicyNetwork,
    *,
    seed: int,
    policy: int = 0,
    workers: int = 1,
    frame_skip: int = 1,
) -> ActorCriticLearner[ImpalaConfig]:
    """The learner of a run or of one player. See :class:`~ludus.algorithms.learner.SlabLearner`."""
    return ActorCriticLearner(
        OBJECTIVE, config, network, seed=seed, policy=policy, workers=workers, frame_skip=frame_skip
    )

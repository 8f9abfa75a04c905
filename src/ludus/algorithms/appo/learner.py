"""APPO: PPO's clipped surrogate on V-trace returns (Petrenko et al. 2020, section 3.4)."""

from __future__ import annotations

from ludus.algorithms.actor_critic.corrected import corrected_returns
from ludus.algorithms.actor_critic.learner import ActorCriticLearner
from ludus.algorithms.actor_critic.objective import Objective
from ludus.algorithms.appo.config import AppoConfig
from ludus.algorithms.appo.loss import appo_loss
from ludus.policies.network import PolicyNetwork

OBJECTIVE = Objective(corrected_returns, appo_loss, corrects_lag=lambda config: config.vtrace)


def make_learner(
    config: AppoConfig,
    network: PolicyNetwork,
    *,
    seed: int,
    policy: int = 0,
    workers: int = 1,
    frame_skip: int = 1,
) -> ActorCriticLearner[AppoConfig]:
    """The learner of a run or of one player. See :class:`~ludus.algorithms.learner.SlabLearner`."""
    return ActorCriticLearner(
        OBJECTIVE, config, network, seed=seed, policy=policy, workers=workers, frame_skip=frame_skip
    )

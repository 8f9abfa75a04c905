"""APPO: PPO's clipped surrogate on V-trace returns (Petrenko et al. 2020, section 3.4)."""

from __future__ import annotations

from ludus.algorithms.actor_critic.learner import ActorCriticLearner
from ludus.algorithms.actor_critic.objective import Objective
from ludus.algorithms.appo.config import AppoConfig
from ludus.algorithms.appo.loss import appo_loss
from ludus.algorithms.returns import Floats, Returns, Transitions, vtrace
from ludus.policies.network import PolicyNetwork


def appo_returns(
    config: AppoConfig, transitions: Transitions, value: Floats, ratio: Floats | None
) -> Returns:
    """V-trace with lambda (Espeholt et al. 2018, equation 1); GAE where ``ratio`` is None."""
    return vtrace(
        transitions,
        value,
        discount=config.discount,
        gae_lambda=config.gae_lambda,
        ratio=ratio,
        rho_clip=config.rho_clip,
        c_clip=config.c_clip,
    )


OBJECTIVE = Objective(appo_returns, appo_loss, corrects_lag=lambda config: config.vtrace)


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

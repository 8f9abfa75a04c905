"""IMPALA: V-trace and a weighted policy gradient (Espeholt et al. 2018)."""

from __future__ import annotations

from ludus.algorithms.actor_critic.learner import ActorCriticLearner
from ludus.algorithms.actor_critic.objective import Objective
from ludus.algorithms.impala.config import ImpalaConfig
from ludus.algorithms.impala.loss import impala_loss
from ludus.algorithms.returns import Floats, Returns, Transitions, vtrace
from ludus.policies.network import PolicyNetwork


def impala_returns(
    config: ImpalaConfig, transitions: Transitions, value: Floats, ratio: Floats | None
) -> Returns:
    """V-trace targets (equation 1); with lambda 1 the advantage is r + discount v(s') - V(s)."""
    return vtrace(
        transitions,
        value,
        discount=config.discount,
        gae_lambda=config.gae_lambda,
        ratio=ratio,
        rho_clip=config.rho_clip,
        c_clip=config.c_clip,
    )


OBJECTIVE = Objective(impala_returns, impala_loss, corrects_lag=lambda config: True)


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

"""A2C: T-step returns and clipped importance weights (Mnih et al. 2016; Tian et al. 2017)."""

from __future__ import annotations

from ludus.algorithms.a2c.config import A2cConfig
from ludus.algorithms.a2c.loss import a2c_loss
from ludus.algorithms.actor_critic.learner import ActorCriticLearner
from ludus.algorithms.actor_critic.objective import Objective
from ludus.algorithms.returns import Floats, Returns, Transitions, gae, n_step
from ludus.policies.network import PolicyNetwork


def a2c_returns(config: A2cConfig, transitions: Transitions, value: Floats, ratio: Floats | None) -> Returns:
    """n-step returns; with ``n = 0`` rewards to the end of the match or of the slab, and the value there."""
    if 0 < config.n < len(transitions.reward):
        return n_step(transitions, value, discount=config.discount, n=config.n)
    return gae(transitions, value, discount=config.discount, gae_lambda=1.0)


OBJECTIVE = Objective(a2c_returns, a2c_loss, corrects_lag=lambda config: False)


def make_learner(
    config: A2cConfig,
    network: PolicyNetwork,
    *,
    seed: int,
    policy: int = 0,
    workers: int = 1,
    frame_skip: int = 1,
) -> ActorCriticLearner[A2cConfig]:
    """The learner of a run or of one player. See :class:`~ludus.algorithms.learner.SlabLearner`."""
    return ActorCriticLearner(
        OBJECTIVE, config, network, seed=seed, policy=policy, workers=workers, frame_skip=frame_skip
    )

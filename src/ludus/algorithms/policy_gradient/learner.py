"""Policy gradient: Monte-Carlo returns less a baseline (Williams 1992; Sutton et al. 2000)."""

from __future__ import annotations

import numpy as np

from ludus.algorithms.actor_critic.learner import ActorCriticLearner
from ludus.algorithms.actor_critic.objective import Objective
from ludus.algorithms.actor_critic.taught import Demand
from ludus.algorithms.policy_gradient.config import PolicyGradientConfig
from ludus.algorithms.policy_gradient.loss import policy_gradient_loss
from ludus.algorithms.returns import Floats, Returns, Transitions, gae, monte_carlo
from ludus.policies.network import PolicyNetwork

LEAST_TAUGHT = 0.2  # share of decisions whose match must end inside the slab where no value bootstraps


def policy_gradient_returns(
    config: PolicyGradientConfig, transitions: Transitions, value: Floats, ratio: Floats | None
) -> Returns:
    """Rewards to the end of the match, less the baseline.

    With the baseline ``value``, matches that go on past the slab bootstrap from it there; with another one
    their decisions are not valid.
    """
    if config.baseline == "value":
        return gae(transitions, value, discount=config.discount, gae_lambda=1.0)
    found = monte_carlo(transitions, discount=config.discount)
    if config.baseline == "none" or not found.valid.any():
        return found
    mean = np.float32(found.target[found.valid].mean(dtype=np.float64))
    advantage = np.where(found.valid, found.target - mean, np.float32(0.0))
    return Returns(advantage, found.target, found.valid)


def demands(config: PolicyGradientConfig) -> Demand | None:
    """Returns for a fifth of the decisions where no value bootstraps."""
    if config.baseline == "value":
        return None
    return Demand(LEAST_TAUGHT, f'algorithm.baseline = "{config.baseline}"', 'algorithm.baseline = "value"')


OBJECTIVE = Objective(policy_gradient_returns, policy_gradient_loss, lambda config: False, demands)


def make_learner(
    config: PolicyGradientConfig,
    network: PolicyNetwork,
    *,
    seed: int,
    policy: int = 0,
    workers: int = 1,
    frame_skip: int = 1,
) -> ActorCriticLearner[PolicyGradientConfig]:
    """The learner of a run or of one player. See :class:`~ludus.algorithms.learner.SlabLearner`."""
    return ActorCriticLearner(
        OBJECTIVE, config, network, seed=seed, policy=policy, workers=workers, frame_skip=frame_skip
    )

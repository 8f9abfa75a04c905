"""REINFORCE with a value baseline (Williams 1992).

ludus train tic_tac_toe --method ./reinforce.py
"""

from torch import Tensor

from ludus.algorithms.actor_critic.learner import ActorCriticLearner
from ludus.algorithms.actor_critic.objective import Decisions, Objective
from ludus.algorithms.config import ActorCriticConfig
from ludus.algorithms.group import Group
from ludus.algorithms.learner import LearnerContext
from ludus.algorithms.loss import Loss, value_loss
from ludus.algorithms.registry import BOTH, Method
from ludus.algorithms.returns import Floats, Returns, Transitions, gae
from ludus.policies.network import PolicyNetwork


class ReinforceConfig(ActorCriticConfig, frozen=True, forbid_unknown_fields=True, tag="reinforce"):
    """The keys of ``[algorithm]``: the keys of every actor-critic method, and one more."""

    baseline: bool = True  # subtract the predicted value from the return


def returns(
    config: ReinforceConfig, moves: Transitions, value: Floats, ratio: Floats | None, group: Group
) -> Returns:
    """Return discounted sums of rewards, to the end of the match or to the value at the end of the slab."""
    found = gae(moves, value, discount=config.discount, gae_lambda=1.0)
    advantage = found.advantage if config.baseline else found.target
    return Returns(advantage, found.target, found.valid)


def loss(config: ReinforceConfig, decisions: Decisions, entropy_coefficient: float | Tensor) -> Loss:
    """Return sums over decisions; the learner divides by their number."""
    policy = -(decisions.log_prob * decisions.advantage).sum()
    value = value_loss(decisions.value, decisions.target)
    entropy = decisions.entropy.sum()
    total = policy + config.value_coefficient * value - entropy_coefficient * entropy
    return Loss(total, {"loss/policy": policy, "loss/value": value, "policy/entropy": entropy})


OBJECTIVE = Objective(returns, loss, corrects_lag=lambda config: False)


def make_learner(
    config: ReinforceConfig, network: PolicyNetwork, context: LearnerContext
) -> ActorCriticLearner[ReinforceConfig]:
    """Build the learner. ``context``: seed, policy id, threads, frame skip."""
    return ActorCriticLearner(OBJECTIVE, config, network, context)


METHOD = Method(ReinforceConfig, make_learner, value_heads=True, topologies=BOTH, value_only=True)

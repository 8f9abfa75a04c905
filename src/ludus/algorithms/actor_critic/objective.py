"""What tells one actor-critic method from another: two functions, not a class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from torch import Tensor

from ludus.algorithms.actor_critic.config import AdvantageConfig
from ludus.algorithms.actor_critic.taught import Demand
from ludus.algorithms.loss import Loss
from ludus.algorithms.returns import Floats, Returns, Transitions

Config = TypeVar("Config", bound=AdvantageConfig)


class Decisions(NamedTuple):
    """``N`` decisions as a loss function reads them. All ``float32[N]``; values in normalised units."""

    log_prob: Tensor  # of the action, under the learner's policy pi; carries gradients
    behaviour_log_prob: Tensor  # of the action, under the policy mu that acted
    advantage: Tensor
    entropy: Tensor  # of the learner's policy, nats; carries gradients
    value: Tensor  # the learner's prediction; carries gradients
    old_value: Tensor  # the prediction of the policy that acted
    target: Tensor  # of the value


class Objective(NamedTuple, Generic[Config]):
    """One method.

    ``returns(config, transitions, value, ratio)``: advantages and value targets. ``value: float32[T+1, R]``
    is in the game's units; ``ratio: float32[T, R]`` is pi / mu, None where lag is 0 or not corrected for.

    ``loss(config, decisions, entropy_coefficient)``: the sum over the decisions that is differentiated.

    ``corrects_lag(config)``: whether ``returns`` wants values and ratios of the learner's present weights for
    decisions of older ones. They cost a forward pass over the slab.

    ``demands(config)``: how many decisions of the first updates must be ``valid``; None = any number.
    """

    returns: Callable[[Config, Transitions, Floats, Floats | None], Returns]
    loss: Callable[[Config, Decisions, float], Loss]
    corrects_lag: Callable[[Config], bool]
    demands: Callable[[Config], Demand | None] = lambda _: None

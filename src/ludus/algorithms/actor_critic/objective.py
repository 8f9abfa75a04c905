"""Objective of an actor-critic method: two functions, not a class; and what their losses have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

from ludus.algorithms.config import AdvantageConfig
from ludus.algorithms.group import Group
from ludus.algorithms.loss import Coefficient, Loss, kl_estimate, total, value_loss, weighted_policy_loss
from ludus.algorithms.returns import Floats, Returns, Transitions

Config = TypeVar("Config", bound=AdvantageConfig)

FIRST_UPDATES = 16  # number of updates whose decisions are counted for MinimumCoverage


class Decisions(NamedTuple):
    """``N`` decisions as a loss function reads them. All ``float32[N]``; values in normalised units."""

    log_prob: Tensor  # of the action, under the learner's policy pi; carries gradients
    behaviour_log_prob: Tensor  # of the action, under the policy mu that acted
    advantage: Tensor
    entropy: Tensor  # of the learner's policy, nats; carries gradients
    value: Tensor  # the learner's prediction; carries gradients
    old_value: Tensor  # the prediction of the policy that acted
    target: Tensor  # of the value
    weight: Tensor | None = None  # of each in every sum, 0 for padding; None: 1


class MinimumCoverage(NamedTuple):
    """Share of the first updates' decisions that must have a return."""

    least: float  # in [0, 1]
    setting: str  # under which it is required: ``algorithm.KEY = VALUE``
    instead: str  # a setting under which it is not


class Objective(NamedTuple, Generic[Config]):
    """One method.

    ``returns(config, transitions, value, ratio, group)``: advantages and value targets. ``value:
    float32[T+1, R]`` is in the game's units; ``ratio: float32[T, R]`` is pi / mu, None if lag is 0 or not
    corrected for. Statistics of all decisions, such as their mean, cover all ranks of ``group``.

    ``loss(config, decisions, entropy_coefficient)``: the sum over the decisions to differentiate.

    ``corrects_lag(config)``: whether ``returns`` needs values and ratios of the learner's current weights for
    decisions of older ones. They cost a forward pass over the slab.

    ``minimum_coverage(config)``: share of the first updates' decisions that must be ``valid``; None = any.
    """

    returns: Callable[[Config, Transitions, Floats, Floats | None, Group], Returns]
    loss: Callable[[Config, Decisions, Coefficient], Loss]
    corrects_lag: Callable[[Config], bool]
    minimum_coverage: Callable[[Config], MinimumCoverage | None] = lambda _: None


@dataclass(slots=True)
class Coverage:
    """Number of decisions of the first updates, and of those among them that have a return."""

    decided: int = 0
    trainable: int = 0

    def refusal(self, minimum: MinimumCoverage, version: int, rollout_length: int) -> str:
        """Return why the run cannot learn; "" where it can, or while it is too early to decide.

        Args:
            minimum: Coverage that the method requires.
            version: Version of the weights that the current update makes.
            rollout_length: Time steps of a slab.
        """
        if version != FIRST_UPDATES or self.trainable >= minimum.least * self.decided:
            return ""
        share = self.trainable / self.decided
        return (
            f"{minimum.setting}: {share:.1%} of the decisions of the first {FIRST_UPDATES} updates belong to "
            f"matches that end in their slab, expected at least {minimum.least:.0%}; raise "
            f"pool.rollout_length, which is {rollout_length}, or set {minimum.instead}"
        )


def weighted_loss(
    config: AdvantageConfig, decisions: Decisions, entropy_coefficient: Coefficient, clip_ratio: float
) -> Loss:
    """Return a policy gradient with weights min(pi/mu, clip_ratio), a value and an entropy term.

    Args:
        config: ``value_coefficient``.
        decisions: ``N`` decisions.
        entropy_coefficient: Weight of the entropy at this point of the run.
        clip_ratio: Largest weight, > 0.

    Returns:
        See :func:`with_value`; ``policy/clip_fraction`` is the share of weights that were cut.
    """
    log_ratio = decisions.log_prob - decisions.behaviour_log_prob
    policy = weighted_policy_loss(
        log_ratio, decisions.log_prob, decisions.advantage, clip_ratio, decisions.weight
    )
    outside = total(log_ratio.exp() > clip_ratio, decisions.weight)
    value = value_loss(decisions.value, decisions.target, weight=decisions.weight)
    return with_value(config, decisions, policy, value, outside, entropy_coefficient)


def with_value(
    config: AdvantageConfig,
    decisions: Decisions,
    policy: Tensor,
    value: Tensor,
    outside: Tensor,
    entropy_coefficient: Coefficient,
) -> Loss:
    """Return ``policy + value_coefficient value - entropy_coefficient entropy``, a sum over decisions.

    Args:
        config: ``value_coefficient``.
        decisions: ``N`` decisions.
        policy: Scalar, the policy's loss summed over decisions.
        value: Scalar, the value's.
        outside: Number of decisions whose ratio is outside the method's range.
        entropy_coefficient: Weight of the entropy at this point of the run.

    Returns:
        The loss with ``loss/policy``, ``loss/value`` (normalised units), ``policy/entropy`` and ``policy/kl``
        (nats), ``policy/clip_fraction``.
    """
    entropy = total(decisions.entropy, decisions.weight)
    loss = policy + config.value_coefficient * value - entropy_coefficient * entropy
    with torch.no_grad():
        kl = kl_estimate(decisions.log_prob - decisions.behaviour_log_prob, decisions.weight)
    numbers = {
        "loss/policy": policy,
        "loss/value": value,
        "policy/entropy": entropy,
        "policy/kl": kl,
        "policy/clip_fraction": outside,
    }
    return Loss(loss, numbers)

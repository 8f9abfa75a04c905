"""Settings of the policy gradient (Williams 1992; Sutton et al. 2000)."""

from __future__ import annotations

from typing import Literal

from ludus.algorithms.actor_critic.config import ActorCriticConfig
from ludus.algorithms.config import Positive


class PolicyGradientConfig(ActorCriticConfig, frozen=True, forbid_unknown_fields=True, tag="policy_gradient"):
    """One learner's settings. Only the baseline ``value`` trains a value, and bootstraps from it."""

    baseline: Literal["value", "mean", "none"] = "value"
    ratio_clip: Positive = 10.0  # largest weight of a decision, pi / mu
    normalise_advantages: bool = False  # standardised advantages would have the mean as a baseline

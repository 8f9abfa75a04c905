"""Settings that all actor-critic methods share."""

from __future__ import annotations

from ludus.algorithms.config import Count, NonNegative, SlabLearnerConfig


class ActorCriticConfig(SlabLearnerConfig, frozen=True, forbid_unknown_fields=True):
    """What :class:`~ludus.algorithms.actor_critic.learner.ActorCriticLearner` reads."""

    value_coefficient: NonNegative = 0.5
    entropy_coefficient: NonNegative = 0.01
    entropy_coefficient_final: NonNegative = 0.01  # reached linearly at the end of the budget
    epochs: Count = 1
    minibatches: Count = 4
    normalise_advantages: bool = True

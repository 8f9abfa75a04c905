"""Settings that all actor-critic methods share."""

from __future__ import annotations

from ludus.algorithms.config import Count, NonNegative, Reuse, SlabLearnerConfig


class ActorCriticConfig(SlabLearnerConfig, frozen=True, forbid_unknown_fields=True):
    """What :class:`~ludus.algorithms.actor_critic.learner.ActorCriticLearner` reads."""

    value_coefficient: NonNegative = 0.5
    entropy_coefficient: NonNegative = 0.01
    entropy_coefficient_final: NonNegative = 0.01  # reached linearly at the end of the budget
    epochs: Count = 1
    sample_reuse: Reuse = 0.0  # how often a decision is differentiated, on average; 0 = epochs
    minibatches: Count = 4
    normalise_advantages: bool = True
    upgo_coefficient: NonNegative = 0.0  # of AlphaStar's upgoing returns; 0 = off
    target_kl: NonNegative = 0.0  # epochs end above this KL from the behaviour policy, nats; 0 = off
    learning_rate_kl: NonNegative = 0.0  # the learning rate is moved to reach this KL, nats; 0 = off
    kl_coefficient: NonNegative = 0.0  # of the KL from the weights that an update begins with; 0 = off
    teacher: str = ""  # weights to stay near, RUN@best or a file; "" = none
    teacher_coefficient: NonNegative = 1.0  # of the KL from the teacher
    teacher_coefficient_final: NonNegative = 0.0  # reached linearly at the end of the budget

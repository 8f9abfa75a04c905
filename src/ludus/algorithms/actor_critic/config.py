"""Settings that all actor-critic methods share."""

from __future__ import annotations

from collections.abc import Iterator

from ludus.algorithms.config import Count, Minibatches, NonNegative, Reuse, Share, SlabLearnerConfig


class AdvantageConfig(SlabLearnerConfig, frozen=True, forbid_unknown_fields=True):
    """What :class:`~ludus.algorithms.actor_critic.advantages.AdvantageLearner` reads."""

    value_coefficient: NonNegative = 0.5
    value_discounts: tuple[Share, ...] = ()  # of each of policy.value_heads; empty = discount
    value_weights: tuple[NonNegative, ...] = ()  # of the heads' advantages in their sum; empty = the mean
    entropy_coefficient: NonNegative = 0.01
    entropy_coefficient_final: NonNegative = 0.01  # reached linearly at the end of the budget
    epochs: Count = 1
    sample_reuse: Reuse = 0.0  # how often a decision is differentiated, on average; 0 = epochs
    minibatches: Minibatches = 4
    normalise_advantages: bool = True
    upgo_coefficient: NonNegative = 0.0  # of AlphaStar's upgoing returns; 0 = off
    teacher: str = ""  # weights to stay near, RUN@best or a file; "" = none
    teacher_coefficient: NonNegative = 1.0  # of the KL from the teacher
    teacher_coefficient_final: NonNegative = 0.0  # reached linearly at the end of the budget

    def head_problems(self, heads: int) -> Iterator[tuple[str, str]]:
        """What does not fit a network of ``heads`` value heads: the key, and the rest of the message."""
        for key, given in (("value_discounts", self.value_discounts), ("value_weights", self.value_weights)):
            if given and len(given) != heads:
                yield key, f"has {len(given)} values: expected {heads}, one for each of policy.value_heads"
        if self.value_weights and not any(self.value_weights):
            yield "value_weights", "are all 0: expected one above 0"
        if heads > 1 and self.upgo_coefficient > 0.0:
            yield (
                "upgo_coefficient",
                f"= {self.upgo_coefficient:g} with policy.value_heads = {heads}: expected 0",
            )
        if self.value_discounts and self.horizon > 0.0:
            yield (
                "value_discounts",
                "with algorithm.horizon: each head has its own horizon; expected horizon = 0",
            )


class ActorCriticConfig(AdvantageConfig, frozen=True, forbid_unknown_fields=True):
    """What :class:`~ludus.algorithms.actor_critic.learner.ActorCriticLearner` reads."""

    target_kl: NonNegative = 0.0  # epochs end above this KL from the behaviour policy, nats; 0 = off
    learning_rate_kl: NonNegative = 0.0  # the learning rate is moved to reach this KL, nats; 0 = off
    kl_coefficient: NonNegative = 0.0  # of the KL from the weights that an update begins with; 0 = off

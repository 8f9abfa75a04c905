"""What AlphaZero's learner reports of the minibatches that it learned from."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ludus.algorithms.learner import UpdateStats


@dataclass(slots=True)
class LearnStats:
    """Means over the samples of one round of learning."""

    minibatches: int = 0
    samples: int = 0
    policy_loss: float = 0.0  # cross entropy, nats
    policy_excess: float = 0.0  # cross entropy less the targets' own entropy: KL(target || network)
    value_loss: float = 0.0
    grad_norm: float = 0.0
    learning_rate: float = 0.0
    counted: int = 0  # samples whose match was counted; what follows are means over these, None without any
    ownership_loss: float | None = None  # cross entropy of a cell's owner, nats
    score_loss: float | None = None  # Huber's, points

    def update(self, version: int, lag: dict[int, int]) -> UpdateStats:
        """The update that these minibatches were.

        Args:
            version: of the weights that it made.
            lag: versions behind -> decisions, of the matches that came in for it.
        """
        numbers = {
            "loss/policy": self.policy_loss,
            "loss/policy_excess": self.policy_excess,
            "loss/value": self.value_loss,
            "learner/learning_rate": self.learning_rate,
            "learner/grad_norm": self.grad_norm,
            "learner/minibatches": float(self.minibatches),
        }
        ends = {"loss/ownership": self.ownership_loss, "loss/score": self.score_loss}
        learned = {name: loss for name, loss in ends.items() if loss is not None}
        if learned:
            numbers |= learned | {"learner/counted": float(self.counted)}
        return UpdateStats(version, self.samples, self.samples, lag, numbers)

    def finite(self) -> bool:
        """Whether every loss is a number."""
        losses = (self.policy_loss, self.value_loss, self.ownership_loss or 0.0, self.score_loss or 0.0)
        return all(map(math.isfinite, losses))

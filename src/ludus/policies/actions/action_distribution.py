"""Action distributions: a policy samples decisions from them and evaluates given decisions by them.

Acting samples and learning evaluates, both from the same distribution and through the same masks, so
that at lag 0 the probability ratio is 1. Shapes: ``N`` rows, ``K`` heads, ``A`` bytes of a mask.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor

from ludus.policies.actions.distribution import Heads


class ActionSample(NamedTuple):
    """Sampled decisions and their log-probabilities."""

    actions: Tensor  # int64[N, K]
    log_prob: Tensor  # float32[N], of whole decisions


class ActionEvaluation(NamedTuple):
    """Log-probability and entropy of given decisions. ``entropy`` is in nats, summed over heads."""

    log_prob: Tensor  # float32[N]
    entropy: Tensor  # float32[N]


class ActionDistribution(ABC):
    """Distributions over the decisions of ``N`` time steps."""

    @abstractmethod
    def sample(self, mask: Tensor, uniform: Tensor | None) -> ActionSample:
        """Sample decisions; never an illegal choice, no gradients.

        Args:
            mask: ``uint8[N, A]``, 1 = legal.
            uniform: ``float32[N, K]``, inverted to choices; None: the most probable choice of each head.
        """

    @abstractmethod
    def evaluate(self, mask: Tensor, actions: Tensor) -> ActionEvaluation:
        """Evaluate ``actions: int[N, K]`` that were legal under ``mask: uint8[N, A]``."""

    @abstractmethod
    def divergence(self, other: ActionDistribution, mask: Tensor, actions: Tensor) -> Tensor:
        """Return KL(self || other) in nats, summed over heads: ``float32[N]``; carries both gradients.

        Exact for independent heads. Dependent heads are compared given the choices before them in
        ``actions: int[N, K]`` (chain rule). The mean over actions that ``self`` sampled is then the
        divergence of whole decisions.

        Args:
            other: Distributions over the same decisions, of the same kind; else ``TypeError``.
            mask: ``uint8[N, A]``, 1 = legal.
            actions: Read only by dependent heads.
        """

    @abstractmethod
    def select(self, index: Tensor) -> ActionDistribution:
        """Return the distributions of the time steps ``index: int64[M]``, ascending, or ``bool[N]``."""


class Independent(ActionDistribution):
    """Distributions of independent heads: ``logits: float32[N, A]``."""

    def __init__(self, heads: Heads, logits: Tensor) -> None:
        """Take the heads of a game and their logits."""
        self.heads, self.logits = heads, logits

    @torch.no_grad()
    def sample(self, mask: Tensor, uniform: Tensor | None) -> ActionSample:
        """Sample decisions, as :class:`ActionDistribution`."""
        log_probs = self.heads.log_probs(self.logits, mask)
        actions = self.heads.greedy(log_probs) if uniform is None else self.heads.sample(log_probs, uniform)
        return ActionSample(actions, self.heads.log_prob_of(log_probs, actions))

    def evaluate(self, mask: Tensor, actions: Tensor) -> ActionEvaluation:
        """Evaluate decisions, as :class:`ActionDistribution`."""
        log_probs = self.heads.log_probs(self.logits, mask)
        return ActionEvaluation(self.heads.log_prob_of(log_probs, actions), self.heads.entropy(log_probs))

    def divergence(self, other: ActionDistribution, mask: Tensor, actions: Tensor) -> Tensor:
        """Return the exact divergence of ``other``, also independent."""
        if not isinstance(other, Independent):
            raise TypeError(f"expected independent heads, got {type(other).__name__}")
        return self.heads.kl(
            self.heads.log_probs(self.logits, mask), self.heads.log_probs(other.logits, mask)
        )

    def select(self, index: Tensor) -> Independent:
        """Return the distributions of some time steps, as :class:`ActionDistribution`."""
        return Independent(self.heads, self.logits[index])

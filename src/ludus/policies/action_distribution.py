"""What a policy would like to do, from which decisions are drawn and by which they are judged.

Acting draws a decision and learning judges it, both from the same preference and through the same masks, so
that at lag 0 the probability ratio is 1. Shapes: ``N`` rows, ``K`` heads, ``A`` bytes of a mask.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor

from ludus.policies.distribution import Heads


class Drawn(NamedTuple):
    """Decisions and their log-probabilities."""

    actions: Tensor  # int64[N, K]
    log_prob: Tensor  # float32[N], of whole decisions


class Judged(NamedTuple):
    """Of given decisions. ``entropy`` is in nats, summed over heads."""

    log_prob: Tensor  # float32[N]
    entropy: Tensor  # float32[N]


class Preference(ABC):
    """Of ``N`` moments."""

    @abstractmethod
    def draw(self, mask: Tensor, uniform: Tensor | None) -> Drawn:
        """Decisions by inversion of ``uniform: float32[N, K]``; the likeliest, head by head, without it.

        ``mask: uint8[N, A]``. Never an illegal choice; no gradients.
        """

    @abstractmethod
    def judge(self, mask: Tensor, actions: Tensor) -> Judged:
        """``actions: int[N, K]`` that were legal under ``mask: uint8[N, A]``."""

    @abstractmethod
    def select(self, index: Tensor) -> Preference:
        """Of the moments ``index: int64[M]``, which rise, or that ``index: bool[N]`` marks."""


class Independent(Preference):
    """Heads that do not look at each other: ``logits: float32[N, A]``."""

    def __init__(self, heads: Heads, logits: Tensor) -> None:
        self.heads, self.logits = heads, logits

    @torch.no_grad()
    def draw(self, mask: Tensor, uniform: Tensor | None) -> Drawn:
        log_probs = self.heads.log_probs(self.logits, mask)
        actions = self.heads.greedy(log_probs) if uniform is None else self.heads.sample(log_probs, uniform)
        return Drawn(actions, self.heads.log_prob_of(log_probs, actions))

    def judge(self, mask: Tensor, actions: Tensor) -> Judged:
        log_probs = self.heads.log_probs(self.logits, mask)
        return Judged(self.heads.log_prob_of(log_probs, actions), self.heads.entropy(log_probs))

    def select(self, index: Tensor) -> Independent:
        return Independent(self.heads, self.logits[index])

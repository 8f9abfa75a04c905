"""Q-values as an action distribution: epsilon-greedy, drawn and evaluated like every other policy.

Shapes: ``N`` rows, ``K`` heads, ``A`` choices of all heads together. With several heads, ``Q(s, a)`` is the
mean over heads of ``Q_k(s, a_k)``, so that each head's best choice is part of the best decision (after
Tavakoli et al. 2018, action branching).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ludus.policies.actions.action_distribution import ActionDistribution, ActionEvaluation, ActionSample
from ludus.policies.actions.distribution import Heads
from ludus.policies.layers.normaliser import ValueNormaliser


class QValues(ActionDistribution):
    """An epsilon-greedy policy. Each head explores by itself."""

    def __init__(self, heads: Heads, scores: Tensor, value: Tensor | None, epsilon: Tensor) -> None:
        """Take the outputs of a network.

        Args:
            heads: Independent heads, none continuous.
            scores: ``float32[N, A]``: Q-values, or with ``value`` the advantages of duelling networks.
            value: ``float32[N]``: V of duelling networks (Wang et al. 2016), or None.
            epsilon: ``float32[]`` or ``[N]``: the share of choices drawn evenly.
        """
        self.heads, self.scores, self.value, self.epsilon = heads, scores, value, epsilon

    def values(self, mask: Tensor) -> Tensor:
        """Return ``float32[N, A]``: Q of each choice within its head; -inf where illegal. Carries gradients.

        Duelling: ``V + advantage - mean over legal choices of advantage`` (Wang et al. 2016, equation 9).

        Args:
            mask: ``uint8[N, A]``, 1 = legal. A head without any legal choice has choice 0.
        """
        parts = []
        for scores, legal in zip(self._split(self.scores.float()), self._legal(mask), strict=True):
            if self.value is not None:
                mean = scores.masked_fill(~legal, 0.0).sum(dim=1) / legal.sum(dim=1)
                scores = scores + (self.value - mean).unsqueeze(1)
            parts.append(scores.masked_fill(~legal, -torch.inf))
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    def taken(self, mask: Tensor, actions: Tensor) -> Tensor:
        """Return ``float32[N]``: Q of whole legal decisions ``actions: int[N, K]``. Carries gradients."""
        return self._mean(self.values(mask), actions)

    @torch.no_grad()
    def greedy(self, mask: Tensor) -> Tensor:
        """Return ``int64[N, K]``: the best legal choice of each head, the first among equals."""
        return self.heads.greedy(self.values(mask))

    @torch.no_grad()
    def best_unmasked(self) -> Tensor:
        """Return ``float32[N]``: Q of the best decision if every choice were legal."""
        mask = torch.ones_like(self.scores, dtype=torch.uint8)
        values = self.values(mask)
        return self._mean(values, self.heads.greedy(values))

    @torch.no_grad()
    def log_probs(self, mask: Tensor) -> Tensor:
        """Return ``float32[N, A]``: log-probabilities within each head; -inf for probability 0."""
        epsilon = self.epsilon.reshape(-1, 1)
        parts = []
        for values, legal in zip(self._split(self.values(mask)), self._legal(mask), strict=True):
            even = legal.float() / legal.sum(dim=1, keepdim=True)
            best = torch.zeros_like(even).scatter_(1, values.argmax(dim=1, keepdim=True), 1.0)
            parts.append((epsilon * even + (1.0 - epsilon) * best).log())
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    @torch.no_grad()
    def sample(self, mask: Tensor, uniform: Tensor | None) -> ActionSample:
        """Sample decisions, as :class:`ActionDistribution`."""
        log_probs = self.log_probs(mask)
        actions = self.greedy(mask) if uniform is None else self.heads.sample(log_probs, uniform)
        return ActionSample(actions, self.heads.log_prob_of(log_probs, actions))

    def evaluate(self, mask: Tensor, actions: Tensor) -> ActionEvaluation:
        """Evaluate decisions, as :class:`ActionDistribution`.

        There are no gradients: the policy is no smooth function of Q.
        """
        log_probs = self.log_probs(mask)
        return ActionEvaluation(self.heads.log_prob_of(log_probs, actions), self.heads.entropy(log_probs))

    def divergence(self, other: ActionDistribution, mask: Tensor, actions: Tensor) -> Tensor:
        """Return the divergence, as :class:`ActionDistribution`; infinite where ``other`` never draws.

        There are no gradients.
        """
        if not isinstance(other, QValues):
            raise TypeError(f"expected Q-values, got {type(other).__name__}")
        return self.heads.kl(self.log_probs(mask), other.log_probs(mask))

    def select(self, index: Tensor) -> QValues:
        """Return the distributions of some time steps, as :class:`ActionDistribution`."""
        value = None if self.value is None else self.value[index]
        epsilon = self.epsilon if self.epsilon.dim() == 0 else self.epsilon[index]
        return QValues(self.heads, self.scores[index], value, epsilon)

    def _mean(self, values: Tensor, actions: Tensor) -> Tensor:
        """Return means over heads of ``values: [N, A]`` at ``actions: int[N, K]``."""
        chosen = [part.gather(1, actions[:, k : k + 1].long()) for k, part in enumerate(self._split(values))]
        return torch.cat(chosen, dim=1).mean(dim=1)

    def _split(self, tensor: Tensor) -> tuple[Tensor, ...]:
        """Split ``[N, A]`` into ``[N, size]`` of each head."""
        return torch.split(tensor, list(self.heads.sizes), dim=1)

    def _legal(self, mask: Tensor) -> list[Tensor]:
        """Return ``bool[N, size]`` of each head, with at least one legal choice in each row."""
        legal = []
        for part in self._split(mask != 0):
            none = ~part.any(dim=1, keepdim=True)
            legal.append(torch.cat([part[:, :1] | none, part[:, 1:]], dim=1))
        return legal


def absorb_targets(targets: Tensor, values: ValueNormaliser, heads: Sequence[nn.Linear]) -> None:
    """Add ``float32[N]`` to the statistics and keep the predictions of all ``heads`` in the game's units.

    PopArt for heads of any width (van Hasselt et al. 2016b, equation 5). Changes ``heads`` in place, except
    with the first targets: predictions are arbitrary then, and move to the targets' mean.
    """
    old, began = values.moments(), float(values.weight) > 0.0
    values.absorb(targets, heads[0])
    mean, deviation = values.moments()
    for head in heads[1:] if began else ():
        with torch.no_grad():
            head.weight.mul_(old[1] / deviation)
            head.bias.mul_(old[1]).add_(old[0] - mean).div_(deviation)

"""Inputs of a policy network's heads, and its outputs for sequences."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from ludus.policies.actions.action_distribution import ActionDistribution
from ludus.policies.actions.pointed import PointerTargets
from ludus.policies.protocol import logits_of


class Sequence(NamedTuple):
    """Outputs for ``[T, B]`` time steps. ``value`` is normalised, as the loss expects it."""

    distribution: ActionDistribution  # of T * B time steps; undefined for inactive ones
    value: Tensor  # float32[T, B], or [T, B, K] with K > 1 value heads
    memory: Tensor | None  # after the last step

    @property
    def logits(self) -> Tensor:
        """``float32[T, B, A]`` of independent heads; ``TypeError`` for dependent ones."""
        return logits_of(self.distribution).reshape(*self.value.shape[:2], -1)


class Encoding(NamedTuple):
    """Inputs of the heads for ``N`` rows."""

    features: Tensor  # [N, hidden], of the policy's heads
    #: [N, hidden], of the value head; ``features`` themselves with a shared critic, None if it is not asked
    critic: Tensor | None
    pointed: dict[str, PointerTargets]  # entities and cells that heads point at


def spread(encoded: Encoding, index: Tensor, rows: int) -> Encoding:
    """Return ``encoded`` at the rows ``index: int64[n]`` among ``rows``; zeros for the rest."""
    features = spread_rows(encoded.features, index, rows)
    critic: Tensor | None = features
    if encoded.critic is not encoded.features:
        critic = None if encoded.critic is None else spread_rows(encoded.critic, index, rows)
    return Encoding(features, critic, {name: p.spread(index, rows) for name, p in encoded.pointed.items()})


def spread_rows(features: Tensor, index: Tensor, rows: int) -> Tensor:
    """Return ``features: [n, D]`` at the rows ``index: int64[n]`` among ``rows``; zeros for the rest."""
    return features.new_zeros((rows, features.shape[1])).index_copy(0, index, features)

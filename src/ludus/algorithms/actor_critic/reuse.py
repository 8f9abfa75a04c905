"""Passes over a slab in shuffled minibatches: whole epochs, or any number of passes on average.

OpenAI Five calls it sample reuse (section 4.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from ludus.algorithms.actor_critic.config import AdvantageConfig
from ludus.algorithms.forward import Bools, part_size, units_of
from ludus.algorithms.samples import Index, pieces
from ludus.policies.network import PolicyNetwork


class Minibatches(Protocol):
    """Settings of one pass."""

    @property
    def minibatches(self) -> int: ...
    @property
    def micro_batch(self) -> int: ...


def passes(config: AdvantageConfig) -> list[float]:
    """Share in (0, 1] of the slab that each pass over it differentiates.

    Args:
        config: ``epochs``, and ``sample_reuse``, which takes their place where it is not 0.
    """
    if config.sample_reuse <= 0.0:
        return [1.0] * config.epochs
    whole = int(config.sample_reuse)
    rest = config.sample_reuse - whole
    return [1.0] * whole + ([rest] if rest > 0.0 else [])


def shuffled_minibatches(
    network: PolicyNetwork, valid: Bools, config: Minibatches, key: Sequence[int], share: float = 1.0
) -> Iterator[list[Index]]:
    """The parts of each minibatch of one shuffled pass over a slab.

    Args:
        network: with memory its units are rows, else decisions.
        valid: ``bool[T, R]``, the decisions of the pass.
        config: number of minibatches, decisions of a part.
        key: of the shuffle.
        share: in (0, 1] of the slab.
    """
    size = part_size(network, config.micro_batch, len(valid))
    shuffled = np.random.Generator(np.random.Philox(key=list(key))).permutation(units_of(network, valid))
    for minibatch in minibatches_of(shuffled, share, config.minibatches):
        parts = list(pieces(minibatch, size))
        if parts:
            yield parts


def minibatches_of(shuffled: Index, share: float, minibatches: int) -> list[Index]:
    """The first ``share`` of ``shuffled: [N]``, at least one, in minibatches as large as a whole pass has.

    Args:
        shuffled: decisions, or rows of a policy with memory.
        share: in (0, 1].
        minibatches: of a whole pass.
    """
    if share < 1.0:
        shuffled = shuffled[: max(1, round(share * len(shuffled)))]
        minibatches = max(1, round(share * minibatches))
    return list(np.array_split(shuffled, minibatches))

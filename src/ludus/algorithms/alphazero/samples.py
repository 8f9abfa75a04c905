"""Positions to learn from, as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ludus.flow.slab import Array


@dataclass(slots=True)
class Positions:
    """``N`` positions: packed observations, legal moves, and what the search and the match made of them."""

    obs: dict[str, Array]  # packed[N, ...]
    mask: npt.NDArray[np.uint8]  # [N, A]
    policy: npt.NDArray[np.float32]  # [N, A], sums to 1
    value: npt.NDArray[np.float32]  # [N], for the seat that decides

    def __len__(self) -> int:
        return len(self.value)

    def take(self, index: npt.NDArray[np.int64] | slice) -> Positions:
        """Some of them."""
        obs = {name: a[index] for name, a in self.obs.items()}
        return Positions(obs, self.mask[index], self.policy[index], self.value[index])

    def batches(self, size: int) -> Iterator[Positions]:
        """Whole minibatches in order; what does not fill one is left out."""
        for begin in range(0, len(self) - size + 1, size):
            yield self.take(slice(begin, begin + size))

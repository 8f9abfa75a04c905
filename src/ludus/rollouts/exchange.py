"""Where a sampler and a learner meet: weights come from a source, slabs go to a sink.

In one process the learner itself is behind both; on several machines something that sends them is. A sampler
sees no difference.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch

from ludus.flow import RolloutStats, Slab, Weights
from ludus.policies.protocol import Network


class WeightSource(Protocol):
    """The newest weights of one learner. Any thread may ask."""

    @property
    def version(self) -> int:
        """Of the weights that :meth:`newest` and :meth:`copy_to` give."""
        ...

    def newest(self) -> Weights: ...

    def copy_to(self, network: Network) -> int:
        """Puts the newest weights into ``network`` and returns their version.

        A learner in the same process copies from memory to memory, without a :class:`Weights` between.
        """
        ...


class SlabSink(Protocol):
    """Takes filled slabs."""

    def put(self, slab: Slab, stats: RolloutStats) -> None:
        """``slab`` belongs to the sink until the sampler is given it again."""
        ...


class StoredWeights:
    """A source of weights that were stored or sent; :meth:`put` replaces them."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights

    @property
    def version(self) -> int:
        """See :class:`WeightSource`."""
        return self._weights.meta.version

    def put(self, weights: Weights) -> None:
        """Newer weights."""
        self._weights = weights

    def newest(self) -> Weights:
        """See :class:`WeightSource`."""
        return self._weights

    @torch.no_grad()
    def copy_to(self, network: Network) -> int:
        """Raises ``ValueError`` where the weights are not those of such a network."""
        weights = self._weights
        mine = network.state_dict()
        if mine.keys() != weights.tensors.keys():
            odd = sorted(mine.keys() ^ weights.tensors.keys())
            raise ValueError(f"weights of version {weights.meta.version} do not fit: {', '.join(odd[:4])}")
        for name, tensor in mine.items():
            array = weights.tensors[name]
            if tuple(array.shape) != tuple(tensor.shape):
                raise ValueError(
                    f"weights of version {weights.meta.version}: {name} has shape {tuple(array.shape)}, "
                    f"expected {tuple(tensor.shape)}"
                )
            tensor.copy_(torch.from_numpy(np.array(array)))
        return weights.meta.version

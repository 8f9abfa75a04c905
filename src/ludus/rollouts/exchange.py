"""Interfaces between a sampler and the rest of a run: commands go in, slabs and their statistics come out.

Weights come from a source: in one process the learner itself, on several machines something that sends them.
A sampler sees no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ludus.flow import GameSpec, RolloutStats, Slab, Weights
from ludus.flow.command import R, SamplerCommand

if TYPE_CHECKING:  # a process whose decisions are made elsewhere has no networks
    from ludus.policies.protocol import Network
    from ludus.rollouts.network_actor import NetworkActor

TIME_STEP = "collector.time_step"  # array of a snapshot: int64[1], time steps since the start of the run
INCARNATION = "incarnation"  # array of a rollout's snapshot: int64[1], how many came before it; absent for 0


class WeightSource(Protocol):
    """The newest weights of one learner. Any thread may call it."""

    @property
    def version(self) -> int:
        """Version of the weights that :meth:`newest` and :meth:`copy_to` give."""
        ...

    def newest(self) -> Weights:
        """Return the weights that act as arrays."""
        ...

    def copy_to(self, network: Network) -> int:
        """Copy the newest weights into ``network`` and return their version.

        A learner in the same process copies from memory to memory, without a :class:`Weights` between.
        """
        ...


@dataclass(frozen=True, slots=True)
class Facts:
    """Properties of a sampler that do not change, but for the labels of lanes.

    Args:
        spec: Interface of the game.
        params: Parameters of the game.
        slots: Number of matches that orders are for; of joined samplers, the slots of each.
        all_slots: Number of concurrent matches; results have slots below it.
        slabs: Slabs to be filled in turn.
        labels: Names in statistics of the players of a match's result (``policy:3``).
        actors: Actors with the weights of learners, by policy id.
        learned: Policy ids whose memory at the first time step is part of a slab.
    """

    spec: GameSpec
    params: dict[str, str]
    slots: int
    all_slots: int
    slabs: Sequence[Slab]
    labels: dict[str, str]
    actors: Mapping[int, NetworkActor]
    learned: Collection[int]


@dataclass(frozen=True, slots=True)
class SamplerState:
    """Properties of a sampler that its commands and slabs change.

    Args:
        time_step: Number of time steps since the start of the run.
        played: Whether the present matches have filled a slab, in this process or before a restore.
        bound: Players by the lane that plays them.
    """

    time_step: int
    played: bool
    bound: Mapping[int, str]


class Sampler(Protocol):
    """Plays matches into slabs. One thread calls it, and sends commands between two slabs.

    While slabs are requested (:class:`ludus.rollouts.commands.PlayAhead`), players, orders, weights and terms
    may change for later requests. Matches are stored and restored only without open requests.
    """

    @property
    def facts(self) -> Facts:
        """Properties that do not change."""
        ...

    @property
    def state(self) -> SamplerState:
        """The present state. Any thread may read it."""
        ...

    def send(self, command: SamplerCommand[R]) -> R:
        """Carry out ``command`` and return its answer. Raises what the command documents."""
        ...

    def play(self, slab: Slab, between: Callable[[], None] | None = None) -> RolloutStats:
        """Fill ``slab``, one of :attr:`Facts.slabs`. ``between`` is called before every time step."""
        ...

    def close(self) -> None:
        """Stop the matches. Idempotent."""
        ...


class StoredWeights:
    """Source of weights that were stored or sent; :meth:`put` replaces them."""

    def __init__(self, weights: Weights) -> None:
        """Start with ``weights``."""
        self._weights = weights

    @property
    def version(self) -> int:
        """See :class:`WeightSource`."""
        return self._weights.meta.version

    def put(self, weights: Weights) -> None:
        """Replace the weights by newer ones."""
        self._weights = weights

    def newest(self) -> Weights:
        """See :class:`WeightSource`."""
        return self._weights

    def copy_to(self, network: Network) -> int:
        """Copy the weights into ``network``. Raises ``ValueError`` where they are not of such a network."""
        import torch

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
            with torch.no_grad():
                tensor.copy_(torch.from_numpy(np.array(array)))
        return weights.meta.version

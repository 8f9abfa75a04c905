"""Interfaces between a sampler and the rest of a run: weights come from a source, slabs go to a sink.

In one process the learner itself is behind both; on several machines something that sends them is. A sampler
sees no difference. Everything that crosses :class:`Sampler` is data: orders, weights, slabs, results, arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

import numpy as np
import torch

from ludus.flow import GameSpec, Orders, RolloutStats, Slab, Terms, Weights
from ludus.flow.slab import Array
from ludus.policies.protocol import Network
from ludus.rollouts.network_actor import NetworkActor

TIME_STEP = "collector.time_step"  # array of a snapshot: int64[1], time steps since the start of the run
INCARNATION = "incarnation"  # array of a rollout's snapshot: int64[1], how many came before it; none for 0


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


class SlabSink(Protocol):
    """Receiver of filled slabs."""

    def put(self, slab: Slab, stats: RolloutStats) -> None:
        """Take ``slab``, which belongs to the sink until the sampler is given it again."""
        ...


class Sampler(Protocol):
    """Plays matches into slabs. One thread calls it; all but :meth:`play` and :meth:`take` between two slabs.

    While slabs are asked for (:meth:`ask`), players, orders and weights may change for those that are asked
    for later. Matches are stored and restored only when none is.

    Frozen players are named; :meth:`put` brings their weights. Live players are other learners' policies:
    :meth:`take` brings their weights, by the lane that plays them.
    """

    @property
    def spec(self) -> GameSpec:
        """Interface of the game."""
        ...

    @property
    def params(self) -> dict[str, str]:
        """Parameters of the game."""
        ...

    @property
    def slots(self) -> int:
        """Number of matches that orders are for: of several samplers as one, the slots of each."""
        ...

    @property
    def all_slots(self) -> int:
        """Number of matches that are played at a time; results have slots below it."""
        ...

    @property
    def slabs(self) -> Sequence[Slab]:
        """Slabs to be filled in turn."""
        ...

    @property
    def labels(self) -> dict[str, str]:
        """Names in statistics of the players of a match's result (``policy:3``)."""
        ...

    @property
    def actors(self) -> Mapping[int, NetworkActor]:
        """Actors with the weights of :meth:`take`, by the policy ids of learners."""
        ...

    @property
    def learned(self) -> Collection[int]:
        """Policy ids whose memory at the first time step is part of a slab."""
        ...

    @property
    def time_step(self) -> int:
        """Number of time steps since the start of the run."""
        ...

    @property
    def played(self) -> bool:
        """Whether the present matches have filled a slab, in this process or before a restore."""
        ...

    @property
    def bound(self) -> Mapping[int, str]:
        """Players by the lane that plays them."""
        ...

    def take(self, sources: Mapping[int, WeightSource]) -> None:
        """Give the networks of policy ids their sources' newest weights, where these are others.

        Policy ids are those of learners, and lanes of live players.
        """
        ...

    def missing(self, players: Collection[str]) -> list[str]:
        """Return the frozen ones of ``players`` whose weights must be :meth:`put` before they play."""
        ...

    def put(self, player: str, weights: Weights, keep: Collection[str] = ()) -> None:
        """Keep the weights of a frozen player, which may push out others that are neither playing nor kept.

        Raises ``ConfigError`` for weights of another interface.
        """
        ...

    def seat(self, orders: Orders) -> bool:
        """Bind the players of ``orders`` to lanes and follow the orders from now on.

        A match in play continues with the player that started it. A player of a mixture without a free
        lane is left out until this is called again; the others are drawn in its place. Returns whether
        nothing is left to be done by another call: all players have lanes, and of a mixture no others.
        """
        ...

    def follow_orders(self, orders: Orders) -> bool:
        """Follow ``orders`` with the lanes as they are bound. Returns what :meth:`seat` returns."""
        ...

    def load_lanes(self, bound: Mapping[int, str]) -> None:
        """Set :attr:`bound`, before :meth:`follow_orders`. Raises ``ValueError`` for unknown lanes."""
        ...

    def replace(self, player: str, weights: Weights) -> None:
        """Let ``weights`` play the lane of ``player`` from now on, without the memory of its rows."""
        ...

    def ask(self, terms: Terms) -> bool:
        """Ask for one more slab, where other processes play it while the caller does something else.

        Slabs come from :meth:`play` in the order in which they were asked for, each played with the weights,
        orders and lanes of the moment it was asked for.

        Args:
            terms: See :meth:`play`, which ignores its own for such a slab.

        Returns:
            Whether a slab was asked for. False: this process plays, and only when :meth:`play` is called.
        """
        ...

    def play(
        self,
        slab: Slab,
        sink: SlabSink,
        between: Callable[[], None] | None = None,
        terms: Terms = Terms(),  # noqa: B008  frozen
    ) -> RolloutStats:
        """Fill ``slab`` and give it to ``sink``.

        Args:
            slab: one of :attr:`slabs`.
            sink: receiver of the slab.
            between: called before every time step.
            terms: conditions of play from now on.
        """
        ...

    def in_play(self) -> dict[int, int]:
        """Return the number of matches in play by the tag of their order, 0 without one.

        They are those after the last slab of :meth:`play`, whatever slabs are asked for.
        """
        ...

    def snapshot(self) -> dict[str, Array]:
        """Return matches and rows' memory as arrays; :data:`TIME_STEP` is one of them."""
        ...

    def restore(self, state: Mapping[str, Array]) -> None:
        """Set what :meth:`snapshot` returned. Raises ``ValueError`` where it does not fit."""
        ...

    def start_at(self, time_step: int) -> None:
        """Count time steps from ``time_step`` on; random draws do not repeat those before it."""
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

    @torch.no_grad()
    def copy_to(self, network: Network) -> int:
        """Copy the weights into ``network``. Raises ``ValueError`` where they are not of such a network."""
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

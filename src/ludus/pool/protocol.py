"""The pool protocol: N matches on native threads, in processes, or in the caller.

Use, for a pool of G groups and slabs of T steps:

    for g in range(pool.groups): pool.attach(g, slab)      # before the first recv, and between slabs
    batch = pool.recv(g)                                   # batch.t == 0: observations are in the slab
    ... write slab.actions[batch.t, rows] for every row in batch.policy_rows ...
    pool.send(g)                                           # the group's matches play on, in the background
    batch = pool.recv(g)                                   # batch.t == 1; reward[0] etc. are written
    ...
    batch = pool.recv(g)                                   # batch.t == T: bootstrap observation; do not send
    pool.attach(g, other_slab); batch = pool.recv(g)       # t == 0 again, the same time step in the new slab

*Grouped* order calls ``recv(g)`` in a fixed order and is bit-reproducible for any number of
threads; two groups are double-buffered sampling. *Ready-first* order makes many small groups and
calls ``recv()``: the first group that is ready (the first M of N).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec, Lineup, PoolStats, Slab, StepBatch, Terms
from ludus.flow.slab import Allocator, Array
from ludus.pool.orders import InPlay


class Pool(Protocol):
    """Many matches at once. One thread calls a pool; its workers are its own."""

    @property
    def spec(self) -> GameSpec:
        """The game's declaration of observations and actions."""
        ...

    @property
    def lineup(self) -> Lineup:
        """The controllers of each role of a match."""
        ...

    @property
    def slots(self) -> int:
        """Number of matches that run in parallel."""
        ...

    @property
    def rows(self) -> int:
        """``R``: number of rows. A (slot, seat) has a row iff its plan can draw a learned policy."""
        ...

    @property
    def groups(self) -> int:
        """Number of groups, each received and sent by itself."""
        ...

    @property
    def row_slot(self) -> Array:
        """int32[R]: slot of each row."""
        ...

    @property
    def row_seat(self) -> Array:
        """int32[R]: seat of each row."""
        ...

    def group_rows(self, group: int) -> slice:
        """Return the contiguous rows of a group."""
        ...

    @property
    def finished(self) -> bool:
        """Whether the ``num_matches`` matches are played and received."""
        ...

    def slab(self, steps: int, allocate: Allocator | None = None) -> Slab:
        """Return memory of ``steps`` steps that this pool's workers can write into.

        Args:
            steps: Number of time steps.
            allocate: Allocator of the arrays, such as one of pinned memory; None: zeros. A pool whose workers
                are other processes has its slabs in memory that they share, and does not call it.
        """
        ...

    def attach(self, group: int, slab: Slab) -> None:
        """Let the group write into ``slab`` from t = 0 on; its current time step is copied there."""
        ...

    def recv(self, group: int | None = None) -> StepBatch:
        """Wait until the group (or, with None, any sent group) is ready. Releases the GIL.

        Raises:
            MatchError: A game failed and the pool was made with ``on_error="raise"``. With ``"truncate"`` the
                match ends truncated with its error in the result.
        """
        ...

    def send(self, group: int) -> None:
        """Take ``slab.actions[t]`` of the group's active rows and start playing. Never blocks."""
        ...

    def set_mixture(self, plan: int, weights: list[float]) -> None:
        """Set the weights of a plan's controllers for matches that start later."""
        ...

    def set_terms(self, terms: Terms) -> None:
        """Change conditions of play.

        Raises:
            ValueError: A number out of range, bots in a game without bots, or shared rewards without teams.
        """
        ...

    def set_orders(self, orders: npt.NDArray[np.integer], tags: npt.NDArray[np.integer]) -> None:
        """Set the controllers of matches that start after the group's next send, until the next call.

        ``orders: [slots, plans]`` are indices into the controllers of each plan, -1 to draw one by the
        weights of the mixture; ``tags: [slots]`` come back in ``MatchResult.tag``. An order for one plan of a
        team holds for the whole team. Call it when no group is playing: then equal seeds give equal matches
        for any number of threads and groups.

        Raises:
            ValueError: An order or a tag out of range. Nothing has changed.
        """
        ...

    def in_play(self, group: int) -> InPlay:
        """Return tag and controllers of the match in each slot of a group that is not playing."""
        ...

    def random_actions(self, group: int, seed: int = 0) -> None:
        """Fill ``slab.actions[t]`` of a received group with uniformly random legal choices."""
        ...

    def slot_state(self, slot: int) -> bytes:
        """Return the slot's state, for a search, between recv and send of its group."""
        ...

    def slot_tick(self, slot: int) -> int:
        """Return the ticks since the slot's match started, between recv and send of its group."""
        ...

    def stats(self) -> PoolStats:
        """Return the counters since the pool was made."""
        ...

    def snapshot(self) -> bytes:
        """Return the exact state of every match and stream.

        Python games cannot store theirs and continue with their next matches. Call it between recv and send
        of all groups.
        """
        ...

    def restore(self, data: bytes) -> None:
        """Return to a snapshot of a pool made with the same arguments.

        Raises:
            ValueError: Damaged bytes, or bytes of another pool.
        """
        ...

    def close(self) -> None:
        """Stop the workers, matches in flight included. Idempotent; also called by ``__exit__``."""
        ...

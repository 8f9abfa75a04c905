"""The state, checks and properties that the pools of compiled games and of Python games share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec, Lineup, PoolOptions, Slab
from ludus.flow.slab import Allocator, Array, zeros
from ludus.pool.hosted.control_block import share
from ludus.pool.orders import Controllers, InPlay, Tags, checked_orders

if TYPE_CHECKING:
    from typing_extensions import Self


class PoolBase(ABC):
    """Part of :class:`ludus.pool.protocol.Pool` that does not depend on who plays the matches."""

    def __init__(self, spec: GameSpec, lineup: Lineup, options: PoolOptions) -> None:
        """Check the options. Raises ``ValueError``."""
        options.check()
        self._spec, self._lineup, self._options = spec, lineup, options
        self._slots, self._groups_count = options.slots, options.groups
        self._seed, self._raise = options.seed, options.on_error == "raise"

    def _set_rows(self, row_slot: Array, row_seat: Array, group_rows: Sequence[slice]) -> None:
        self._row_slot, self._row_seat = row_slot, row_seat
        self._group_rows = list(group_rows)
        self._rows = len(row_slot)

    @property
    def spec(self) -> GameSpec:
        """The game's declaration of observations and actions."""
        return self._spec

    @property
    def lineup(self) -> Lineup:
        """The controllers of each role of a match."""
        return self._lineup

    @property
    def slots(self) -> int:
        """Number of matches that run in parallel."""
        return self._slots

    @property
    def rows(self) -> int:
        """``R``: number of rows of all groups."""
        return self._rows

    @property
    def groups(self) -> int:
        """Number of groups."""
        return self._groups_count

    @property
    def row_slot(self) -> Array:
        """int32[R]: slot of each row."""
        return self._row_slot

    @property
    def row_seat(self) -> Array:
        """int32[R]: seat of each row."""
        return self._row_seat

    def group_rows(self, group: int) -> slice:
        """Return the contiguous rows of a group."""
        return self._group_rows[group]

    @abstractmethod
    def group_finished(self, group: int) -> bool:
        """Return whether the group has played its matches and all of them have been received."""

    @property
    def finished(self) -> bool:
        """Whether the ``num_matches`` matches are played and received."""
        return all(self.group_finished(g) for g in range(self._groups_count))

    def slab(self, steps: int, allocate: Allocator | None = None) -> Slab:
        """Return memory of ``steps`` steps that this pool's workers can write into.

        Args:
            steps: Number of time steps.
            allocate: Allocator of the arrays, such as one of pinned memory; None: zeros. A pool whose workers
                are other processes has its slabs in memory that they share, and does not call it.
        """
        slab = self._new_slab(steps, allocate or zeros)
        if self._rows:
            slab.row_slot, slab.row_seat = self._row_slot, self._row_seat
        return slab

    @abstractmethod
    def _new_slab(self, steps: int, allocate: Allocator) -> Slab: ...

    def set_orders(self, orders: npt.NDArray[np.integer], tags: npt.NDArray[np.integer]) -> None:
        """Set the standing orders of matches that start after the group's next send, until the next call.

        Call it when no group is playing: then equal seeds give equal matches for any number of threads and
        groups.

        Args:
            orders: ``[slots, plans]`` index of each plan's controller, -1 to draw one by the weights of the
                mixture. An order for one plan of a team holds for the whole team.
            tags: ``[slots]`` numbers that come back in ``MatchResult.tag``.

        Raises:
            ValueError: An order or a tag out of range. Nothing has changed.
        """
        self._set_orders(*checked_orders(self._spec, self._lineup, self._slots, orders, tags))

    @abstractmethod
    def _set_orders(self, controllers: Controllers, tags: Tags) -> None: ...

    def in_play(self, group: int) -> InPlay:
        """Return tag and controllers of the match in each slot of a group that is not playing."""
        slots = len(share(0, self._slots, self._groups_count, group))
        matches = InPlay(np.zeros(slots, np.uint64), np.full((slots, len(self._lineup.plans)), -1, np.int32))
        self._fill_in_play(group, matches)
        return matches

    @abstractmethod
    def _fill_in_play(self, group: int, matches: InPlay) -> None: ...

    @abstractmethod
    def close(self) -> None:
        """Stop the workers, matches in flight included. Idempotent."""

    def __enter__(self) -> Self:
        """Return the pool, which is closed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the pool."""
        self.close()

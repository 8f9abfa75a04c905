"""Weights of all members in memory that their processes share, for those who meet them live.

Each member has a few slots. Its process writes the weights of a new version into the slot that the manager
names; another process waits for that version in that slot. The manager gives a slot again only after its
last reader.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from ludus.flow.slab import Array
from ludus.pool.hosted.shared import Segment, room
from ludus.training.league.remote.messages import NEWEST, LiveWeights
from ludus.training.learner_processes.memory import Field

_LOOK_S = 0.0005
_PLACES = 8  # int64 of a row in a cache line
VERSION, LATEST, FAILED = 0, 1, 2  # columns of a slot's row
# Of a member's first slot alone: LATEST, its newest slot + 1; FAILED, 1 where no newer weights will come.


class VersionBoard(Protocol):
    """Weights of members by version, as a member's process sees them."""

    def put(self, member: str, slot: int, version: int, tensors: Mapping[str, Array]) -> None:
        """Publish the weights of ``version`` of ``member``."""
        ...

    def wait(self, live: LiveWeights) -> tuple[int, dict[str, Array]]:
        """Return version and arrays of a live player, when they are there; of one that failed its newest."""
        ...

    def fail(self, member: str) -> None:
        """Note that no newer weights of ``member`` will come."""
        ...


class WeightsBoard:
    """Slots of all members. ``memory``: descriptor of the memory of another process; None: new memory."""

    def __init__(
        self, members: Sequence[str], fields: Sequence[Field], slots: int, memory: int | None = None
    ) -> None:
        """Map the memory of ``slots`` slots a member, each with arrays of ``fields``."""
        size = sum(room(f.shape, f.dtype) for f in fields)
        rows = len(members) * slots
        self.slots = slots
        self._segment = Segment(room((rows, _PLACES), np.int64) + rows * size, memory)
        self._heads = self._segment.allocate((rows, _PLACES), np.dtype(np.int64))
        self._places = {
            (member, slot): number * slots + slot
            for number, member in enumerate(members)
            for slot in range(slots)
        }
        self._arrays = [
            {f.name: self._segment.allocate(f.shape, np.dtype(f.dtype)) for f in fields} for _ in range(rows)
        ]

    @property
    def descriptor(self) -> int:
        """Descriptor that another process needs."""
        return self._segment.descriptor

    def put(self, member: str, slot: int, version: int, tensors: Mapping[str, Array]) -> None:
        """Write the weights of ``version`` of ``member``."""
        place = self._places[member, slot]
        self._heads[place, VERSION] = 0
        for name, array in self._arrays[place].items():
            array[...] = tensors[name]
        self._heads[place, VERSION] = version + 1
        self._heads[self._places[member, 0], LATEST] = slot + 1

    def fail(self, member: str) -> None:
        """Note that ``member`` failed. Processes that wait for its weights get its newest ones."""
        self._heads[self._places[member, 0], FAILED] = 1

    def wait(self, live: LiveWeights) -> tuple[int, dict[str, Array]]:
        """Return version and arrays of a live player, when they are there."""
        if live.version == NEWEST:
            return self._newest(live.member)
        place = self._places[live.member, live.slot]
        first = self._places[live.member, 0]
        while int(self._heads[place, VERSION]) != live.version + 1:
            if self._heads[first, FAILED] and int(self._heads[place, VERSION]) != live.version + 1:
                return self._newest(live.member)
            time.sleep(_LOOK_S)
        return live.version, self._arrays[place]

    def _newest(self, member: str) -> tuple[int, dict[str, Array]]:
        """Return a copy of the newest weights; another process may write meanwhile."""
        while True:
            slot = int(self._heads[self._places[member, 0], LATEST]) - 1
            if slot >= 0:
                place = self._places[member, slot]
                before = int(self._heads[place, VERSION])
                copied = {name: array.copy() for name, array in self._arrays[place].items()}
                if before > 0 and int(self._heads[place, VERSION]) == before:
                    return before - 1, copied
            time.sleep(_LOOK_S)

    def close(self) -> None:
        """Close the descriptor; arrays keep the memory alive."""
        self._segment.close()


class SlotBook:
    """The manager's notes about the slots of one member."""

    def __init__(self, slots: int) -> None:
        """Start with all of ``slots`` free."""
        self._free = list(range(slots))
        self._readers = Counter[int]()
        self.slot = -1  #: of the newest version

    def turn(self) -> int:
        """Return a slot without readers for the next version."""
        last, self.slot = self.slot, self._free.pop(0)
        if last >= 0 and not self._readers[last]:
            self._release(last)
        return self.slot

    def read(self) -> int:
        """Note a reader of the newest version, and return its slot."""
        self._readers[self.slot] += 1
        return self.slot

    def done(self, slot: int) -> None:
        """Note that a reader has what it needs."""
        self._readers[slot] -= 1
        if not self._readers[slot] and slot != self.slot:
            self._release(slot)

    def _release(self, slot: int) -> None:
        self._free.append(slot)
        self._free.sort()


def slot_count(members: int, ahead: int) -> int:
    """Return the slots of a member: one for its newest version, one for each slab that may read another.

    Args:
        members: Number of members.
        ahead: Rounds that are asked for before the results of the round in progress.
    """
    return members + ahead + 4

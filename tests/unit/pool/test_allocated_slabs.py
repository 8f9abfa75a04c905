"""Slabs in memory of the caller's choice, such as pinned memory for a card."""

from __future__ import annotations

import numpy as np

from ludus.flow import Controller, Lineup, PoolOptions, SeatPlan
from ludus.flow.slab import Allocator, Array
from ludus.pool.native import NativePool

STEPS = 5


class Memory:
    """One buffer, of which every array is a part."""

    def __init__(self) -> None:
        self.buffer = np.zeros(1 << 16, np.uint8)
        self.used = 0

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
        """Return the next part of the buffer."""
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        part: Array = self.buffer[self.used : self.used + size].view(dtype).reshape(shape)
        self.used += -(-size // 64) * 64
        return part


def played(allocate: Allocator | None) -> dict[str, Array]:
    lineup = Lineup(tuple(SeatPlan((Controller(policy=0),)) for _ in range(2)))
    with NativePool("tic_tac_toe", {}, lineup, PoolOptions(slots=4, seed=3)) as pool:
        slab = pool.slab(STEPS, allocate)
        pool.attach(0, slab)
        for t in range(STEPS + 1):
            pool.recv(0)
            if t < STEPS:
                pool.random_actions(0, 7 + t)
                pool.send(0)
        return slab.fields()


def test_a_pool_writes_into_memory_of_the_caller() -> None:
    memory = Memory()
    found, expected = played(memory.allocate), played(None)
    assert found.keys() == expected.keys()
    assert found["active"].any()
    for name, array in found.items():
        assert np.shares_memory(array, memory.buffer), name
        assert not np.shares_memory(expected[name], memory.buffer), name
        np.testing.assert_array_equal(array, expected[name])

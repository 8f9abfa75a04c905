"""Terminated and truncated are each seat's own where a match of the core is cut off."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.flow import Controller, Lineup, PoolOptions, SeatPlan, Slab
from ludus.pool.native import NativePool

SLOTS, SEATS, CUT = 96, 4, 30


def cut_off(mode: str) -> Slab:
    """One match a slot by random play, cut off after ``CUT`` ticks; some seats are dead by then."""
    lineup = Lineup(tuple(SeatPlan((Controller(policy=0),)) for _ in range(SEATS)))
    params = {"mode": mode}
    with NativePool(
        "pommerman", params, lineup, PoolOptions(slots=SLOTS, seed=3, num_matches=SLOTS, truncate_ticks=CUT)
    ) as pool:
        slab = pool.slab(CUT)
        pool.attach(0, slab)
        for t in range(CUT + 1):
            pool.recv(0)
            if t < CUT:
                pool.random_actions(0, 7 + t)
                pool.send(0)
        return slab


@pytest.mark.parametrize("mode", ["ffa", "team"])
def test_the_dead_of_a_free_for_all_are_terminated_where_the_living_are_cut_off(mode: str) -> None:
    slab = cut_off(mode)
    cut = np.flatnonzero(slab.truncated[CUT - 1])
    alive = slab.active[CUT - 1].astype(bool)
    slots = np.unique(cut // SEATS)
    assert len(slots) > 3
    rows = np.concatenate([np.arange(slot * SEATS, (slot + 1) * SEATS) for slot in slots])
    dead = rows[~alive[rows]]
    assert len(dead) > 0
    ended = slab.terminated if mode == "ffa" else slab.truncated  # in teams the dead still win or lose
    assert ended[CUT - 1, dead].all()
    assert slab.truncated[CUT - 1, rows[alive[rows]]].all()
    assert not (slab.truncated[CUT - 1] & slab.terminated[CUT - 1]).any()

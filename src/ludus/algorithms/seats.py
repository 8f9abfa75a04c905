"""Rows of one match in a slab: where the observations of the other seats lie.

Shapes: ``T`` steps, ``R`` rows, ``K`` other seats that a critic sees.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec, Slab
from ludus.policies.config import EncoderConfig
from ludus.policies.critic import seats_seen, seen_seats
from ludus.policies.network import PolicyNetwork

Ints = npt.NDArray[np.int64]


def other_seats(slab: Slab, network: PolicyNetwork) -> Ints:
    """``int64[T+1, R, K]``: the time step ``t * R + row`` of each other seat's latest observation, or -1.

    The latest is that of the row's own time step or, where the seat did not act then, of its last decision
    before it in this match. A seat is absent (-1) that a bot plays, that has not decided in this match, or
    whose last decision lies before the slab.
    """
    rows = rows_of_seats(slab, network.config, network.spec)
    latest = latest_observations(slab)[:, np.maximum(rows, 0)]  # [T+1, R, K]
    index: Ints = np.where((rows >= 0) & (latest >= 0), latest * slab.rows + rows, -1)
    return index


def rows_of_seats(slab: Slab, config: EncoderConfig, spec: GameSpec) -> Ints:
    """``int64[R, K]``: the row of each other seat that is seen from a row's, or -1 where it has none."""
    slots = int(slab.row_slot.max()) + 1
    row_at = np.full((slots, spec.seats), -1, np.int64)
    row_at[slab.row_slot, slab.row_seat] = np.arange(slab.rows)
    out = np.full((slab.rows, seats_seen(config, spec)), -1, np.int64)
    for seat in range(spec.seats):
        mine = np.flatnonzero(slab.row_seat == seat)
        for k, other in enumerate(seen_seats(config, spec, seat)):
            out[mine, k] = row_at[slab.row_slot[mine], other]
    return out


def latest_observations(slab: Slab) -> Ints:
    """``int64[T+1, R]``: the last time step up to t at which a row acted in the match of t, or -1."""
    ended = (slab.terminated | slab.truncated) != 0
    slots = int(slab.row_slot.max()) + 1
    of_slot = np.zeros((slab.steps, slots), np.bool_)
    for seat in np.unique(slab.row_seat):  # each slot at most once
        mine = np.flatnonzero(slab.row_seat == seat)
        of_slot[:, slab.row_slot[mine]] |= ended[:, mine]
    out = np.full((slab.steps + 1, slab.rows), -1, np.int64)
    last = out[0]
    for t in range(slab.steps + 1):
        if t > 0:
            last = np.where(of_slot[t - 1, slab.row_slot], -1, last)
        last = np.where(slab.active[t] != 0, t, last)
        out[t] = last
    return out

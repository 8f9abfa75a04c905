"""What travels between a pool and a policy at one step."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ludus.flow.match import MatchResult
from ludus.flow.slab import Array, Slab


@dataclass(slots=True)
class StepBatch:
    """One group at one time step. All arrays are views; nothing here is copied.

    ``rows``: the group's contiguous rows of ``slab``; the observations are ``slab.obs[name][t, rows]``.
    ``policy_rows[p]``: int32 absolute rows that policy p must decide for now, rising.
    ``final_rows``: int32 absolute rows whose match ended in the step that led here, with the last
    observation of each in ``final_obs[name][i]`` (the side buffer; valid until the group's next send).
    """

    group: int
    t: int
    slab: Slab
    rows: slice
    policy_rows: dict[int, npt.NDArray[np.int32]]
    final_rows: npt.NDArray[np.int32]
    final_obs: dict[str, Array]
    results: list[MatchResult] = field(default_factory=list)


@dataclass(slots=True)
class PoolStats:
    """Counters since the pool was made; times in nanoseconds, summed over worker threads."""

    ticks: int
    decisions: int  # of rows (bots apart)
    bot_decisions: int
    matches: int
    errors: int
    busy_ns: int
    wait_ns: int  # workers without work
    recv_wait_ns: int  # the caller waiting in recv

"""The batch that a pool returns at one time step, and the counters of a pool."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ludus.flow.match import MatchResult
from ludus.flow.slab import Array, Slab


@dataclass(slots=True)
class StepBatch:
    """One group at one time step. All arrays are views; nothing is copied.

    Args:
        rows: The group's contiguous rows of ``slab``; the observations are ``slab.obs[name][t, rows]``.
        policy_rows: For policy p the absolute rows, ascending, in which it must decide now: ``int32[n]``.
        final_rows: Absolute rows whose match ended in the last step: ``int32[n]``.
        final_obs: ``final_obs[name][i]`` is the last observation of row ``final_rows[i]`` (a side buffer,
            valid until the group's next send).
        results: Matches that ended in the last step.
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

"""Control block: the fixed arrays through which the processes of a pool communicate, in one shared segment.

``W`` workers, ``G`` groups, ``N`` slots, ``S`` seats, ``R`` rows, ``P`` plans, ``C`` controllers of a
plan, ``F`` named scores. Every cell has one writer at a time: the parent while a group is received, the
worker that plays it otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec, Lineup
from ludus.flow.slab import Allocator, Array

MAX_ERROR = 480  # bytes of an error message

# Columns of ``command``.
NUMBER, SLAB, BEFORE, KIND = range(4)
# Kinds of commands.
PLAY, PLAY_AFTER_LOSS = range(2)
# Columns of ``counters``.
TICKS, DECISIONS, MATCHES, ERRORS, BUSY_NS, WAIT_NS = range(6)
# Columns of ``heartbeat``.
PLAYS, SLOT = range(2)
# In ``match``: no match is left for the slot; its first match has not started.
IDLE, UNSTARTED = -1, -2

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Shorts = npt.NDArray[np.int16]
Tags = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]


@dataclass(slots=True)
class ControlBlock:
    """Arrays in a segment; allocated in this order by every process."""

    command: Longs  # [W, G, 4]: number (rising), slab, time before, kind
    done: Longs  # [W, G]: number of the last completed command
    heartbeat: Longs  # [W, 2]: number of plays started, slot in step
    counters: Longs  # [W, 6]
    mixture: npt.NDArray[np.float64]  # [P, C] weights, 0 beyond a plan's controllers
    orders: Ints  # [N, P] standing orders in force: index of a plan's controller, -1 = drawn
    order_tags: Tags  # [N]
    spirit: npt.NDArray[np.float64]  # [N] of the rewards that teams share, from the group's last send on
    closing: Bytes  # [1]: workers exit when they are idle
    resumed: Bytes  # [1]: new matches are numbered after those in ``match``
    loss: npt.NDArray[np.bytes_]  # [N] UTF-8, why a slot's match was lost with its worker
    # The match in each slot:
    match: Longs  # [N]
    tick: Ints  # [N]
    decisions: Ints  # [N]
    returns: npt.NDArray[np.float64]  # [N, S]: a sum of many small rewards in float32 would stand still
    earned: Floats  # [N, S]: the game's own rewards of the last step, of seats that had decided
    decided: Bytes  # [N, S]
    policy: Shorts  # [N, S]
    tag: Tags  # [N] of the order under which it started
    # The match that ended in the last step of each slot, where ``ended`` is 1:
    ended: Bytes  # [N]
    last_match: Longs
    last_ticks: Ints
    last_decisions: Ints
    last_truncated: Bytes
    last_returns: npt.NDArray[np.float64]
    last_outcome: Floats
    last_scores: Floats  # [N, S, F]
    last_policy: Shorts
    last_tag: Tags
    failed: Bytes  # [N]: 1 where ``error`` is valid
    error: npt.NDArray[np.bytes_]  # [N] UTF-8
    final: dict[str, Array]  # packed[R, ...]: last observation of a row whose match ended

    @classmethod
    def allocate(
        cls, allocate: Allocator, spec: GameSpec, lineup: Lineup, workers: int, groups: int, slots: int
    ) -> ControlBlock:
        """Return a new control block, or the same one in another process."""
        seats, w, g, n = spec.seats, workers, groups, slots
        controllers = max(len(p.controllers) for p in lineup.plans)

        def make(dtype: object, *shape: int) -> Array:
            return allocate(shape, np.dtype(dtype))  # type: ignore[call-overload]

        i8, i4, i2, u1, u8 = np.int64, np.int32, np.int16, np.uint8, np.uint64
        f4, f8 = np.float32, np.float64
        fields: list[Array] = [make(i8, w, g, 4), make(i8, w, g), make(i8, w, 2), make(i8, w, 6)]
        fields += [make(np.float64, len(lineup.plans), controllers)]
        fields += [make(i4, n, len(lineup.plans)), make(u8, n), make(f8, n)]
        fields += [make(u1, 1), make(u1, 1), make(f"S{MAX_ERROR}", n)]
        fields += [make(i8, n), make(i4, n), make(i4, n)]
        fields += [make(f8, n, seats), make(f4, n, seats)]
        fields += [make(u1, n, seats), make(i2, n, seats), make(u8, n)]
        fields += [make(u1, n), make(i8, n), make(i4, n), make(i4, n), make(u1, n)]
        fields += [make(f8, n, seats), make(f4, n, seats), make(f4, n, seats, len(spec.scores))]
        fields += [make(i2, n, seats), make(u8, n)]
        fields += [make(u1, n), make(f"S{MAX_ERROR}", n)]
        final = {t.name: allocate((n * seats, *t.packed_shape), t.packed_dtype) for t in spec.observation}
        return cls(*fields, final)  # type: ignore[arg-type, call-arg]


def share(first: int, last: int, parts: int, part: int) -> range:
    """Return the slots of ``part`` when ``[first, last)`` is cut into ``parts`` nearly equal pieces."""
    size = last - first
    return range(first + size * part // parts, first + size * (part + 1) // parts)

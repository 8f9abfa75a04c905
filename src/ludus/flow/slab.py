"""Slab: the rollout buffer for observations, decisions and rewards.

A slab is allocated once, and the core writes it in place: a policy's batch at time step t
is a view of the arrays that the learner reads later. ``T`` steps, ``R`` rows, ``A`` bytes of a mask
(the choices of all heads together, if no head depends on another), ``K`` heads. A row is a (match
slot, seat) and never changes.

Time in a slab, for every row:

    obs[t], mask[t], active[t], is_first[t]   observation before decision t                 t = 0..T
    actions[t], log_prob[t], value[t]         the decision                                  t = 0..T-1
    reward[t], terminated[t], truncated[t]    result of the ticks from obs[t] to obs[t+1]   t = 0..T-1

obs[T] is the bootstrap observation and is written again as obs[0] of the next slab. After a match
ends (same-step autoreset) obs[t+1] belongs to the next match. A row that is not active at t (turn
of another seat, frame skip, a bot plays, all matches are played) keeps stale bytes in obs[t];
its rewards still count for its last active step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt

from ludus.flow.spec import GameSpec

Array = npt.NDArray[np.generic]
_Scalar = TypeVar("_Scalar", bound=np.generic)
Allocator = Callable[[tuple[int, ...], "np.dtype[np.generic]"], Array]


def zeros(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
    """Allocate zeros.

    This is the default allocator; a GPU run passes one that returns views of pinned memory.
    """
    return np.zeros(shape, dtype)


class Slab:
    """Arrays of one rollout. C-contiguous, owned by Python, borrowed by the core until detached."""

    def __init__(self, spec: GameSpec, steps: int, rows: int, allocate: Allocator = zeros) -> None:
        """Allocate the arrays of ``steps`` time steps and ``rows`` rows.

        Raises ``ValueError`` if either is below 1.
        """
        if steps < 1 or rows < 1:
            raise ValueError(f"a slab needs steps >= 1 and rows >= 1, got steps={steps}, rows={rows}")

        def make(shape: tuple[int, ...], dtype: type[_Scalar]) -> npt.NDArray[_Scalar]:
            return cast("npt.NDArray[_Scalar]", allocate(shape, np.dtype(dtype)))

        self.steps, self.rows = steps, rows
        #: name -> packed[T+1, R, *packed_shape]
        self.obs: dict[str, Array] = {
            t.name: allocate((steps + 1, rows, *t.packed_shape), t.packed_dtype) for t in spec.observation
        }
        self.mask = make((steps + 1, rows, spec.mask_size), np.uint8)  # 1 = legal
        self.active = make((steps + 1, rows), np.uint8)  # must act at t
        self.is_first = make((steps + 1, rows), np.uint8)  # first decision of this row in its match
        self.policy = make((steps + 1, rows), np.int16)  # policy id that must act, -1 if inactive
        self.reward = make((steps, rows), np.float32)
        self.terminated = make((steps, rows), np.uint8)
        self.truncated = make((steps, rows), np.uint8)
        self.actions = make((steps, rows, len(spec.heads)), np.int32)
        # Written by the rollout, not by the core:
        self.log_prob = make((steps, rows), np.float32)  # of the whole decision, under the behaviour policy
        self.value = make((steps + 1, rows), np.float32)
        self.final_value = make((steps, rows), np.float32)  # V(last observation) where truncated
        self.version = make((steps, rows), np.int32)  # weights that decided
        #: int32[R]: match slot and seat of each row; without a pool each row is a match of its own
        self.row_slot: Array = np.arange(rows, dtype=np.int32)
        self.row_seat: Array = np.zeros(rows, np.int32)
        #: policy id -> [R, ...] at t = 0, of every learned policy that has memory
        self.memory: dict[int, npt.NDArray[np.float32]] = {}

    def fields(self) -> dict[str, Array]:
        """Return every array by name, for checkpoints and the core.

        Names are those of the attributes; observations are ``obs.<name>``, memories ``memory.<policy id>``.
        """
        out: dict[str, Array] = {f"obs.{k}": v for k, v in self.obs.items()}
        for name in (
            "mask active is_first policy reward terminated truncated actions log_prob value"
            " final_value version"
        ).split():
            out[name] = getattr(self, name)
        out.update({f"memory.{policy}": memory for policy, memory in self.memory.items()})
        return out

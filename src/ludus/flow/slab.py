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

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt

from ludus.flow.spec import GameSpec

Array = npt.NDArray[np.generic]
_Scalar = TypeVar("_Scalar", bound=np.generic)
Allocator = Callable[[tuple[int, ...], "np.dtype[np.generic]"], Array]
_OBS, _MEMORY = "obs.", "memory."  # prefixes of fields
_FIELDS = (
    "mask active is_first policy reward terminated truncated actions log_prob value final_value version"
).split()
_TO_THE_END = {"mask", "active", "is_first", "policy", "value"}  # they have T + 1 time steps, as observations


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
        #: int32[R]: match slot and seat of each row; without a pool each row is a separate match
        self.row_slot: Array = np.arange(rows, dtype=np.int32)
        self.row_seat: Array = np.zeros(rows, np.int32)
        #: policy id -> [R, ...] at t = 0, of every learned policy that has memory
        self.memory: dict[int, npt.NDArray[np.float32]] = {}

    def fields(self) -> dict[str, Array]:
        """Return every array by name, for checkpoints and the core.

        Names are the attributes' names; observations are ``obs.<name>``, memories ``memory.<policy id>``.
        """
        out: dict[str, Array] = {f"{_OBS}{k}": v for k, v in self.obs.items()}
        for name in _FIELDS:
            out[name] = getattr(self, name)
        out.update({f"{_MEMORY}{policy}": memory for policy, memory in self.memory.items()})
        return out

    def learned_fields(self, inputs: Collection[str]) -> dict[str, Array]:
        """Return the fields that a learner reads: all but observations that its network has no input for.

        Args:
            inputs: Names of the observation tensors that the network reads.
        """
        read = {f"{_OBS}{name}" for name in inputs}
        return {n: a for n, a in self.fields().items() if n in read or not n.startswith(_OBS)}

    @classmethod
    def of(cls, fields: Mapping[str, Array], row_slot: Array, row_seat: Array) -> Slab:
        """Return a slab that consists of arrays, which are not copied.

        Args:
            fields: Arrays by the names of :meth:`fields`; observations may be missing.
            row_slot: ``int32[R]``, the match slot of each row.
            row_seat: ``int32[R]``, the seat of each row.

        Raises:
            ValueError: A field is missing or unknown, or its time steps or rows differ from the rest.
        """
        lacking = [name for name in _FIELDS if name not in fields]
        named = [n for n in fields if n not in _FIELDS and not n.startswith((_OBS, _MEMORY))]
        if lacking or named:
            raise ValueError(f"fields of a slab: missing {lacking}, unknown {named}")
        slab = cls.__new__(cls)
        slab.steps, slab.rows = fields["reward"].shape
        for name, array in fields.items():
            time = () if name.startswith(_MEMORY) else (slab.steps + _longer(name),)
            if array.shape[: len(time) + 1] != (*time, slab.rows):
                raise ValueError(
                    f"field {name} of a slab: shape {array.shape}, expected {(*time, slab.rows)}"
                )
        if not row_slot.shape == row_seat.shape == (slab.rows,):
            raise ValueError(f"rows of a slab: {row_slot.shape}, {row_seat.shape}, expected {(slab.rows,)}")
        for name in _FIELDS:
            setattr(slab, name, fields[name])
        slab.obs = {n.removeprefix(_OBS): a for n, a in fields.items() if n.startswith(_OBS)}
        slab.memory = {
            int(n.removeprefix(_MEMORY)): cast("npt.NDArray[np.float32]", a)
            for n, a in fields.items()
            if n.startswith(_MEMORY)
        }
        slab.row_slot, slab.row_seat = row_slot, row_seat
        return slab


def _longer(field: str) -> int:
    """Return 1 for a field with T + 1 time steps, else 0."""
    return int(field in _TO_THE_END or field.startswith(_OBS))


def joined(slabs: Sequence[Slab], into: Slab | None = None) -> Slab:
    """Return one slab with the rows of several, in their order.

    The slots of a slab are numbered after the slots of the slabs before it.

    Args:
        slabs: One or more slabs of equal time steps and equal fields.
        into: Slab that the rows are copied into and that is returned; None: a new one.

    Raises:
        ValueError: Slabs that do not fit together, or not into ``into``.
    """
    parts = [slab.fields() for slab in slabs]
    for part in parts[1:]:
        _check_like(part, parts[0])
    columns = {n: [part[n] for part in parts] for n in parts[0]}
    slots, first = [], 0
    for slab in slabs:
        slots.append(slab.row_slot.astype(np.int32) + np.int32(first))
        first += int(slab.row_slot.max()) + 1
    row_slot, row_seat = np.concatenate(slots), np.concatenate([slab.row_seat for slab in slabs])
    if into is None:
        return Slab.of({n: np.concatenate(c, _axis(n)) for n, c in columns.items()}, row_slot, row_seat)
    memory = {policy: (len(row_slot), *m.shape[1:]) for policy, m in slabs[0].memory.items()}
    if {policy: m.shape for policy, m in into.memory.items()} != memory:
        into.memory = {policy: np.empty(shape, np.float32) for policy, shape in memory.items()}
    targets = into.fields()
    _check_like(targets, parts[0])
    for name, arrays in columns.items():
        np.concatenate(arrays, _axis(name), out=targets[name])
    into.row_slot, into.row_seat = row_slot, row_seat
    return into


def rows_of(slab: Slab, rows: slice, into: Mapping[str, Array] | None = None) -> Slab:
    """Return copies of some rows of a slab as a new slab. Its first slot has number 0.

    Args:
        slab: Slab with ``R`` rows.
        rows: The rows, at least one.
        into: Fields of an earlier result of as many rows, whose arrays are used again; None: new ones.
    """
    fields: dict[str, Array] = {}
    for name, array in slab.fields().items():
        part = array[rows] if _axis(name) == 0 else array[:, rows]
        old = None if into is None else into.get(name)
        if old is None or old.shape != part.shape or old.dtype != part.dtype:
            old = np.empty(part.shape, part.dtype)
        np.copyto(old, part)
        fields[name] = old
    slots = slab.row_slot[rows].astype(np.int32)
    return Slab.of(fields, slots - slots.min(), slab.row_seat[rows])


def _axis(field: str) -> int:
    """Return the axis of rows."""
    return 0 if field.startswith(_MEMORY) else 1


def _check_like(fields: Mapping[str, Array], others: Mapping[str, Array]) -> None:
    """Raise ``ValueError`` if names or types differ from ``others``."""
    if fields.keys() != others.keys():
        raise ValueError(f"slabs of unequal fields: {sorted(fields.keys() ^ others.keys())}")
    if odd := [n for n, a in fields.items() if a.dtype != others[n].dtype]:
        raise ValueError(f"slabs of unequal types: {odd}")

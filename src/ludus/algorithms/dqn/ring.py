"""A ring of slabs: the replay buffer of DQN. What a learner reads of the last K slabs, and what followed.

Shapes: ``K`` slabs, ``T`` steps, ``R`` rows. Decisions are numbered ``(k * T + t) * R + row``, observations
``(k * (T + 1) + t) * R + row``: the last observation of a slab has no decision. A successor is a number of an
observation of the same slab, so nothing is stored twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ludus.algorithms.dqn.size import Shapes, slab_shapes, too_large
from ludus.algorithms.returns import Bools, Floats, Ints, Transitions, transitions
from ludus.algorithms.samples import Index
from ludus.flow import GameSpec, Slab, TensorSpec
from ludus.flow.slab import Array

ENDED = -1  # in place of a successor: the match ended by its rules


@dataclass(frozen=True, slots=True)
class Followed:
    """What followed each decision of a slab. All ``[T, R]``; entries that are not ``valid`` mean nothing.

    ``returns``: discounted rewards of up to n decisions. ``successor``: time step, 0..T, of the observation
    after them, or :data:`ENDED`. ``discount``: gamma to the number of these decisions; 0 at an end.
    """

    returns: Floats
    successor: Ints
    discount: Floats
    valid: Bools


def followed(moves: Transitions, successor: Ints, *, discount: float, n: int) -> Followed:
    """n-step returns of a row's own decisions, and the observation that they bootstrap from.

    Shorter where the match or the slab ends. The last observation of a match that was cut off is in no slab:
    returns stop at the decision before it, and that one has none.

    Args:
        moves: rewards; ``valid`` only where the successor is known and in the slab, or the match ended.
        successor: ``int32[T, R]`` of single decisions.
        discount: gamma.
        n: most rewards of a return, >= 1.
    """
    steps, rows = moves.reward.shape
    columns = np.broadcast_to(np.arange(rows), (steps, rows))
    gamma = np.float32(discount)
    returns, last = moves.reward.copy(), successor.copy()
    factor = np.full((steps, rows), gamma, np.float32)
    for _ in range(n - 1):
        inside = np.clip(last, 0, steps - 1)
        longer = moves.valid & (last >= 0) & (last < steps) & moves.valid[inside, columns]
        returns += np.where(longer, factor * moves.reward[inside, columns], np.float32(0.0))
        last = np.where(longer, successor[inside, columns], last)
        factor = np.where(longer, factor * gamma, factor)
    factor = np.where(last == ENDED, np.float32(0.0), factor)
    return Followed(returns, last.astype(np.int32), factor.astype(np.float32), moves.valid)


def slab_transitions(slab: Slab, reward: Floats, decided: Bools) -> tuple[Transitions, Ints]:
    """Single decisions and their successors ``int32[T, R]``.

    Args:
        reward: ``[T, R]``.
        decided: ``[T+1, R]``, the time steps that the learned policy decides.
    """
    steps, rows = reward.shape
    # Where the "value" of a time step is its own number, what a decision bootstraps from names its successor.
    numbers = np.broadcast_to(np.arange(1, steps + 2, dtype=np.float32)[:, None], (steps + 1, rows))
    cut = np.full((steps, rows), -1.0, np.float32)
    moves = transitions(reward, slab.terminated != 0, slab.truncated != 0, cut, numbers, decided)
    successor = moves.bootstrap.astype(np.int32) - 1
    moves.valid[:] &= successor >= ENDED  # not those before the last observation of a match that was cut off
    return moves, successor


class Batch(NamedTuple):
    """``N`` decisions."""

    decisions: Index  # numbers
    observations: Index  # numbers of what was seen
    successors: Index  # numbers of what was seen after; that of the slab's first where the match ended
    actions: npt.NDArray[np.int32]  # [N, heads]
    returns: Floats
    discount: Floats


class Ring:
    """Allocates its memory with the first slab.

    Args:
        spec: the game's.
        inputs: the observation tensors that are kept.
        slabs: K.
        buffer_mib: most memory that it may need.
    """

    def __init__(self, spec: GameSpec, inputs: tuple[TensorSpec, ...], slabs: int, buffer_mib: float) -> None:
        self.spec, self.inputs, self.slabs, self.buffer_mib = spec, inputs, slabs, buffer_mib
        self.added = 0  # slabs so far
        self.highest = np.float32(1.0)  # priority so far; new decisions have it
        self._arrays: dict[str, Array] = {}
        self._steps = self._rows = 0

    @property
    def filled(self) -> int:
        """Slabs that it holds."""
        return min(self.added, self.slabs)

    def add(self, slab: Slab, after: Followed) -> None:
        """Puts a slab in the place of the oldest.

        Raises ``ValueError`` for a slab of another size than the first, and for a ring that is too large.
        """
        self._allocate(slab.steps, slab.rows)
        at = self.added % self.slabs
        arrays = {f"obs.{t.name}": slab.obs[t.name] for t in self.inputs}
        arrays |= {"mask": slab.mask, "actions": slab.actions, "returns": after.returns}
        arrays |= {"discount": after.discount, "successor": after.successor}
        arrays["priority"] = np.where(after.valid, self.highest, np.float32(0.0))
        for name, array in arrays.items():
            self._arrays[name][at] = array
        self.added += 1

    def decisions(self) -> Index:
        """Numbers of the decisions that can be learned from, ascending."""
        return np.flatnonzero(self.priorities() > 0.0)

    def priorities(self) -> Floats:
        """``float32[filled * T * R]``: not negative, 0 for what cannot be learned from; not a copy."""
        if not self._arrays:
            return np.zeros(0, np.float32)
        flat: Floats = self._arrays["priority"][: self.filled].reshape(-1).view(np.float32)
        return flat

    def set_priorities(self, decisions: Index, priority: Floats) -> None:
        """Of ``decisions``; above 0. Where one is given twice, the last counts."""
        self.priorities()[decisions] = priority
        self.highest = max(self.highest, np.float32(priority.max()))

    def batch(self, decisions: Index) -> Batch:
        """What followed ``decisions: [N]``."""
        steps, rows = self._steps, self._rows
        slab, within = np.divmod(decisions, steps * rows)
        first = slab * (steps + 1) * rows
        row = within % rows
        successor = self._flat("successor").take(decisions).astype(np.int64)
        return Batch(
            decisions=decisions,
            observations=first + within,
            successors=first + np.maximum(successor, 0) * rows + row,
            actions=self._flat("actions").take(decisions, axis=0).view(np.int32),
            returns=self._flat("returns").take(decisions).view(np.float32),
            discount=self._flat("discount").take(decisions).view(np.float32),
        )

    def observations(self, index: Index) -> dict[str, Array]:
        """``name -> [N, *packed]`` of the observations ``index: [N]``."""
        return {t.name: self._flat(f"obs.{t.name}").take(index, axis=0) for t in self.inputs}

    def masks(self, index: Index) -> Array:
        """``uint8[N, A]``."""
        return self._flat("mask").take(index, axis=0)

    def state(self) -> dict[str, Array]:
        """Copies of what it holds, and the highest priority."""
        held = {name: array[: self.filled].copy() for name, array in self._arrays.items()}
        return held | {"highest": np.array(self.highest), "added": np.array(self.added, np.int64)}

    def load_state(self, arrays: dict[str, Array], where: str) -> None:
        """The inverse of :meth:`state`. ``ValueError`` naming ``where`` and what does not fit."""

        def fits(name: str, holds: Callable[[Array], bool], expected: str) -> Array:
            if name not in arrays or not holds(arrays[name]):
                found = "nothing" if name not in arrays else f"{arrays[name].dtype}{arrays[name].shape}"
                raise ValueError(f"{where}{name}: expected {expected}, found {found}")
            return arrays[name]

        added = fits("added", lambda a: a.shape == () and a.dtype == np.int64 and int(a) >= 0, "a count")
        highest = fits(
            "highest", lambda a: a.shape == () and a.dtype == np.float32 and float(a) > 0, "a number > 0"
        )
        self.added, self.highest, self._arrays = int(added), np.float32(highest), {}
        if not self.added:
            return
        returns = fits("returns", lambda a: a.ndim == 3 and a.shape[0] == self.filled, "[filled, T, R]")
        _, steps, rows = returns.shape
        self._allocate(steps, rows)
        for name, (shape, dtype) in self._shapes(steps, rows).items():
            whole = (self.filled, *shape)
            stored = fits(name, lambda a, s=whole, d=dtype: a.shape == s and a.dtype == d, f"{dtype}{whole}")  # type: ignore[misc]
            self._arrays[name][: self.filled] = stored
        self._check_numbers(where)

    def _check_numbers(self, where: str) -> None:
        """What indexes other arrays lies inside them: a checkpoint may come from anywhere."""
        sizes = np.array([h.size for h in self.spec.heads])
        successor, actions = self._arrays["successor"], self._arrays["actions"]
        if successor.min() < ENDED - 1 or successor.max() > self._steps:
            raise ValueError(f"{where}successor: expected time steps up to {self._steps}")
        if actions.min() < 0 or (actions >= sizes).any():
            raise ValueError(f"{where}actions: expected choices of {self.spec.name}")

    def _allocate(self, steps: int, rows: int) -> None:
        if self._arrays:
            if (steps, rows) != (self._steps, self._rows):
                held = f"{self._steps} steps of {self._rows} rows"
                raise ValueError(f"the ring holds slabs of {held}, found {steps} steps of {rows} rows")
            return
        shapes = self._shapes(steps, rows)
        if large := too_large(shapes, self.slabs, self.buffer_mib):
            raise ValueError(f"algorithm.ring = {self.slabs}: {large}")
        self._steps, self._rows = steps, rows
        self._arrays = {n: np.zeros((self.slabs, *shape), dtype) for n, (shape, dtype) in shapes.items()}

    def _shapes(self, steps: int, rows: int) -> Shapes:
        return slab_shapes(self.spec, self.inputs, steps, rows)

    def _flat(self, name: str) -> Array:
        """``[K, T, R, ...]`` as a view ``[K * T * R, ...]``."""
        array = self._arrays[name]
        return array.reshape(-1, *array.shape[3:])

"""Replay buffer of DQN: the last K slabs as a learner reads them, with the n-step returns of their decisions.

Shapes: ``K`` slabs, ``T`` steps, ``R`` rows. Decisions are numbered ``(k * T + t) * R + row``, observations
``(k * (T + 1) + t) * R + row``: the last observation of a slab has no decision. A successor is a number of an
observation of the same slab, so every observation is stored once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ludus.algorithms.dqn.size import Shapes, slab_shapes, too_large
from ludus.algorithms.returns import Bools, Floats, Ints, Transitions, transitions
from ludus.algorithms.updates.samples import Index
from ludus.flow import GameSpec, Slab, TensorSpec
from ludus.flow.slab import Array

ENDED = -1  # in place of a successor: the match ended by its rules


@dataclass(frozen=True, slots=True)
class NStepReturns:
    """Returns of each decision of a slab. All ``[T, R]``; only ``valid`` entries have a meaning.

    ``returns``: discounted rewards of up to n decisions. ``successor``: time step, 0..T, of the observation
    after them, or :data:`ENDED`. ``discount``: gamma to the number of these decisions; 0 at an end.
    """

    returns: Floats
    successor: Ints
    discount: Floats
    valid: Bools


def n_step_returns(moves: Transitions, successor: Ints, *, discount: float, n_steps: int) -> NStepReturns:
    """Return n-step returns of a row's own decisions, and the observation that they bootstrap from.

    Shorter where the match or the slab ends. The last observation of a match that was cut off is in no slab:
    returns stop at the decision before it, and that one has none.

    Args:
        moves: Rewards; ``valid`` only where the successor is known and in the slab, or the match ended.
        successor: ``int32[T, R]`` of single decisions.
        discount: Gamma, in [0, 1].
        n_steps: Largest number of rewards of a return, >= 1.
    """
    steps, rows = moves.reward.shape
    columns = np.broadcast_to(np.arange(rows), (steps, rows))
    gamma = np.float32(discount)
    returns, last = moves.reward.copy(), successor.copy()
    factor = np.full((steps, rows), gamma, np.float32)
    for _ in range(n_steps - 1):
        inside = np.clip(last, 0, steps - 1)
        longer = moves.valid & (last >= 0) & (last < steps) & moves.valid[inside, columns]
        returns += np.where(longer, factor * moves.reward[inside, columns], np.float32(0.0))
        last = np.where(longer, successor[inside, columns], last)
        factor = np.where(longer, factor * gamma, factor)
    factor = np.where(last == ENDED, np.float32(0.0), factor)
    return NStepReturns(returns, last.astype(np.int32), factor.astype(np.float32), moves.valid)


def slab_transitions(slab: Slab, reward: Floats, decided: Bools) -> tuple[Transitions, Ints]:
    """Return single decisions and their successors ``int32[T, R]``.

    Args:
        slab: Rollout.
        reward: ``float32[T, R]``.
        decided: ``bool[T+1, R]``, the time steps that the learned policy decides.
    """
    steps, rows = reward.shape
    # Where the "value" of a time step is its own number, what a decision bootstraps from names its successor.
    numbers = np.broadcast_to(np.arange(1, steps + 2, dtype=np.float32)[:, None], (steps + 1, rows))
    cut = np.full((steps, rows), -1.0, np.float32)
    moves = transitions(reward, slab.terminated != 0, slab.truncated != 0, cut, numbers, decided)
    successor = moves.bootstrap.astype(np.int32) - 1
    moves.valid[:] &= successor >= ENDED  # not those before the last observation of a match that was cut off
    return moves, successor


class TransitionBatch(NamedTuple):
    """``N`` decisions with their returns and successors."""

    decisions: Index  # numbers
    observations: Index  # numbers of the observations decided on
    successors: Index  # numbers of the observations after the returns; the slab's first where the match ended
    actions: npt.NDArray[np.int32]  # [N, heads]
    returns: Floats
    discount: Floats


class SlabReplayBuffer:
    """Ring of the last K slabs. Memory is allocated with the first slab."""

    def __init__(self, spec: GameSpec, inputs: tuple[TensorSpec, ...], slabs: int, buffer_mib: float) -> None:
        """Start empty.

        Args:
            spec: Spec of the game.
            inputs: Observation tensors to keep.
            slabs: Largest number of slabs, K.
            buffer_mib: Bound of the memory, MiB.
        """
        self.spec, self.inputs, self.slabs, self.buffer_mib = spec, inputs, slabs, buffer_mib
        self.added = 0  # slabs so far
        self.highest = np.float32(1.0)  # priority so far; new decisions have it
        self._arrays: dict[str, Array] = {}
        self._steps = self._rows = 0

    @property
    def filled(self) -> int:
        """Number of slabs in the buffer."""
        return min(self.added, self.slabs)

    def add(self, slab: Slab, after: NStepReturns) -> None:
        """Put a slab in the place of the oldest.

        Raises:
            ValueError: The slab has another size than the first, or the buffer is too large.
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
        """Return the numbers of the decisions that can be learned from, ascending."""
        return np.flatnonzero(self.priorities() > 0.0)

    def priorities(self) -> Floats:
        """Return a view ``float32[filled * T * R]``, >= 0; 0 for a decision that cannot be learned from."""
        if not self._arrays:
            return np.zeros(0, np.float32)
        flat: Floats = self._arrays["priority"][: self.filled].reshape(-1).view(np.float32)
        return flat

    def set_priorities(self, decisions: Index, priority: Floats) -> None:
        """Set the priorities of ``decisions``, > 0. Where one is given twice, the last counts."""
        self.priorities()[decisions] = priority
        self.highest = max(self.highest, np.float32(priority.max()))

    def batch(self, decisions: Index) -> TransitionBatch:
        """Return ``decisions: [N]`` with their returns and successors."""
        steps, rows = self._steps, self._rows
        slab, within = np.divmod(decisions, steps * rows)
        first = slab * (steps + 1) * rows
        row = within % rows
        successor = self._flat("successor").take(decisions).astype(np.int64)
        return TransitionBatch(
            decisions=decisions,
            observations=first + within,
            successors=first + np.maximum(successor, 0) * rows + row,
            actions=self._flat("actions").take(decisions, axis=0).view(np.int32),
            returns=self._flat("returns").take(decisions).view(np.float32),
            discount=self._flat("discount").take(decisions).view(np.float32),
        )

    def observations(self, index: Index) -> dict[str, Array]:
        """Return ``name -> [N, *packed]`` of the observations ``index: [N]``."""
        return {t.name: self._flat(f"obs.{t.name}").take(index, axis=0) for t in self.inputs}

    def masks(self, index: Index) -> Array:
        """Return the legal choices ``uint8[N, A]`` of the observations ``index: [N]``."""
        return self._flat("mask").take(index, axis=0)

    def state(self) -> dict[str, Array]:
        """Return copies of its arrays, and the highest priority."""
        held = {name: array[: self.filled].copy() for name, array in self._arrays.items()}
        return held | {"highest": np.array(self.highest), "added": np.array(self.added, np.int64)}

    def load_state(self, arrays: dict[str, Array], where: str) -> None:
        """Restore what :meth:`state` returned. ``ValueError`` names ``where`` and a wrong array."""

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
        """Check that indices lie inside the arrays: a checkpoint may come from anywhere."""
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
                raise ValueError(
                    f"the replay buffer holds slabs of {held}, found {steps} steps of {rows} rows"
                )
            return
        shapes = self._shapes(steps, rows)
        if large := too_large(shapes, self.slabs, self.buffer_mib):
            raise ValueError(f"algorithm.buffer_slabs = {self.slabs}: {large}")
        self._steps, self._rows = steps, rows
        self._arrays = {n: np.zeros((self.slabs, *shape), dtype) for n, (shape, dtype) in shapes.items()}

    def _shapes(self, steps: int, rows: int) -> Shapes:
        return slab_shapes(self.spec, self.inputs, steps, rows)

    def _flat(self, name: str) -> Array:
        """Return ``[K, T, R, ...]`` as a view ``[K * T * R, ...]``."""
        array = self._arrays[name]
        return array.reshape(-1, *array.shape[3:])

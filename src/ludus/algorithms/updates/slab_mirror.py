"""Mirror: a slab on a device, in tensors that stay where they are, so that programs can read them.

``T`` steps, ``R`` rows, ``K`` value heads, ``S`` other seats that a centralised critic sees. A slab travels
to the device once an update.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ludus.algorithms.returns import Bools, Floats
from ludus.algorithms.updates.samples import Samples
from ludus.flow.slab import Array, Slab
from ludus.policies.accelerator import Executor, Stream
from ludus.policies.actions.packing import dtype_of
from ludus.policies.critic import CriticInput, Mates, Others, split_memory
from ludus.policies.network import PolicyNetwork

_OBS = "obs."  # prefix of the names of observations
_MATES = "mates"  # int64[R, S], rows of the other seats of a team, for a critic with memory


class SlabMirror:
    """Tensors of one slab's shapes. Time steps are numbered ``t * R + row``, as in :class:`Samples`."""

    def __init__(self, executor: Executor, stream: Stream, network: PolicyNetwork, slab: Slab) -> None:
        """Allocate for slabs like ``slab``; uploads are work of ``stream``."""
        self._executor, self._stream = executor, stream
        self._names = tuple(tensor.name for tensor in network.inputs)
        self._remembers = network.memory_shape is not None
        self.device, self.heads = network.device, network.config.value_heads
        self.steps, self.rows = slab.steps, slab.rows
        #: numbers of time steps with a decision, and with an observation
        self.decided, self.observed = slab.steps * slab.rows, (slab.steps + 1) * slab.rows
        self._sources: dict[str, Array] = {}  # kept until the next upload
        self._tensors: dict[str, Tensor] = {}
        #: behaviour log-probability, advantage, old values, targets of each decision
        self._host_columns = executor.allocate((self.decided, 2 + 2 * self.heads), np.dtype(np.float32))
        self._columns = self._empty(self._host_columns)
        self._host_trained = executor.allocate((self.decided,), np.dtype(np.uint8))
        self.trained = self._empty(self._host_trained)  # uint8[T * R], decisions of this update
        #: [T+1, R, 2, D], states of :class:`ludus.policies.memory.Recall`; a program writes them
        self.recalled: Tensor | None = None
        if network.recall is not None:
            shape = (slab.steps + 1, slab.rows, *network.recall.shape)
            self.recalled = torch.zeros(shape, device=self.device)
        #: int64[(T+1) * R, S], time steps of the observations that a centralised critic sees, -1: absent
        self._host_seen: Array | None = None
        self._seen: Tensor | None = None
        self._policy_memory = network.recurrent.size if network.recurrent is not None else 0
        if network.centralised and not network.team_memories:
            assert network.critic is not None
            self._host_seen = executor.allocate((self.observed, network.critic.seats), np.dtype(np.int64))
            self._seen = self._empty(self._host_seen)

    def fits(self, slab: Slab) -> bool:
        """Return whether ``slab`` has the shape of those that this was made for."""
        return (slab.steps, slab.rows) == (self.steps, self.rows)

    def load(self, samples: Samples) -> None:
        """Upload a slab, which must not change before what reads the uploads is done."""
        self._sources = self._arrays(samples)
        for name, array in self._sources.items():
            if name not in self._tensors:
                self._tensors[name] = self._empty(array)
            self._executor.upload(self._tensors[name], array, self._stream)
        if self._seen is not None:
            assert self._host_seen is not None
            assert samples.seats_seen is not None
            # free: every update evaluates such a critic, and waits for its values
            self._host_seen[...] = samples.seats_seen.reshape(self._host_seen.shape)
            self._executor.upload(self._seen, self._host_seen, self._stream)

    def set_columns(
        self, valid: Bools, log_prob: Floats, advantage: Floats, old_value: Floats, target: Floats
    ) -> None:
        """Upload numbers of each decision, ``[T, R]`` each, or ``[T, R, K]``. The uploads before are done.

        ``valid: bool[T, R]``: which decisions are trained on.
        """
        self._host_trained[...] = valid.reshape(-1)
        self._executor.upload(self.trained, self._host_trained, self._stream)
        for at, array in ((0, log_prob), (1, advantage), (2, old_value), (2 + self.heads, target)):
            flat = array.reshape(self.decided, -1)
            self._host_columns[:, at : at + flat.shape[1]] = flat
        self._host_columns[self._host_trained == 0] = 0.0  # times a weight of 0 they must give 0
        self._executor.upload(self._columns, self._host_columns, self._stream)

    # ---- tensors for programs ----------------------------------------------------------------------

    def observations(self, index: Tensor | slice) -> dict[str, Tensor]:
        """Return ``name -> [N, *packed]`` of the time steps ``index: int64[N]``, or of adjoining ones."""
        return {name: _picked(self._tensors[_OBS + name], index) for name in self._names}

    def recalled_at(self, index: Tensor | slice) -> Tensor | None:
        """Return ``[N, 2, D]`` of time steps; None for policies that do not recall."""
        return None if self.recalled is None else _picked(self.recalled.flatten(0, 1), index)

    def others(self, index: Tensor | slice) -> Others | None:
        """Return ``N * S`` observations of other seats at time steps; None without a centralised critic."""
        if self._seen is None:
            return None
        seen = _picked(self._seen, index).flatten()
        place = torch.arange(len(seen), device=self.device)
        return Others(self.observations(seen.clamp(min=0)), place, seen >= 0)

    def masks(self, index: Tensor | slice) -> Tensor:
        """Return the legal choices ``uint8[N, A]`` of decisions."""
        return _picked(self._tensors["mask"], index)

    def actions(self, index: Tensor | slice) -> Tensor:
        """Return the choices ``int32[N, heads]`` of decisions."""
        return _picked(self._tensors["actions"], index)

    def columns(self, index: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the arrays of :meth:`set_columns` of decisions, ``[N]`` or ``[N, K]`` each."""
        some = self._columns.index_select(0, index)
        old, target = some[:, 2 : 2 + self.heads], some[:, 2 + self.heads :]
        if self.heads == 1:
            old, target = old.squeeze(1), target.squeeze(1)
        return some[:, 0], some[:, 1], old, target

    def steps_of(self, rows: Tensor, steps: int) -> Tensor:
        """Return the numbers of the first time steps of ``rows: int64[B]``, ordered ``[steps, B]``."""
        first = torch.arange(0, steps * self.rows, self.rows, device=self.device)
        return (first.unsqueeze(1) + rows.unsqueeze(0)).flatten()

    def sequences(
        self, rows: Tensor, steps: int | None = None
    ) -> tuple[dict[str, Tensor], Tensor, Tensor, Tensor]:
        """Return observations and flags of rows, and their memory at t = 0.

        Args:
            rows: ``int64[B]``.
            steps: Number of time steps; None: T + 1.

        Returns:
            ``name -> [steps, B, *packed]``, ``first, active: bool[steps, B]`` and memory ``[B, ...]``.
        """
        count = self.steps + 1 if steps is None else steps
        obs = {
            name: x.reshape(count, len(rows), *x.shape[1:])
            for name, x in self.observations(self.steps_of(rows, count)).items()
        }
        first, active = (self._tensors[name][:count].index_select(1, rows) for name in ("first", "active"))
        return obs, first != 0, active, self._tensors["memory"].index_select(0, rows)

    def mates(self, rows: Tensor, steps: int | None = None) -> Mates | None:
        """Return the other seats of the teams of ``rows: int64[B]`` as ``B * S`` extra rows.

        None without team memories. For ``steps`` see :meth:`sequences`.
        """
        if _MATES not in self._tensors:
            return None
        mates = self._tensors[_MATES].index_select(0, rows)
        obs, first, active, memory = self.sequences(mates.clamp(min=0).flatten(), steps)
        there = torch.arange(mates.numel(), device=self.device).reshape(mates.shape) + len(rows)
        theirs = split_memory(memory, self._policy_memory)[1]
        return Mates(there.masked_fill(mates < 0, -1), CriticInput(obs, theirs, first, active), in_order=True)

    # ---- arrays of the host ------------------------------------------------------------------------

    def _arrays(self, samples: Samples) -> dict[str, Array]:
        slab = samples.slab
        arrays = {_OBS + name: _merged(slab.obs[name], self.observed) for name in self._names}
        arrays["mask"] = _merged(slab.mask[:-1], self.decided)
        arrays["actions"] = _merged(slab.actions, self.decided)
        if self._remembers:
            memory = slab.memory[samples.policy]
            arrays |= {"first": slab.is_first, "active": samples.learner_mask, "memory": memory}
        if samples.mates_of is not None:
            arrays[_MATES] = samples.mates_of
        return arrays

    def _empty(self, array: Array) -> Tensor:
        return torch.zeros(array.shape, dtype=dtype_of(array.dtype), device=self.device)


def _merged(array: Array, steps: int) -> Array:
    """Return ``[T, R, ...]`` as ``[steps, ...]``."""
    merged: Array = array.reshape(steps, *array.shape[2:])
    return merged


def _picked(tensor: Tensor, index: Tensor | slice) -> Tensor:
    return tensor[index] if isinstance(index, slice) else tensor.index_select(0, index)

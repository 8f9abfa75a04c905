"""Memory that one network has of every row, kept by a learner from slab to slab."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch
from torch import Tensor

from ludus.algorithms.updates.forward import part_size
from ludus.algorithms.updates.samples import Index, Samples, pieces
from ludus.algorithms.updates.tasks import Task
from ludus.flow import Slab
from ludus.flow.slab import Array
from ludus.policies.network import PolicyNetwork
from ludus.policies.transfer import uploaded


class RowMemory:
    """Memory of the rows of all slabs, read in order. Without learned memory it keeps nothing."""

    def __init__(self, network: PolicyNetwork, policy: int, name: str) -> None:
        """Start without memory.

        Args:
            network: Network that the memory belongs to.
            policy: Id of the policy in slabs whose rows are read.
            name: Prefix of its arrays in a checkpoint.
        """
        self.network, self.policy, self._key = network, policy, f"{name}.memory"
        self._memory: Tensor | None = None  # [R, ...] at t = 0 of the next slab

    def of(self, slab: Slab) -> Tensor | None:
        """Return ``[R, ...]`` at t = 0 of the next slab, which is ``slab``. None without memory."""
        if self._memory is None:
            self._memory = self.network.initial_memory(slab.rows)
        return self._memory

    def advance(self, samples: Samples, micro_batch: int) -> Sequence[Task]:
        """Return tasks that bring the memory to the end of the slab; an empty list without memory."""
        if self._memory is None:
            return ()
        rows = torch.arange(samples.slab.rows).numpy()
        after = self._memory = torch.empty_like(self._memory)
        size = part_size(self.network, micro_batch, samples.slab.steps)
        return [functools.partial(self._advance, samples, part, after) for part in pieces(rows, size)]

    @torch.no_grad()
    def _advance(self, samples: Samples, rows: Index, after: Tensor, worker: int) -> None:
        sequence = self.network.sequence(*self._inputs(samples, rows))
        assert sequence.memory is not None
        after[torch.from_numpy(rows)] = sequence.memory

    def _inputs(
        self, samples: Samples, rows: Index
    ) -> tuple[dict[str, Tensor], Tensor | None, Tensor, Tensor]:
        obs, first, active = samples.sequences(rows, samples.slab.steps)
        return obs, samples.memory(rows), first, active

    def state(self) -> dict[str, Array]:
        """Return arrays that the next slab depends on, by name."""
        return {} if self._memory is None else {self._key: self._memory.cpu().numpy().copy()}

    def load_state(self, arrays: dict[str, Array]) -> None:
        """Restore the arrays of :meth:`state`; ignore the rest."""
        memory = arrays.get(self._key)
        self._memory = None if memory is None else uploaded(memory.copy(), self.network.device)

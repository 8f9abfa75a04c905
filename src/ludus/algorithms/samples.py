"""What a learner takes from a slab: which time steps are trained on, and batches of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ludus.algorithms.seats import other_seats
from ludus.flow import Slab
from ludus.flow.slab import Array
from ludus.policies.critic import Others
from ludus.policies.network import PolicyNetwork

Index = npt.NDArray[np.int64]


class Samples:
    """Read-only view of one slab for one update. Safe to use from several threads.

    Time steps are numbered ``t * R + row``. ``learner_mask: bool[T+1, R]`` marks the time steps that
    the learned policy decides; the last one has no decision yet, only an observation to bootstrap from.

    Args:
        slab: a rollout that does not change meanwhile.
        network: the network that learns.
        policy: id of the policy in the slab that is trained.
        memory: ``[R, ...]`` of ``network`` at t = 0; None: what the slab holds of ``policy``.
    """

    def __init__(
        self, slab: Slab, network: PolicyNetwork, policy: int = 0, memory: Tensor | None = None
    ) -> None:
        self.slab, self.policy, self._memory = slab, policy, memory
        self.device = network.device
        self.names = tuple(t.name for t in network.inputs)
        self.learner_mask = (slab.active != 0) & (slab.policy == policy)
        self._flat: dict[str, Array] = {n: _merged(slab.obs[n]) for n in self.names}
        self._mask = _merged(slab.mask)
        self._actions = _merged(slab.actions)
        self._recalled: Tensor | None = None
        if network.recall is not None:
            rows = np.arange(slab.rows)
            self._recalled = network.recalled(*self.sequences(rows, slab.steps + 1), self.memory(rows))

        self._others = other_seats(slab, network) if network.centralised else None

    def tensor(self, array: Array) -> Tensor:
        """To the learner's device."""
        tensor = torch.from_numpy(array)
        return tensor.to(self.device, non_blocking=True) if self.device.type != "cpu" else tensor

    def observations(self, index: Index) -> dict[str, Tensor]:
        """``name -> [N, *packed]`` of time steps ``index: [N]``."""
        return {n: self.tensor(x.take(index, axis=0)) for n, x in self._flat.items()}

    def masks(self, index: Index) -> Tensor:
        """``uint8[N, A]``."""
        return self.tensor(self._mask.take(index, axis=0))

    def actions(self, index: Index) -> Tensor:
        """``int32[N, K]``."""
        return self.tensor(self._actions.take(index, axis=0))

    def sequences(self, rows: Index, steps: int) -> tuple[dict[str, Tensor], Tensor, Tensor]:
        """Observations ``[steps, len(rows), *packed]``, ``first``, ``active`` ``bool[steps, len(rows)]``."""
        index = steps_of(rows, steps, self.slab.rows)
        obs = {n: x.reshape(steps, len(rows), *x.shape[1:]) for n, x in self.observations(index).items()}
        first = self.tensor(self.slab.is_first[:steps].take(rows, axis=1)) != 0
        return obs, first, self.tensor(self.learner_mask[:steps].take(rows, axis=1))

    def recalled(self, index: Index) -> Tensor | None:
        """``[N, 2, D]`` of time steps ``index: [N]``, for policies that recall."""
        if self._recalled is None:
            return None
        return self._recalled.flatten(0, 1).index_select(0, torch.from_numpy(index).to(self.device))

    def others(self, index: Index) -> Others | None:
        """What other seats observed at time steps ``index: [N]``, for a centralised critic."""
        if self._others is None:
            return None
        steps, rows = np.divmod(index, self.slab.rows)
        where = self._others[steps, rows].reshape(-1)  # [N * K]
        place = np.flatnonzero(where >= 0)
        return Others(self.observations(where[place]), self.tensor(place))

    def memory(self, rows: Index) -> Tensor | None:
        """Memory of ``rows`` at t = 0."""
        if self._memory is not None:
            return self._memory[torch.from_numpy(rows).to(self.device)]
        memory = self.slab.memory.get(self.policy)
        return None if memory is None else self.tensor(memory.take(rows, axis=0))


def _merged(array: Array) -> Array:
    """``[T, R, ...]`` as a view ``[T * R, ...]``."""
    merged: Array = array.reshape(array.shape[0] * array.shape[1], *array.shape[2:])
    return merged


def steps_of(rows: Index, steps: int, total_rows: int) -> Index:
    """Numbers of all time steps of ``rows`` at t = 0..steps-1, ordered ``[steps, len(rows)]`` flattened."""
    return (np.arange(steps, dtype=np.int64)[:, None] * total_rows + rows[None, :]).reshape(-1)


def pieces(items: Index, size: int) -> Iterable[Index]:
    """``items`` cut into the fewest nearly equal pieces of at most ``size``; none if empty."""
    if len(items) == 0:
        return ()
    return np.array_split(items, -(-len(items) // max(size, 1)))

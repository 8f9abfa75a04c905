"""Samples: the time steps of a slab that a learner trains on, batches of them, and other seats' observations.

Shapes: ``T`` steps, ``R`` rows, ``N`` samples, ``K`` other seats that a centralised critic sees.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from torch import Tensor

from ludus.flow import GameSpec, Slab
from ludus.flow.slab import Array
from ludus.policies.config import EncoderConfig
from ludus.policies.critic import CriticInput, Mates, Others, seats_seen, seen_seats, split_memory
from ludus.policies.network import PolicyNetwork
from ludus.policies.transfer import uploaded

Index = npt.NDArray[np.int64]


class Samples:
    """Read-only view of one slab for one update. Safe to use from several threads.

    Time steps are numbered ``t * R + row``. ``learner_mask: bool[T+1, R]`` marks the time steps that
    the learned policy decides; the last one has no decision yet, only an observation to bootstrap from.
    """

    def __init__(
        self,
        slab: Slab,
        network: PolicyNetwork,
        policy: int = 0,
        memory: Tensor | None = None,
        *,
        recalls: bool = True,
    ) -> None:
        """Find the time steps of ``policy``.

        Args:
            slab: Rollout that does not change meanwhile.
            network: Network that learns.
            policy: Id of the trained policy in the slab.
            memory: ``[R, ...]`` of ``network`` at t = 0; None: the slab's memory of ``policy``.
            recalls: Whether :meth:`recalled` will be asked.
        """
        self.slab, self.policy, self._memory = slab, policy, memory
        self.device = network.device
        self.names = tuple(t.name for t in network.inputs)
        self.learner_mask = (slab.active != 0) & (slab.policy == policy)
        self._flat: dict[str, Array] = {n: _merged(slab.obs[n]) for n in self.names}
        self._mask = _merged(slab.mask)
        self._actions = _merged(slab.actions)
        self._recalled: Tensor | None = None
        if network.recall is not None and recalls:
            rows = np.arange(slab.rows)
            self._recalled = network.recalled(*self.sequences(rows, slab.steps + 1), self.memory(rows))

        #: int64[T+1, R, K], see :func:`other_seats`; None without a centralised critic, and with memory
        self.seats_seen: Index | None = None
        #: int64[R, K], rows of the other seats of each row's team, -1 for none; None without team memories
        self.mates_of = team_rows(slab, network)
        self._policy_memory = network.recurrent.size if network.recurrent is not None else 0
        self._static = network.static
        if network.centralised and self.mates_of is None:
            self.seats_seen = other_seats(slab, network)

    def tensor(self, array: Array) -> Tensor:
        """Return a tensor on the learner's device."""
        return uploaded(array, self.device)

    def observations(self, index: Index) -> dict[str, Tensor]:
        """Return ``name -> [N, *packed]`` of time steps ``index: [N]``."""
        return {n: self.tensor(x.take(index, axis=0)) for n, x in self._flat.items()}

    def masks(self, index: Index) -> Tensor:
        """Return the legal choices ``uint8[N, A]`` of time steps ``index: [N]``."""
        return self.tensor(self._mask.take(index, axis=0))

    def actions(self, index: Index) -> Tensor:
        """Return the choices ``int32[N, heads]`` of time steps ``index: [N]``."""
        return self.tensor(self._actions.take(index, axis=0))

    def sequences(self, rows: Index, steps: int) -> tuple[dict[str, Tensor], Tensor, Tensor]:
        """Return observations ``[steps, len(rows), *packed]``, ``first, active: bool[steps, len(rows)]``."""
        index = steps_of(rows, steps, self.slab.rows)
        obs = {n: x.reshape(steps, len(rows), *x.shape[1:]) for n, x in self.observations(index).items()}
        first = self.tensor(self.slab.is_first[:steps].take(rows, axis=1)) != 0
        return obs, first, self.tensor(self.learner_mask[:steps].take(rows, axis=1))

    def recalled(self, index: Index) -> Tensor | None:
        """Return ``[N, 2, D]`` of time steps ``index: [N]``; None for policies that do not recall."""
        if self._recalled is None:
            return None
        return self._recalled.flatten(0, 1).index_select(0, self.tensor(index))

    def others(self, index: Index) -> Others | None:
        """Return other seats' observations at time steps ``index: [N]``, for a centralised critic."""
        if self.seats_seen is None:
            return None
        steps, rows = np.divmod(index, self.slab.rows)
        where = self.seats_seen[steps, rows].reshape(-1)  # [N * K]
        place = np.flatnonzero(where >= 0)
        return Others(self.observations(where[place]), self.tensor(place))

    def mates(self, rows: Index, steps: int) -> Mates | None:
        """Return the other seats of the teams of ``rows`` at t = 0..steps-1, for a critic with memory."""
        if self.mates_of is None:
            return None
        mates = self.mates_of[rows]
        if self._static:
            more = np.maximum(mates, 0).reshape(-1)
            index = np.arange(len(more)).reshape(mates.shape) + len(rows)
        else:
            more = np.setdiff1d(mates[mates >= 0], rows)
            place = np.full(self.slab.rows, -1, np.int64)
            place[rows] = np.arange(len(rows))
            place[more] = len(rows) + np.arange(len(more))
            index = place[mates]
        known = self.tensor(np.where(mates >= 0, index, -1))
        memory = self.memory(more)
        if memory is None or not len(more):
            return Mates(known)
        obs, first, active = self.sequences(more, steps)
        extra = CriticInput(obs, split_memory(memory, self._policy_memory)[1], first, active)
        return Mates(known, extra, in_order=self._static)

    def memory(self, rows: Index) -> Tensor | None:
        """Return the memory of ``rows`` at t = 0; None without memory."""
        if self._memory is not None:
            return self._memory[self.tensor(rows)]
        memory = self.slab.memory.get(self.policy)
        return None if memory is None else self.tensor(memory.take(rows, axis=0))


def _merged(array: Array) -> Array:
    """Return ``[T, R, ...]`` as a view ``[T * R, ...]``."""
    merged: Array = array.reshape(array.shape[0] * array.shape[1], *array.shape[2:])
    return merged


def steps_of(rows: Index, steps: int, total_rows: int) -> Index:
    """Return numbers of all time steps of ``rows`` at t = 0..steps-1, ordered ``[steps, len(rows)]``."""
    return (np.arange(steps, dtype=np.int64)[:, None] * total_rows + rows[None, :]).reshape(-1)


def pieces(items: Index, size: int, multiple: int = 1) -> Iterable[Index]:
    """Cut ``items`` into the fewest nearly equal pieces of at most ``size``, if there are any.

    Args:
        items: Numbers of units.
        size: Most units of a piece.
        multiple: Number of which the number of pieces is a multiple, unless there are fewer items.
    """
    if len(items) == 0:
        return ()
    fewest = -(-len(items) // max(size, 1))
    return np.array_split(items, min(-(-fewest // multiple) * multiple, len(items)))


def other_seats(slab: Slab, network: PolicyNetwork) -> Index:
    """Return ``int64[T+1, R, K]``: time steps ``t * R + row`` of the other seats' latest observations, or -1.

    The latest is of the row's own time step or, if the seat did not act then, of its last decision
    before it in this match. A seat is absent (-1) if a bot plays it, if it has not decided in this match, or
    if its last decision lies before the slab.
    """
    rows = rows_of_seats(slab, network.config, network.spec)
    latest = latest_observations(slab)[:, np.maximum(rows, 0)]  # [T+1, R, K]
    index: Index = np.where((rows >= 0) & (latest >= 0), latest * slab.rows + rows, -1)
    return index


def team_rows(slab: Slab, network: PolicyNetwork) -> Index | None:
    """Return :func:`rows_of_seats` for a critic that joins the memories of a team; None for others."""
    if not network.team_memories:
        return None
    return rows_of_seats(slab, network.config, network.spec)


def in_teams(units: Index, mates: Index, generator: np.random.Generator) -> Index:
    """Return rows in the shuffled order of their teams, so that few parts cut a team.

    Args:
        units: Rows, ascending.
        mates: ``int64[R, K]`` of :func:`team_rows`.
        generator: Shuffles the teams.
    """
    rows = np.arange(len(mates))[:, None]
    team = np.concatenate([rows, np.where(mates >= 0, mates, rows)], axis=1).min(axis=1)[units]
    teams = generator.permutation(np.unique(team))
    order = np.empty(len(mates), np.int64)
    order[teams] = np.arange(len(teams))
    shuffled: Index = units[np.argsort(order[team], kind="stable")]
    return shuffled


def rows_of_seats(slab: Slab, config: EncoderConfig, spec: GameSpec) -> Index:
    """Return ``int64[R, K]``: the rows of the seats that each row's seat sees, -1 for no seat."""
    slots = int(slab.row_slot.max()) + 1
    row_at = np.full((slots, spec.seats), -1, np.int64)
    row_at[slab.row_slot, slab.row_seat] = np.arange(slab.rows)
    out = np.full((slab.rows, seats_seen(config, spec)), -1, np.int64)
    for seat in range(spec.seats):
        mine = np.flatnonzero(slab.row_seat == seat)
        for k, other in enumerate(seen_seats(config, spec, seat)):
            out[mine, k] = row_at[slab.row_slot[mine], other]
    return out


def latest_observations(slab: Slab) -> Index:
    """Return ``int64[T+1, R]``: the last time step up to t at which a row acted in the match of t, or -1."""
    ended = (slab.terminated | slab.truncated) != 0
    slots = int(slab.row_slot.max()) + 1
    of_slot = np.zeros((slab.steps, slots), np.bool_)
    for seat in np.unique(slab.row_seat):  # each slot at most once
        mine = np.flatnonzero(slab.row_seat == seat)
        of_slot[:, slab.row_slot[mine]] |= ended[:, mine]
    out = np.full((slab.steps + 1, slab.rows), -1, np.int64)
    last = out[0]
    for t in range(slab.steps + 1):
        if t > 0:
            last = np.where(of_slot[t - 1, slab.row_slot], -1, last)
        last = np.where(slab.active[t] != 0, t, last)
        out[t] = last
    return out

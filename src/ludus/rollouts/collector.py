"""Fills slabs: groups of matches in turn, every policy's rows in one batch.

While one group's matches play on in the pool's threads, the other group's rows are decided
(double-buffered sampling; Sample Factory, section 3.1). The order of groups and the random numbers are
fixed, so that a rollout depends only on the seed and the weights.

Shapes: ``R`` rows of the pool, ``T`` steps of a slab.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping

import numpy as np
import numpy.typing as npt

from ludus.flow import RolloutStats, Slab, StepBatch
from ludus.flow.slab import Array
from ludus.pool.protocol import Pool
from ludus.rollouts.actor import ActInput, Actor

Index = slice | npt.NDArray[np.int32]
PolicyRows = tuple[int, npt.NDArray[np.int32]]


class Collector:
    """Owns the memory of every row and the counter of decisions; both are part of a checkpoint.

    One thread calls it. ``time_step`` counts time steps since the start of the run: with the seed and
    the row's number it is the whole randomness of a decision. ``learned``: policy ids that a learner trains;
    of these a slab keeps memory at t = 0 and bootstrap values. ``shown``: policy ids that a learner imitates;
    their decisions count as steps too.
    """

    def __init__(
        self,
        pool: Pool,
        actors: Mapping[int, Actor],
        learned: Collection[int],
        shown: Collection[int] = (),
    ) -> None:
        """Start with empty memory at time step 0."""
        self.pool, self.learned = pool, tuple(sorted(learned))
        self._counted = frozenset((*learned, *shown))
        self.time_step = 0
        self._memory: dict[int, npt.NDArray[np.float32]] = {}
        self._last_policy = np.full(pool.rows, -1, np.int16)  # who decided last for a row
        self._ticks = pool.stats().ticks
        self._actors: dict[int, Actor] = {}
        self._groups: list[tuple[Actor, tuple[int, ...]]] = []  # the policy ids of each actor
        self.set_actors(actors)

    def set_actors(self, actors: Mapping[int, Actor], fresh: Collection[int] = ()) -> None:
        """Replace the actors of all policy ids, between slabs.

        Memory stays where its shape stays, except for the policy ids ``fresh``: these remember nothing.
        """
        self._actors = dict(actors)
        groups: dict[int, tuple[Actor, list[int]]] = {}
        for policy, actor in sorted(self._actors.items()):
            groups.setdefault(id(actor), (actor, []))[1].append(policy)
        self._groups = [(actor, tuple(policies)) for actor, policies in groups.values()]
        for policy, actor in self._actors.items():
            shape = actor.memory_shape
            if shape is None:
                self._memory.pop(policy, None)
                continue
            kept = self._memory.get(policy)
            if policy in fresh or kept is None or kept.shape[1:] != shape:
                self._memory[policy] = np.zeros((self.pool.rows, *shape), np.float32)

    def collect(self, slab: Slab, between: Callable[[], None] | None = None) -> RolloutStats:
        """Plays ``slab.steps`` decisions of every row into ``slab``.

        ``between`` is called before every time step (asynchronous runs swap weights there).
        """
        stats = RolloutStats()
        begin = time.perf_counter()
        pool, groups = self.pool, range(self.pool.groups)
        self._open(slab)
        for group in groups:
            pool.attach(group, slab)
        for t in range(slab.steps):
            if between is not None:
                between()
            for group in groups:
                batch = self._receive(group, t, stats)
                self._decide(batch, stats)
                pool.send(group)
            self.time_step += 1
        for group in groups:
            batch = self._receive(group, slab.steps, stats)
            self._bootstrap(batch, stats)
        ticks = pool.stats().ticks
        stats.ticks, self._ticks = ticks - self._ticks, ticks
        stats.total_s = time.perf_counter() - begin
        return stats

    def state(self) -> dict[str, Array]:
        """Return arrays to store; :meth:`restore` sets them."""
        out: dict[str, Array] = {
            "time_step": np.array([self.time_step], np.int64),
            "last_policy": self._last_policy.copy(),
        }
        out.update({f"memory.{policy}": memory.copy() for policy, memory in self._memory.items()})
        return out

    def start_at(self, time_step: int) -> None:
        """Count time steps from ``time_step`` on, without memory for any row."""
        self.time_step = time_step

    def restore(self, state: Mapping[str, Array]) -> None:
        """Set what :meth:`state` returned. Raises ``ValueError`` where it does not fit pool or policies."""
        expected = {"time_step", "last_policy", *(f"memory.{p}" for p in self._memory)}
        if set(state) != expected:
            raise ValueError(f"collector state has {sorted(state)}, expected {sorted(expected)}")
        last = state["last_policy"]
        if last.shape != self._last_policy.shape or last.dtype != np.int16:
            raise ValueError(
                f"last_policy is {last.dtype}{last.shape}, expected int16{self._last_policy.shape}"
            )
        for policy, memory in self._memory.items():
            stored = state[f"memory.{policy}"]
            if stored.shape != memory.shape or stored.dtype != memory.dtype:
                raise ValueError(
                    f"memory.{policy} is {stored.dtype}{stored.shape}, expected float32{memory.shape}"
                )
            memory[...] = stored
        self._last_policy[...] = last
        self.time_step = int(state["time_step"][0])
        self._ticks = self.pool.stats().ticks

    def _open(self, slab: Slab) -> None:
        """Clear the fields that the core does not write, and store the memory of learned rows."""
        slab.final_value[...] = 0.0
        slab.log_prob[...] = 0.0
        slab.value[...] = 0.0
        slab.version[...] = -1
        memory = {policy: self._memory[policy] for policy in self.learned if policy in self._memory}
        if {p: m.shape for p, m in memory.items()} != {p: m.shape for p, m in slab.memory.items()}:
            slab.memory = {policy: np.empty_like(m) for policy, m in memory.items()}
        for policy, now in memory.items():
            slab.memory[policy][...] = now

    def _receive(self, group: int, t: int, stats: RolloutStats) -> StepBatch:
        begin = time.perf_counter()
        batch = self.pool.recv(group)
        stats.wait_s += time.perf_counter() - begin
        if batch.t != t:
            raise RuntimeError(f"group {group} is at t={batch.t}, expected {t}")
        # At the very first time step too: a match can end before any of its rows had to decide.
        stats.results += batch.results
        if t > 0 and len(batch.final_rows):
            self._value_last(batch, stats)
        return batch

    def _decide(self, batch: StepBatch, stats: RolloutStats) -> None:
        begin = time.perf_counter()
        slab, t = batch.slab, batch.t
        missing = [p for p, r in batch.policy_rows.items() if len(r) and p not in self._actors]
        if missing:
            raise RuntimeError(f"group {batch.group}: rows of policies {missing}, which no actor decides for")
        for actor, policies in self._groups:
            parts = [(p, r) for p in policies if (r := batch.policy_rows.get(p)) is not None and len(r)]
            if not parts:
                continue
            if len(parts) == 1:
                rows, index = parts[0][1], as_index(parts[0][1])
            else:
                rows = index = np.concatenate([r for _, r in parts])
            decision = actor.act(
                ActInput(
                    {name: a[t, index] for name, a in slab.obs.items()},
                    slab.mask[t, index],
                    self._remembered(parts),
                    slab.is_first[t, index],
                    self.time_step,
                    rows,
                    tuple((p, len(r)) for p, r in parts),
                )
            )
            slab.actions[t, index] = decision.actions
            slab.log_prob[t, index] = decision.log_prob
            slab.value[t, index] = decision.value
            slab.version[t, index] = actor.version if decision.versions is None else decision.versions
            if decision.memory is not None:
                self._remember(parts, decision.memory)
            for policy, some in parts:
                self._last_policy[as_index(some)] = policy
                stats.decisions += len(some)
                if policy in self._counted:
                    stats.steps += len(some)
        stats.infer_s += time.perf_counter() - begin

    def _remembered(self, parts: list[PolicyRows]) -> Array | None:
        """Memory of the rows of ``parts``, one part after another; a view where it can be one."""
        memories = [self._memory[p][as_index(rows)] for p, rows in parts if p in self._memory]
        if not memories:
            return None
        return memories[0] if len(memories) == 1 else np.concatenate(memories)

    def _remember(self, parts: list[PolicyRows], memory: Array) -> None:
        """Store the memory of the rows of ``parts``, in the order of :meth:`_remembered`."""
        end = 0
        for policy, rows in parts:
            begin, end = end, end + len(rows)
            if policy in self._memory:
                self._memory[policy][as_index(rows)] = memory[begin:end]

    def _value_last(self, batch: StepBatch, stats: RolloutStats) -> None:
        """Values of the last observation of matches that were cut off (truncation is not an end)."""
        begin = time.perf_counter()
        slab, t = batch.slab, batch.t - 1
        rows = batch.final_rows
        cut = slab.truncated[t, rows] != 0
        for policy in self.learned:
            chosen = np.flatnonzero(cut & (self._last_policy[rows] == policy))
            if not len(chosen):
                continue
            index = rows[chosen]
            memory = self._memory.get(policy)
            slab.final_value[t, index] = self._actors[policy].value(
                {name: a[chosen] for name, a in batch.final_obs.items()},
                None if memory is None else memory[index],
                np.zeros(len(chosen), np.uint8),
            )
        stats.infer_s += time.perf_counter() - begin

    def _bootstrap(self, batch: StepBatch, stats: RolloutStats) -> None:
        """Write ``value[T]`` of learned policies' rows that act next, without decisions or memory."""
        begin = time.perf_counter()
        for policy in self.learned:
            rows = batch.policy_rows.get(policy)
            if rows is None or not len(rows):
                continue
            slab, t, index = batch.slab, batch.t, as_index(rows)
            memory = self._memory.get(policy)
            slab.value[t, index] = self._actors[policy].value(
                {name: a[t, index] for name, a in slab.obs.items()},
                None if memory is None else memory[index],
                slab.is_first[t, index],
            )
        stats.infer_s += time.perf_counter() - begin


def as_index(rows: npt.NDArray[np.int32]) -> Index:
    """Return a slice where rising ``rows`` are contiguous, so that indexing makes a view and not a copy."""
    if int(rows[-1]) - int(rows[0]) == len(rows) - 1:
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows

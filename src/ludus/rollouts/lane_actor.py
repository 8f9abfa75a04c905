"""Several lanes of one architecture as one actor: their rows are decided in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ludus.flow.slab import Array
from ludus.policies.accelerator import Compute, Executor, Program, executor_of
from ludus.policies.actions.distribution import uniforms
from ludus.policies.lane_rows import LaneRows
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network
from ludus.policies.stacked import StackedNetworks, stackable
from ludus.policies.transfer import downloaded, uploaded
from ludus.rollouts.actor import ActInput, Decision
from ludus.rollouts.network_actor import NetworkActor, check_decision

CALL = 10_000_000  # multiplications that take about as long as a call of a network takes beside its own
SMALLEST = 16  # rows of a lane that a program has places for; the next sizes are powers of two


class LaneActor:
    """``lanes``: policy id -> actor with a separate network, all of one architecture and one game.

    Decides as the lanes' own actors do, from the same uniforms. If networks cannot be stacked, or if
    rows are so unevenly spread that stacking takes longer, it decides lane by lane.
    """

    def __init__(self, lanes: Mapping[int, NetworkActor], executor: Executor | None = None) -> None:
        """Stack the networks of ``lanes`` if they can be stacked.

        Args:
            lanes: Actors by policy id.
            executor: Executor of the networks; None: their device's.
        """
        self._seat(lanes)
        networks = [actor.network for actor in self.lanes.values()]
        greedy = any(actor.greedy for actor in self.lanes.values())
        self._stack: StackedNetworks | None = None
        if len(networks) > 1 and _all_stackable(networks) and not greedy:
            self._stack = StackedNetworks(networks)
        self._executor = executor_of(self._first.network.device) if executor is None else executor
        self._programs: dict[int, Program] = {}  # by the places of a lane

    def _seat(self, lanes: Mapping[int, NetworkActor]) -> None:
        self.lanes = dict(sorted(lanes.items()))
        self._place = {policy: i for i, policy in enumerate(self.lanes)}
        actors = list(self.lanes.values())
        self._first = actors[0]
        self._versions = np.array([actor.version for actor in actors], np.int32)
        self._seeds = np.array([actor.seed & 0xFFFFFFFFFFFFFFFF for actor in actors], np.uint64)

    def reload(self, lanes: Mapping[int, NetworkActor]) -> bool:
        """Play the networks of ``lanes``, of the same architecture and game, by the programs that exist.

        Returns:
            Whether there are programs to keep; otherwise nothing has changed.
        """
        networks = [actor.network for _, actor in sorted(lanes.items())]
        if self._stack is None or not (self._programs and self._stack.first.static):
            return False
        if not _all_stackable(networks):
            return False
        if lanes.keys() != self.lanes.keys() or any(actor.greedy for actor in lanes.values()):
            return False
        self._seat(lanes)
        self._stack.load(networks)
        return True

    @property
    def version(self) -> int:
        """Version of the first lane; a decision holds the version of each row."""
        return self._first.version

    @property
    def memory_shape(self) -> tuple[int, ...] | None:
        """Shape of a row's memory; None without one."""
        return self._first.memory_shape

    @torch.no_grad()
    def act(self, batch: ActInput) -> Decision:
        """See :meth:`ludus.rollouts.actor.Actor.act`. ``batch.policies`` names the lanes of the rows."""
        if len(batch.policies) == 1:
            actor = self.lanes[batch.policies[0][0]]
            return actor.act(batch)._replace(versions=np.full(len(batch.rows), actor.version, np.int32))
        counts = [0] * len(self.lanes)
        for policy, count in batch.policies:
            counts[self._place[policy]] = count
        if self._stack is not None and self._executor.static:
            return self._replayed(self._stack, batch, counts)
        if self._stack is None or self._stack.wasted(counts) > CALL * (len(batch.policies) - 1):
            return self._one_by_one(batch)
        device = self._stack.first.device

        def tensor(array: Array) -> Tensor:
            return uploaded(array, device)

        obs = {t.name: tensor(batch.obs[t.name]) for t in self._stack.first.inputs}
        memory = None if batch.memory is None else tensor(batch.memory)
        out = self._stack.step(obs, memory, tensor(batch.is_first), counts)
        draws = uniforms(
            self._seeds.repeat(counts), batch.step, batch.rows, len(self._stack.first.heads.sizes)
        )
        drawn = out.distribution.sample(tensor(batch.mask), tensor(draws))
        decision = Decision(
            drawn.actions.cpu().numpy().astype(np.int32),
            drawn.log_prob.cpu().numpy(),
            out.value.cpu().numpy(),
            None if out.memory is None else downloaded(out.memory),
            self._versions.repeat(counts),
        )
        self._check(batch, decision)
        return decision

    def _replayed(self, stack: StackedNetworks, batch: ActInput, counts: Sequence[int]) -> Decision:
        """Decide by a program with as many places for every lane, of which ``counts`` are filled."""
        size = max(SMALLEST, 1 << (max(counts) - 1).bit_length())
        places = np.concatenate([lane * size + np.arange(n) for lane, n in enumerate(counts)])
        draws = uniforms(self._seeds.repeat(counts), batch.step, batch.rows, len(stack.first.heads.sizes))
        arrays = {f"obs.{t.name}": batch.obs[t.name] for t in stack.first.inputs}
        arrays |= {"mask": batch.mask, "first": batch.is_first, "uniform": draws}
        if batch.memory is not None:
            arrays["memory"] = batch.memory
        padded: dict[str, Array] = {}
        for name, array in arrays.items():
            padded[name] = np.zeros((size * len(counts), *array.shape[1:]), array.dtype)
            padded[name][places] = array
        program = self._programs.get(size)
        if program is None:
            program = self._programs[size] = self._executor.program(_compute(stack, size), padded)
        out = program(padded)
        decision = Decision(
            out["actions"][places],
            out["log_prob"][places],
            out["value"][places],
            out["memory"][places] if "memory" in out else None,
            self._versions.repeat(counts),
        )
        self._check(batch, decision)
        return decision

    def _check(self, batch: ActInput, decision: Decision) -> None:
        """Raise ``NotFinite`` for broken outputs, with the version of their lane."""
        wrong = np.flatnonzero(~np.isfinite(decision.log_prob) | ~np.isfinite(decision.value))
        if len(wrong) and decision.versions is not None:
            inputs = [t.name for t in self._first.network.inputs]
            check_decision(batch, decision, inputs, int(decision.versions[wrong[0]]))

    def value(
        self, obs: Mapping[str, Array], memory: Array | None, is_first: Array
    ) -> npt.NDArray[np.float32]:
        """Refuse to value rows, which have no lanes here. Raises ``TypeError``."""
        raise TypeError("lanes of frozen networks are not valued")

    def _one_by_one(self, batch: ActInput) -> Decision:
        made: list[Decision] = []
        end = 0
        for policy, count in batch.policies:
            begin, end = end, end + count
            part = ActInput(
                {name: a[begin:end] for name, a in batch.obs.items()},
                batch.mask[begin:end],
                None if batch.memory is None else batch.memory[begin:end],
                batch.is_first[begin:end],
                batch.step,
                batch.rows[begin:end],
            )
            made.append(self.lanes[policy].act(part))
        memories = [d.memory for d in made if d.memory is not None]
        versions = [np.full(n, self.lanes[p].version, np.int32) for p, n in batch.policies]
        return Decision(
            np.concatenate([d.actions for d in made]),
            np.concatenate([d.log_prob for d in made]),
            np.concatenate([d.value for d in made]),
            np.concatenate(memories) if memories else None,
            np.concatenate(versions),
        )


def _compute(stack: StackedNetworks, size: int) -> Compute:
    """Return the decision of ``size`` rows of each lane."""
    rows = LaneRows.of_counts((size,) * len(stack.networks), stack.first.device)

    def compute(given: Mapping[str, Tensor]) -> dict[str, Tensor]:
        obs = {t.name: given[f"obs.{t.name}"] for t in stack.first.inputs}
        step = stack.decide(obs, given.get("memory"), given["first"], rows)
        drawn = step.distribution.sample(given["mask"], given["uniform"])
        out = {"actions": drawn.actions.int(), "log_prob": drawn.log_prob, "value": step.value.float()}
        return out if step.memory is None else {**out, "memory": step.memory}

    return compute


def _all_stackable(networks: list[Network]) -> TypeGuard[list[PolicyNetwork]]:
    return all(stackable(network) for network in networks)

"""Several lanes of one architecture as one actor: their rows are decided in one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ludus.flow.slab import Array
from ludus.policies.distribution import uniforms
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network
from ludus.policies.stacked import StackedNetworks, stackable
from ludus.policies.transfer import downloaded, uploaded
from ludus.rollouts.actor import ActInput, Decision
from ludus.rollouts.network_actor import NetworkActor, check_decision

CALL = 10_000_000  # multiplications that take about as long as a call of a network takes beside its own


class LaneActor:
    """``lanes``: policy id -> actor on a network of its own, all of one architecture and one game.

    Decides as the lanes' own actors do, from the same uniforms. Networks that cannot be stacked, and rows
    that are spread so unevenly over the lanes that it would take longer, are decided lane by lane.
    """

    def __init__(self, lanes: Mapping[int, NetworkActor]) -> None:
        """Stack the networks of ``lanes`` where they can be stacked."""
        self.lanes = dict(sorted(lanes.items()))
        self._place = {policy: i for i, policy in enumerate(self.lanes)}
        actors = list(self.lanes.values())
        self._first = actors[0]
        self._versions = np.array([actor.version for actor in actors], np.int32)
        self._seeds = np.array([actor.seed & 0xFFFFFFFFFFFFFFFF for actor in actors], np.uint64)
        networks = [actor.network for actor in actors]
        self._stack: StackedNetworks | None = None
        if len(networks) > 1 and _all_stackable(networks) and not any(actor.greedy for actor in actors):
            self._stack = StackedNetworks(networks)

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


def _all_stackable(networks: list[Network]) -> TypeGuard[list[PolicyNetwork]]:
    return all(stackable(network) for network in networks)

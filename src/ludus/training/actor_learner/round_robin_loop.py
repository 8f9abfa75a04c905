"""Round robin of pools, each with its copy of the weights: vanilla A3C (Mnih et al. 2016; ELF, section 2).

K pools take turns. In its turn a pool's last slab gives a gradient at the pool's own copy of the weights. The
gradient moves the shared weights, and the pool takes these for its next slab, which it plays while the next
pool has its turn. So each gradient is K - 1 versions old when it is applied. Equal seeds give equal bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import msgspec
import torch

from ludus.algorithms.actor_critic.learner import ActorCriticLearner
from ludus.algorithms.updates.optimiser import under
from ludus.algorithms.updates.parameters import load_tensors, tensors_of
from ludus.algorithms.updates.tasks import UpdatePlan
from ludus.flow import RolloutStats, Slab, Weights
from ludus.flow.slab import Array
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network
from ludus.rollouts.commands import LoadWeights
from ludus.rollouts.network_actor import NetworkActor
from ludus.storage import Checkpoint, CorruptFile
from ludus.training.actor_learner.build import Components
from ludus.training.actor_learner.checkpoint import (
    TrainerState,
    Turns,
    make_checkpoint,
    restore_components,
)
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.actor_learner.own_copy import OwnCopy
from ludus.training.actor_learner.sampler import NO_WEIGHTS
from ludus.training.actor_learner.sync_loop import FullSlab, Rounds, playing_text


@dataclass(slots=True)
class OnePool:
    """A pool and its weights, of which it is the source (:class:`ludus.rollouts.exchange.WeightSource`).

    ``copy``: the weights of ``version`` that it plays with; ``full``: the slab of its next gradient.
    """

    components: Components
    copy: PolicyNetwork
    version: int = NO_WEIGHTS
    full: FullSlab | None = None

    def act(self, version: int) -> None:
        """Play with the copy's weights, which are those of ``version``."""
        self.version = version
        self.components.sampler.send(LoadWeights({self.components.policy: self}))

    def newest(self) -> Weights:
        """See :meth:`ludus.rollouts.exchange.WeightSource.newest`."""
        meta = msgspec.structs.replace(self.components.learner.weights().meta, version=self.version)
        return Weights(meta, tensors_of(self.copy))

    @torch.no_grad()
    def copy_to(self, network: Network) -> int:
        """See :meth:`ludus.rollouts.exchange.WeightSource.copy_to`."""
        for mine, other in zip(network.state_dict().values(), self.copy.state_dict().values(), strict=True):
            mine.copy_(other)
        return self.version


class TurnRounds(Rounds):
    """A round is one pool's turn. The pools are those of ``components`` and of its siblings."""

    def __init__(self, components: Components, learner_threads: LearnerThreads, pipelined: bool) -> None:
        """Give each sampler of ``components`` a copy of the learner's weights."""
        super().__init__(components, learner_threads, pipelined)
        learner = cast("ActorCriticLearner[Any]", components.learner)  # see components.build
        network = learner.network
        self._own_copy = OwnCopy(learner)
        self.pools = [
            OnePool(
                Components(sampler, learner, components.policy, components.threads),
                PolicyNetwork(network.config, network.spec, 0, network.precision).to(network.device),
            )
            for sampler in (components.sampler, *components.siblings)
        ]
        self.turn = 0  # number of turns so far
        self._refresh_all()

    @property
    def actor(self) -> NetworkActor:
        """Actor of the pool that took the newest weights."""
        return self._pool(-1).components.actor

    @property
    def slots(self) -> int:
        """Number of matches that all pools play at a time."""
        return sum(pool.components.sampler.facts.all_slots for pool in self.pools)

    def doing(self) -> str:
        """See :meth:`Rounds.doing`."""
        return playing_text([pool.components.sampler for pool in self.pools])

    def ask(self) -> None:
        """Do nothing: the pools are those of this process."""

    def _pool(self, after: int) -> OnePool:
        """Return the pool whose turn it is, 0, or those before it, below 0."""
        return self.pools[(self.turn + after) % len(self.pools)]

    def _next(self) -> FullSlab | None:
        pool = self._pool(0)
        full, pool.full = pool.full, None
        return full

    def _take(self, learning: FullSlab | None = None) -> RolloutStats:
        index, pool = (self.turn - 1) % len(self.pools), self._pool(-1)
        sampler = pool.components.sampler
        slab, first = sampler.facts.slabs[0], index * sampler.facts.all_slots
        sampler.send(self.terms)
        stats = sampler.play(slab)
        summary = self._summary(stats, sampler.facts.labels)
        # the slots of a pool follow those of the pools before it
        summary.ends = [msgspec.structs.replace(end, slot=first + end.slot) for end in summary.ends]
        pool.full = FullSlab(slab, summary, stats)
        return stats

    def _start(self, slab: Slab, progress: float, value_only: bool) -> UpdatePlan:
        self._own_copy.leave(self._pool(0).copy)
        return super()._start(slab, progress, value_only)

    def publish(self) -> None:
        """Give the pool whose turn ends the newest weights."""
        self._own_copy.back()
        self._refresh(self._pool(0))
        self.turn += 1

    def _refresh(self, pool: OnePool) -> None:
        pool.act(self.components.learner.copy_to(pool.copy))

    def _refresh_all(self) -> None:
        for pool in self.pools:
            self._refresh(pool)

    # ---- checkpoints -----------------------------------------------------------------------------

    def checkpoint(self, state: TrainerState) -> Checkpoint:
        """See :meth:`Rounds.checkpoint`: with each pool's matches, copy of the weights and full slab."""
        state.set_waiting(())
        summaries = [pool.full.summary if pool.full else None for pool in self.pools]
        state.turns = Turns(self.turn, summaries, [pool.components.actor.version for pool in self.pools])
        rollout: dict[str, Array] = {}
        for i, pool in enumerate(self.pools):
            part = make_checkpoint(pool.components, state, [pool.full.slab] if pool.full else [])
            rollout |= {f"pool{i}.{name}": array for name, array in part.rollout.items()}
            rollout |= {f"copy{i}.{name}": array for name, array in tensors_of(pool.copy).items()}
        return Checkpoint(part.weights, part.optimizer, rollout, part.state)

    def restore(self, checkpoint: Checkpoint, state: TrainerState) -> None:
        """See :meth:`Rounds.restore`."""
        where, turns = f"checkpoint of version {checkpoint.version}", state.turns
        if turns is None or not len(turns.full) == len(turns.versions) == len(self.pools):
            raise CorruptFile(f"{where}: expected the turns of {len(self.pools)} pools")
        for i, pool in enumerate(self.pools):
            part = Checkpoint(
                checkpoint.weights,
                checkpoint.optimizer,
                under(f"pool{i}.", checkpoint.rollout),
                checkpoint.state,
                checkpoint.restart,
            )
            own, summary = TrainerState(learner=state.learner), turns.full[i]
            own.set_waiting([summary] if summary is not None else ())
            restore_components(pool.components, part, own)
            slab = pool.components.sampler.facts.slabs[0]
            pool.full = FullSlab(slab, summary) if summary is not None else None
        if checkpoint.restart:
            self._refresh_all()
            return
        self.turn = turns.turn
        for i, pool in enumerate(self.pools):
            try:
                load_tensors(pool.copy, checkpoint.rollout, f"copy{i}.", where)
            except ValueError as error:
                raise CorruptFile(str(error)) from error
            pool.act(turns.versions[i])

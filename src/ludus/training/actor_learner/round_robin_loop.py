"""Round robin of pools, each with its copy of the weights: vanilla A3C (Mnih et al. 2016; ELF, section 2).

K pools take turns. In its turn a pool's last slab gives a gradient at the pool's own copy of the weights. The
gradient moves the shared weights, and the pool takes these for its next slab, which it plays while the next
pool has its turn. So each gradient is K - 1 versions old when it is applied. Equal seeds give equal bits.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec
import torch
from torch import Tensor

from ludus.algorithms.actor_critic.learner import ActorCriticLearner
from ludus.algorithms.updates.optimiser import under
from ludus.algorithms.updates.parameters import load_tensors, tensors_of
from ludus.algorithms.updates.tasks import UpdatePlan
from ludus.flow import RolloutStats, Slab
from ludus.flow.override import override
from ludus.flow.slab import Array
from ludus.policies.network import PolicyNetwork
from ludus.rollouts.commands import LoadWeights
from ludus.rollouts.network_actor import NetworkActor
from ludus.storage import Checkpoint, CorruptFile
from ludus.training.actor_learner.build import Components, StagedWeights
from ludus.training.actor_learner.checkpoint import make_checkpoint, restore_components
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.actor_learner.state import TrainerState, Turns
from ludus.training.actor_learner.sync_loop import FullSlab, Rounds, playing_text


class OwnCopy:
    """A learner's update at a pool's own copy of the weights, applied to the weights that all pools share.

    It takes the place of the learner's optimiser.

    From :meth:`leave` to the first step of the optimiser the learner's network has the parameters of a copy:
    the gradient is taken there. The step moves the shared parameters, and further steps of the same update
    take their gradients at these. Normalisers are shared; a value head is rescaled to their moments, so that
    its predictions in the game's units stay (:class:`ludus.policies.layers.normaliser.ValueNormaliser`).
    """

    def __init__(self, learner: ActorCriticLearner[Any]) -> None:
        """Take the place of the optimiser of ``learner``."""
        self._network, self._vector = learner.network, learner.parameters.vector
        self._optimiser = learner.optimiser
        learner.wrap_optimiser(lambda _: self)
        self._shared: Tensor | None = None
        self._moments: tuple[float, float] | None = None

    @torch.no_grad()
    def leave(self, copy: PolicyNetwork) -> None:
        """Give the learner's network the parameters of ``copy`` until the next step."""
        self._shared = self._vector.clone()
        self._moments = _moments(self._network)
        for mine, other in zip(self._network.parameters(), copy.parameters(), strict=True):
            mine.copy_(other)
        self._rescale(_moments(copy))

    @torch.no_grad()
    def back(self) -> None:
        """Restore the shared parameters, where no step has restored them."""
        if self._shared is not None:
            self._vector.copy_(self._shared)
            self._shared = None
            self._rescale(self._moments)

    def _rescale(self, before: tuple[float, float] | None) -> None:
        """Rescale the head from the moments of ``before`` to the present ones."""
        if before is not None and self._network.values is not None:
            self._network.values.rescale(self._network.value_head, *before)

    # ---- the learner's optimiser -----------------------------------------------------------------

    def step(self, gradient: Tensor, learning_rate: float) -> None:
        """See :class:`ludus.algorithms.updates.optimiser.Optimiser`."""
        self.back()
        self._optimiser.step(gradient, learning_rate)

    def vectors(self) -> dict[str, Tensor]:
        """See :class:`ludus.algorithms.updates.optimiser.Optimiser`."""
        return self._optimiser.vectors()

    def counters(self) -> dict[str, int]:
        """See :class:`ludus.algorithms.updates.optimiser.Optimiser`."""
        return self._optimiser.counters()

    def set_counters(self, counters: dict[str, int]) -> None:
        """See :class:`ludus.algorithms.updates.optimiser.Optimiser`."""
        self._optimiser.set_counters(counters)


def _moments(network: PolicyNetwork) -> tuple[float, float] | None:
    """Mean and deviation of returns; None where none were seen: then the first ones rescale nothing."""
    values = network.values
    return values.moments() if values is not None and float(values.weight) > 0.0 else None


class OnePool(StagedWeights):
    """A pool and the copy of the weights that it plays with; ``full``: the slab of its next gradient."""

    def __init__(self, components: Components) -> None:
        """Play with the newest weights."""
        super().__init__(components.learner)
        self.components = components
        self.full: FullSlab | None = None
        self.act()

    def act(self) -> None:
        """Play with the copy's weights."""
        self.components.sampler.send(LoadWeights({self.components.policy: self}))


class TurnRounds(Rounds):
    """A round is one pool's turn. The pools are those of ``components`` and of its siblings."""

    def __init__(self, components: Components, learner_threads: LearnerThreads, pipelined: bool) -> None:
        """Give each sampler of ``components`` a copy of the learner's weights."""
        super().__init__(components, learner_threads, pipelined)
        learner = cast("ActorCriticLearner[Any]", components.learner)  # see components.build
        self._own_copy = OwnCopy(learner)
        self.pools = [
            OnePool(Components(sampler, learner, components.policy, components.threads))
            for sampler in (components.sampler, *components.siblings)
        ]
        self.turn = 0  # number of turns so far

    @property
    def actor(self) -> NetworkActor:
        """Actor of the pool that took the newest weights."""
        return self._pool(-1).components.actor

    @property
    def slots(self) -> int:
        """Number of matches that all pools play at a time."""
        return sum(pool.components.sampler.facts.all_slots for pool in self.pools)

    @override
    def doing(self) -> str:
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
        copy = self._pool(0).copy
        assert isinstance(copy, PolicyNetwork)  # actor-critic methods alone have this topology
        self._own_copy.leave(copy)
        return super()._start(slab, progress, value_only)

    def publish(self) -> None:
        """Give the pool whose turn ends the newest weights."""
        self._own_copy.back()
        self._pool(0).stage()
        self._pool(0).act()
        self.turn += 1

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

    @override
    def restore(self, checkpoint: Checkpoint, state: TrainerState) -> None:
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
            for pool in self.pools:
                pool.stage()
                pool.act()
            return
        self.turn = turns.turn
        for i, pool in enumerate(self.pools):
            try:
                load_tensors(pool.copy, checkpoint.rollout, f"copy{i}.", where)
            except ValueError as error:
                raise CorruptFile(str(error)) from error
            pool.staged = turns.versions[i]
            pool.act()

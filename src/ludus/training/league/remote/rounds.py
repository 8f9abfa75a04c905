"""Rounds of a member in another process: the slabs and the updates are there, their statistics here."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from ludus.flow import Weights
from ludus.flow.slab import Array
from ludus.storage import Checkpoint
from ludus.training.actor_learner.build import Components
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.actor_learner.state import TrainerState
from ludus.training.actor_learner.sync_loop import Round, Rounds, collect_times
from ludus.training.league.remote import messages as m
from ludus.training.league.remote.learner import RemoteLearner
from ludus.training.league.remote.link import Coming, MemberLink
from ludus.training.league.remote.mirror import MirrorSampler


class RemoteUpdate:
    """An update on its way (:class:`ludus.training.actor_learner.sync_loop.ComingUpdate`)."""

    def __init__(self, link: MemberLink, coming: Coming) -> None:
        """Wait for the answer ``coming``."""
        self._link, self._coming = link, coming

    @property
    def is_there(self) -> bool:
        """Whether the update has been made."""
        return self._coming.is_there

    def fill(self, done: Round) -> None:
        """Wait for the update, and add it and its times to its round."""
        answer = self._link.wait(self._coming, m.UpdateAnswer)
        done.update, there = answer.update, answer.times
        times = done.times
        times.total_s = times.collect_s + there.total_s  # of the member, whatever others did meanwhile
        times.help_s, times.help_wait_s = there.help_s, there.help_wait_s
        times.cpu_s = there.cpu_s
        times.learn_s, times.learn_wait_s, times.threads = there.learn_s, there.learn_wait_s, there.threads


class RemoteRounds(Rounds):
    """Rounds whose slabs are played, and learned from, in the process behind ``link``."""

    def __init__(
        self, components: Components, learner_threads: LearnerThreads, pipelined: bool, link: MemberLink
    ) -> None:
        """Wait for the first :meth:`run`."""
        super().__init__(components, learner_threads, pipelined)
        self._link = link

    @property
    def _sampler(self) -> MirrorSampler:
        sampler = self.components.sampler
        assert isinstance(sampler, MirrorSampler)
        return sampler

    @property
    def _learner(self) -> RemoteLearner:
        learner = self.components.learner
        assert isinstance(learner, RemoteLearner)
        return learner

    @property
    def slab_coming(self) -> Coming | None:
        """The slab of the next round if it has not been taken yet; None if it is there."""
        return None if self.arrived else self._sampler.coming

    def run(
        self, progress: float, meanwhile: Callable[[], None] | None = None, *, value_only: bool = False
    ) -> Round:
        """Take the statistics of a slab, and ask for the update of the round. See :meth:`Rounds.run`."""
        start = time.perf_counter()
        self.ask()
        learning = self._next() if self.pipelined else None
        if meanwhile is not None:
            meanwhile()
        stats = self._take(learning)
        if not self.pipelined:
            learning = self._next()
        learner, slot = self._learner, -1
        if learning is not None:
            learner.version += 1
            slot = self._link.book.turn()
        coming = self._link.send(m.LearnSlab(progress, value_only, slot))
        times = collect_times(stats)
        times.total_s = time.perf_counter() - start
        if learning is None:
            return Round(None, None, stats.steps, times, stats.results)
        update = RemoteUpdate(self._link, coming)
        return Round(None, learning.summary, stats.steps, times, stats.results, coming=update)

    def drop(self) -> int:
        """Discard the waiting slabs, there too. See :meth:`Rounds.drop`."""
        self._link.send(m.DropSlabs())
        return super().drop()

    def publish(self) -> None:
        """Do nothing: the member's process copies its newest weights into its acting network."""

    def checkpoint(self, state: TrainerState) -> Checkpoint:
        """Wait for the member's part of a checkpoint. See :meth:`Rounds.checkpoint`."""
        self.store(state)
        given, arrays = self._link.ask(m.GiveCheckpoint(), m.CheckpointGiven)
        parts: list[dict[str, Array]] = [
            {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
            for prefix in m.PARTS
        ]
        state.learner = dict(given.counters)
        return Checkpoint(Weights(given.meta, parts[0]), parts[1], parts[2], msgspec.json.encode(state))

    def restore(self, checkpoint: Checkpoint, state: TrainerState) -> None:
        """Let the member return to a checkpoint. See :meth:`Rounds.restore`."""
        arrays = {
            f"{prefix}{name}": array
            for prefix, held in zip(
                m.PARTS, (checkpoint.weights.tensors, checkpoint.optimizer, checkpoint.rollout), strict=True
            )
            for name, array in held.items()
        }
        request = m.RestoreMember(
            version=checkpoint.version,
            state=msgspec.json.encode(state),
            restart=checkpoint.restart,
            lineage=checkpoint.weights.meta.lineage,
            slot=self._link.book.turn(),
        )
        restored, _ = self._link.ask(request, m.MemberRestored, arrays)
        self._learner.version = restored.version
        self._learner.lineage = checkpoint.weights.meta.lineage
        self._sampler.restored(restored.after)
        self.resume(state)

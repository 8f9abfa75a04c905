"""Collecting and learning, in the two reproducible lag modes.

``sync``       collect with version v, learn: v + 1. The slab is learned from at lag 0.
``pipelined``  collect slab n + 1 with version v while learning from slab n, which version v - 1 (v in the
               first round) collected. The slab is learned from at lag 1, always.

With a queue of q slabs between sampler and learner (``run.queue``) each slab waits behind q others, so that
both lags are larger by exactly q (OpenAI Five, section 4.4: staleness).

In both, everything that decides is fixed before the threads start, so that equal seeds give equal
bits whatever the threads' timing. A :class:`~ludus.algorithms.learner.Learner` makes a plan: tasks that the
learner threads start and the sampler joins when its slab is full.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from ludus.algorithms.learner import UpdateStats
from ludus.algorithms.updates.tasks import UpdatePlan
from ludus.flow import MatchResult, RolloutStats, Slab, Terms
from ludus.rollouts.commands import CountInPlay, LoadWeights, PlayAhead
from ludus.rollouts.exchange import Sampler
from ludus.rollouts.network_actor import NetworkActor
from ludus.storage import Checkpoint
from ludus.training.actor_learner.build import Components, LocalWeights
from ludus.training.actor_learner.checkpoint import make_checkpoint, restore_components
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.actor_learner.rollout_summary import RolloutSummary, summarise_stats
from ludus.training.actor_learner.state import ArrivedSlab, TrainerState


@dataclass(slots=True)
class RoundTimes:
    """Seconds of wall time; ``learn_s`` and ``learner_idle_s`` added up over the learner's threads."""

    total_s: float = 0.0
    collect_s: float = 0.0
    infer_s: float = 0.0
    pool_wait_s: float = 0.0
    help_s: float = 0.0  # the sampler's thread inside the plan
    help_wait_s: float = 0.0  # of it, without a task to run
    learn_s: float = 0.0
    learn_wait_s: float = 0.0
    threads: int = 0  # of the learner alone
    cpu_s: float = 0.0  # processor time of another process
    cluster: dict[str, float] = field(default_factory=dict)  # metrics of the machines that played


class ComingUpdate(Protocol):
    """An update that another process makes."""

    @property
    def is_there(self) -> bool:
        """Whether it has been made."""
        ...

    def fill(self, done: Round) -> None:
        """Wait for it, and write it and its times into its round ``done``."""
        ...


@dataclass(slots=True)
class Round:
    """Results of one round: an update (none in the first pipelined round), and the decisions collected.

    ``learned`` belongs to the slab of the update, of a dropped slab too.
    """

    update: UpdateStats | None
    learned: RolloutSummary | None  # of the slab that was learned from
    received: int  # decisions collected in this round
    times: RoundTimes
    results: list[MatchResult] = field(default_factory=list)
    dropped: int = 0  # decisions thrown away because they were too old
    coming: ComingUpdate | None = None  # writes ``update`` when it is there

    @property
    def learns(self) -> bool:
        """Whether the round makes an update, which may still be ``coming``."""
        return self.update is not None or self.coming is not None


@dataclass(frozen=True, slots=True)
class FullSlab:
    """A full slab that the learner has not read."""

    slab: Slab
    summary: RolloutSummary
    stats: RolloutStats = field(default_factory=RolloutStats)


class Rounds:
    """Full slabs in their order, and the rounds over them. One thread drives the run.

    ``queue``: number of slabs between sampler and learner. The sampler has ``queue + 2`` slabs.
    """

    def __init__(
        self, components: Components, learner_threads: LearnerThreads, pipelined: bool, queue: int = 0
    ) -> None:
        """Wait for the first :meth:`run`."""
        self.components, self.learner_threads, self.pipelined = components, learner_threads, pipelined
        self.queue = queue
        self.waiting: deque[FullSlab] = deque()  # oldest first
        self._sources: dict[int, LocalWeights] = {components.policy: LocalWeights(components.learner)}
        self.arrived: deque[FullSlab] = deque()  # of rounds to come, oldest first
        self._asked: deque[dict[str, str]] = deque()  # labels of lanes, of each slab that was asked for
        self._in_play: dict[int, int] | None = None  # after the last round; None: ask the sampler
        self.terms = Terms()  # of the next slab

    # ---- slabs of rounds to come -----------------------------------------------------------------

    @property
    def pending(self) -> int:
        """Number of slabs of rounds to come that were asked for, those that are there included."""
        return len(self.arrived) + len(self._asked)

    def ask(self) -> None:
        """Ask for the slab of the next round, where other processes play it from now on. Idempotent."""
        if not self.pending:
            self._ask()

    def ask_ahead(self) -> None:
        """Ask for one more slab. Where this process plays, it does so now: with the same weights."""
        if not self._ask():
            self._fetch()

    def fetch(self) -> None:
        """Wait for all slabs that were asked for."""
        while self._asked:
            self._fetch()

    def recall(self) -> list[RolloutStats]:
        """Wait for all slabs of rounds to come, discard them, and return their statistics."""
        self.fetch()
        recalled = [full.stats for full in self.arrived]
        if recalled:
            self._in_play = recalled[-1].in_play
        self.arrived.clear()
        return recalled

    def in_play(self) -> dict[int, int]:
        """Return the number of matches in play after the last round, by the tag of their order."""
        return self.components.sampler.send(CountInPlay()) if self._in_play is None else self._in_play

    def _ask(self) -> bool:
        sampler = self.components.sampler
        self._in_play = self.in_play()  # a sampler counts after the slabs that it was asked for
        labels = dict(sampler.facts.labels)
        asked = sampler.send(PlayAhead(self.terms))
        if asked:
            self._asked.append(labels)
        return asked

    def _fetch(self) -> None:
        """Collect the next slab for a round to come."""
        self.arrived.append(self._collect(self._free()))

    def _take(self, learning: FullSlab | None = None) -> RolloutStats:
        """Queue the slab of this round, which :meth:`_free` does not return while it is learned from."""
        full = self.arrived.popleft() if self.arrived else self._collect(self._free(learning))
        self._in_play = full.stats.in_play
        self.waiting.append(full)
        return full.stats

    # ---- between two rounds ----------------------------------------------------------------------

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do nothing: between two rounds nothing is in progress here."""
        yield

    def close(self) -> None:
        """Do nothing: no thread has to stop."""

    def resume(self, state: TrainerState) -> None:
        """Queue the sampler's first slabs, which were restored from the checkpoint of ``state``."""
        slabs, summaries = self.components.sampler.facts.slabs, state.waiting
        self.waiting = deque(map(FullSlab, slabs[: len(summaries)], summaries))
        self.arrived = deque(
            FullSlab(
                slab,
                a.summary,
                RolloutStats(a.summary.steps, 0, a.summary.ticks, results=a.results, in_play=a.in_play),
            )
            for slab, a in zip(slabs[len(summaries) :], state.arrived, strict=False)
        )
        self._in_play = state.in_play if self.arrived else None
        self.publish()

    @property
    def actor(self) -> NetworkActor:
        """The acting network with the newest weights."""
        return self.components.actor

    @property
    def slots(self) -> int:
        """Number of matches that are played at a time."""
        return self.components.sampler.facts.all_slots

    def doing(self) -> str:
        """Describe the sampler's work. Any thread may call this."""
        return playing_text([self.components.sampler])

    def checkpoint(self, state: TrainerState) -> Checkpoint:
        """Make a checkpoint between two rounds. Waiting slabs are written into ``state`` too."""
        return make_checkpoint(self.components, state, self.store(state))

    def store(self, state: TrainerState) -> list[Slab]:
        """Wait for slabs that were asked for, write all into ``state``, and return those with arrays."""
        self.fetch()
        state.set_waiting([w.summary for w in self.waiting])
        state.in_play = self.in_play() if self.arrived else {}
        state.arrived = [
            ArrivedSlab(
                a.summary, [msgspec.structs.replace(r, replay=b"") for r in a.stats.results], a.stats.in_play
            )
            for a in self.arrived
        ]
        return self._full()

    def _full(self) -> list[Slab]:
        """Return the slabs that wait, and those of rounds to come."""
        return [*(w.slab for w in self.waiting), *(a.slab for a in self.arrived)]

    def restore(self, checkpoint: Checkpoint, state: TrainerState) -> None:
        """Restore a checkpoint of :meth:`checkpoint`. Raises ``CorruptFile``."""
        restore_components(self.components, checkpoint, state)
        self.resume(state)

    def drop(self) -> int:
        """Discard the waiting slabs and return the number of their decisions."""
        steps = sum(waiting.summary.steps for waiting in self.waiting)
        self.waiting.clear()
        return steps

    def run(
        self, progress: float, meanwhile: Callable[[], None] | None = None, *, value_only: bool = False
    ) -> Round:
        """Collect a slab and learn from one.

        Args:
            progress: Share in [0, 1] of the budget that is spent.
            meanwhile: Runs in the sampler's turn, with the weights that act in this round. The slab was
                asked for before, so that other processes play it in that time.
            value_only: Whether only parameters move that the value alone depends on.
        """
        start = time.perf_counter()
        self.ask()
        learning = self._next() if self.pipelined else None
        busy = sum(self.learner_threads.busy_s)
        plan = self._start(learning.slab, progress, value_only) if learning is not None else None
        try:
            if meanwhile is not None:
                meanwhile()
            stats = self._take(learning)
        except BaseException:
            if plan is not None:  # leave the learner whole: a checkpoint may still be saved
                self._finish(plan, RoundTimes(), busy)
            raise
        times = collect_times(stats)
        if not self.pipelined and (learning := self._next()) is not None:
            plan = self._start(learning.slab, progress, value_only)
        update = self._finish(plan, times, busy) if plan is not None else None
        self.publish()
        times.total_s = time.perf_counter() - start
        summary = learning.summary if learning is not None else None
        return Round(update, summary, stats.steps, times, stats.results)

    def _summary(self, stats: RolloutStats, labels: Mapping[str, str]) -> RolloutSummary:
        teams = self.components.spec.teams
        return summarise_stats(stats, labels, teams)

    def _next(self) -> FullSlab | None:
        """Return the slab to learn from, if enough others wait behind it."""
        return self.waiting.popleft() if len(self.waiting) > self.queue else None

    def _free(self, learning: FullSlab | None = None) -> Slab:
        """Return a slab that neither waits nor is learned from."""
        used = [*self._full(), *([learning.slab] if learning is not None else [])]
        return next(s for s in self.components.sampler.facts.slabs if all(s is not u for u in used))

    def _collect(self, slab: Slab) -> FullSlab:
        """Fill ``slab``, which may have been asked for."""
        sampler = self.components.sampler
        if not self._asked:
            sampler.send(self.terms)
        stats = sampler.play(slab)
        labels = self._asked.popleft() if self._asked else sampler.facts.labels
        return FullSlab(slab, self._summary(stats, labels), stats)

    def _start(self, slab: Slab, progress: float, value_only: bool) -> UpdatePlan:
        """Start the update by ``slab`` in the learner threads."""
        plan = self.components.learner.start(slab, progress, value_only=value_only)
        self.learner_threads.start(plan)
        return plan

    def _finish(self, plan: UpdatePlan, times: RoundTimes, busy_before: float) -> UpdateStats:
        """Help the plan in progress to its end, and finish the update."""
        start = time.perf_counter()
        plan.help(0)
        update = self.components.learner.finish()
        self.learner_threads.settle()
        times.help_s = time.perf_counter() - start
        times.threads = self.learner_threads.size
        times.help_wait_s += plan.waited_s.get(0, 0.0)
        times.learn_wait_s += sum(s for worker, s in plan.waited_s.items() if worker != 0)
        times.learn_s = sum(self.learner_threads.busy_s) - busy_before
        return update

    def publish(self) -> None:
        """Copy the newest weights into the acting network."""
        self.components.sampler.send(LoadWeights(self._sources))


def playing_text(samplers: Sequence[Sampler]) -> str:
    """Describe the progress of the matches from which ``samplers`` collect."""
    steps = sum(sampler.state.time_step for sampler in samplers)
    slots = samplers[0].facts.slots
    return f"matches are being played: {steps:,} time steps of {slots:,} matches at a time"


def collect_times(stats: RolloutStats) -> RoundTimes:
    """Return the times of a round that has only collected a slab."""
    return RoundTimes(
        collect_s=stats.total_s, infer_s=stats.infer_s, pool_wait_s=stats.wait_s, cluster=stats.numbers
    )

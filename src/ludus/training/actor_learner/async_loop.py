"""Collecting and learning in parallel: ``async``, the lag mode that waits least and is not reproducible.

A sampler thread of its own fills one slab after another and takes new weights at the start of any time
step; the calling thread learns. The lag is bounded (``max_lag`` versions):

``wait``  a slab starts only while at most ``max_lag`` older ones are unlearned; each of them is one version,
          so no decision can be older than ``max_lag`` when it is learned from.
``drop``  the sampler continues as long as a slab is free; a slab with an older decision is thrown away.

A sampler that may not continue helps the learner until it may.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ludus.algorithms.learner import UpdateStats
from ludus.algorithms.updates.tasks import UpdatePlan
from ludus.flow import RolloutStats, Slab
from ludus.presets.config import RunConfig
from ludus.storage import Checkpoint
from ludus.training.actor_learner.build import Components, StagedWeights
from ludus.training.actor_learner.checkpoint import make_checkpoint, restore_components
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.actor_learner.state import TrainerState
from ludus.training.actor_learner.sync_loop import Round, Rounds, RoundTimes, collect_times

SAMPLER, CALLER = 0, 1  # worker numbers; the learner threads follow
SLABS_AHEAD = 3  # unlearned slabs that are worth their memory, whatever lag is allowed


def slabs_needed(config: RunConfig) -> int:
    """Return the number of slabs: one that is filled, and those that may wait for the learner."""
    ahead = min(config.max_lag, SLABS_AHEAD)
    return ahead + (1 if config.over_lag == "wait" else 3)


class AsyncRounds(Rounds):
    """The sampler thread and the slabs between it and the learner. One thread drives the run."""

    def __init__(
        self,
        components: Components,
        learner_threads: LearnerThreads,
        config: RunConfig,
        overtaking: bool = False,
    ) -> None:
        """Start the sampler thread.

        Args:
            components: The sampler and its learner.
            learner_threads: Threads that learn.
            config: Settings of the run.
            overtaking: Whether slabs may be older than those that came before them, as slabs of several
                machines are. Those that are too old are dropped then, whatever ``over_lag`` is.
        """
        super().__init__(components, learner_threads, pipelined=False)
        self._drops, self.config = overtaking or config.over_lag == "drop", config
        self._staged = StagedWeights(components.learner)
        self._sources = {components.policy: self._staged}
        self._changed = threading.Condition()
        self._spare: deque[Slab] = deque(components.sampler.facts.slabs)
        self._filled: deque[tuple[Slab, RolloutStats]] = deque()
        self._unlearned = 0  # full slabs and the one that is learned from
        self._plan: UpdatePlan | None = None
        self._paused, self._parked, self._closing = False, False, False
        self._error: BaseException | None = None
        self._sampler_wait_s = 0.0
        self._paused_s = 0.0  # not the sampler's own waiting
        self._thread = threading.Thread(target=self._sample, name="sampler", daemon=True)
        self._thread.start()

    # ---- the driving thread ----------------------------------------------------------------------

    def checkpoint(self, state: TrainerState) -> Checkpoint:
        """Make a checkpoint between two rounds. Slabs in flight are not part of it."""
        state.set_waiting(())
        return make_checkpoint(self.components, state, ())

    def restore(self, checkpoint: Checkpoint, state: TrainerState) -> None:
        """Restore a checkpoint of :meth:`checkpoint`. Raises ``CorruptFile``."""
        restore_components(self.components, checkpoint, state)
        self._staged.stage()

    def ask(self) -> None:
        """Do nothing: the sampler's thread asks."""

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the sampler between two slabs, with the newest weights in the acting network."""
        entered = time.perf_counter()
        with self._changed:
            self._paused = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._parked or self._error is not None)
            self._raise()
        self.publish()
        try:
            yield
        finally:
            with self._changed:
                self._paused = False
                self._paused_s += time.perf_counter() - entered
                self._changed.notify_all()

    def run(
        self, progress: float, meanwhile: Callable[[], None] | None = None, *, value_only: bool = False
    ) -> Round:
        """Learn from the oldest full slab, or drop it. ``meanwhile`` runs while the sampler is paused."""
        entered = time.perf_counter()
        if meanwhile is not None:
            with self.paused():
                meanwhile()
        with self._changed:
            self._changed.wait_for(lambda: self._filled or self._error is not None)
            self._raise()
            slab, stats = self._filled.popleft()
            rested, self._sampler_wait_s = self._sampler_wait_s, 0.0
        times = collect_times(stats)
        times.help_wait_s = rested
        waited = time.perf_counter() - entered
        summary = self._summary(stats, self.components.sampler.facts.labels)
        update, dropped = None, 0
        if self._drops and self._age(slab) > self.config.max_lag:
            dropped = stats.steps
        else:
            update = self._learn(slab, progress, times, value_only)
        with self._changed:
            self._unlearned -= 1
            self._spare.append(slab)
            self._changed.notify_all()
        times.total_s = time.perf_counter() - entered
        times.learn_wait_s += waited
        times.learn_s += times.total_s  # of the calling thread, which only learns here
        return Round(update, summary, stats.steps, times, stats.results, dropped)

    def close(self) -> None:
        """Stop the sampler after its slab. Idempotent."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()

    def _age(self, slab: Slab) -> int:
        """Return the most versions between a learned decision in ``slab`` and the learner."""
        decided = (slab.active[:-1] != 0) & (slab.policy[:-1] == self.components.policy)
        if not decided.any():
            return 0
        return max(0, self.components.learner.version - int(slab.version[decided].min()))

    def _learn(self, slab: Slab, progress: float, times: RoundTimes, value_only: bool) -> UpdateStats:
        busy = sum(self.learner_threads.busy_s)
        plan = self.components.learner.start(slab, progress, value_only=value_only)
        with self._changed:
            self._plan = plan
            self._changed.notify_all()
        self.learner_threads.start(plan)
        plan.help(CALLER)
        update = self.components.learner.finish()
        self.learner_threads.settle()
        with self._changed:
            self._plan = None
        times.threads = self.learner_threads.size + 1
        times.learn_wait_s = sum(s for worker, s in plan.waited_s.items() if worker != SAMPLER)
        times.learn_s = sum(self.learner_threads.busy_s) - busy
        self._staged.stage()
        return update

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    # ---- the sampler's thread --------------------------------------------------------------------

    def _sample(self) -> None:
        try:
            while (slab := self._next_slab()) is not None:
                self.components.sampler.send(self.terms)
                stats = self.components.sampler.play(slab, self.publish)
                with self._changed:
                    self._filled.append((slab, stats))
                    self._unlearned += 1
                    self._changed.notify_all()
        except BaseException as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _next_slab(self) -> Slab | None:
        """Return a free slab as soon as the lag allows one, None at the end. Help the learner until then."""
        entered = time.perf_counter() - self._paused_s
        helped_s = 0.0
        helped: UpdatePlan | None = None
        while True:
            with self._changed:
                while not self._closing and (self._paused or not self._may_start()):
                    if self._plan is not None and self._plan is not helped and not self._paused:
                        break
                    self._parked = self._paused
                    self._changed.notify_all()
                    self._changed.wait()
                self._parked = False
                if self._closing:
                    return None
                if not self._paused and self._may_start():
                    waited = time.perf_counter() - self._paused_s - entered - helped_s
                    self._sampler_wait_s += max(0.0, waited)  # a pause may start while it still samples
                    return self._spare.popleft()
                helped = self._plan
            if helped is not None:
                started = time.perf_counter()
                helped.help(SAMPLER)
                helped_s += time.perf_counter() - started - helped.waited_s.get(SAMPLER, 0.0)

    def _may_start(self) -> bool:
        if not self._spare:
            return False
        return self.config.over_lag == "drop" or self._unlearned <= self.config.max_lag

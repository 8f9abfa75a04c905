"""Collecting and learning side by side: ``async``, the lag mode that waits least and repeats nothing.

A sampler thread of its own fills one slab after another and takes new weights at the start of any time
step; the calling thread learns. The lag is bounded (``max_lag`` versions):

``wait``  a slab begins only while at most ``max_lag`` older ones are unlearned; each of them is one version,
          so no decision can be older than ``max_lag`` when it is learned from.
``drop``  the sampler goes on as long as a slab is free; a slab with an older decision is thrown away.

A sampler that may not go on helps the learner until it may.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ludus.algorithms.learner import UpdateStats
from ludus.algorithms.tasks import UpdatePlan
from ludus.flow import RolloutStats, Slab
from ludus.policies.network import PolicyNetwork
from ludus.presets.config import RunConfig
from ludus.train.on_policy.components import Components
from ludus.train.on_policy.learner_threads import LearnerThreads
from ludus.train.on_policy.rollout_summary import RolloutSummary, summarise_rollout
from ludus.train.on_policy.rounds import Round, RoundTimes
from ludus.train.opponents import LEARNER

SAMPLER, CALLER = 0, 1  # worker numbers; the learner threads follow
SLABS_AHEAD = 3  # unlearned slabs that are worth their memory, whatever lag is allowed


def slabs_needed(config: RunConfig) -> int:
    """One that is filled, and those that may wait for the learner."""
    ahead = min(config.max_lag, SLABS_AHEAD)
    return ahead + (1 if config.over_lag == "wait" else 3)


class AsyncRounds:
    """Owns the sampler thread. Everything else is called by the one thread that drives the run."""

    def __init__(
        self,
        components: Components,
        learner_threads: LearnerThreads,
        config: RunConfig,
        staging: PolicyNetwork,
    ) -> None:
        self.components, self.learner_threads, self.config = components, learner_threads, config
        self.filled: Slab | None = None  # nothing in flight is kept by a checkpoint
        self.summary: RolloutSummary | None = None
        self._staging = staging  # the newest weights, ready to be taken
        self._staged_version = components.learner.copy_to(staging)
        self._swap_lock = threading.Lock()
        self._changed = threading.Condition()
        self._free: deque[Slab] = deque(components.slabs)
        self._full: deque[tuple[Slab, RolloutStats]] = deque()
        self._unlearned = 0  # full slabs and the one that is learned from
        self._plan: UpdatePlan | None = None
        self._handover: int | None = None
        self._paused, self._parked, self._closing = False, False, False
        self._error: BaseException | None = None
        self._sampler_wait_s = 0.0
        self._paused_s = 0.0  # not the sampler's own waiting
        self._thread = threading.Thread(target=self._sample, name="sampler", daemon=True)
        self._thread.start()

    # ---- the driving thread ----------------------------------------------------------------------

    def resume(self, summary: RolloutSummary | None) -> None:
        """Takes the weights that a checkpoint put into the learner; slabs in flight were not kept."""
        self._publish()

    def set_handover(self, ticks: int) -> None:
        """Of the learner's plan, from the next slab on."""
        self._handover = ticks

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The sampler rests between two slabs, and the newest weights act."""
        begin = time.perf_counter()
        with self._changed:
            self._paused = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._parked or self._error is not None)
            self._raise()
        self._swap()
        try:
            yield
        finally:
            with self._changed:
                self._paused = False
                self._paused_s += time.perf_counter() - begin
                self._changed.notify_all()

    def run(self, progress: float, meanwhile: Callable[[], None] | None = None) -> Round:
        """Learns from the oldest full slab, or drops it. ``meanwhile`` runs while the sampler rests."""
        begin = time.perf_counter()
        if meanwhile is not None:
            with self.paused():
                meanwhile()
        with self._changed:
            self._changed.wait_for(lambda: self._full or self._error is not None)
            self._raise()
            slab, stats = self._full.popleft()
            rested, self._sampler_wait_s = self._sampler_wait_s, 0.0
        times = RoundTimes(
            collect_s=stats.total_s, infer_s=stats.infer_s, pool_wait_s=stats.wait_s, help_wait_s=rested
        )
        waited = time.perf_counter() - begin
        summary = summarise_rollout(stats.results, stats.steps, stats.ticks, self.components.spec.teams)
        update, dropped = None, 0
        if self.config.over_lag == "drop" and self._age(slab) > self.config.max_lag:
            dropped = stats.steps
        else:
            update = self._learn(slab, progress, times)
        with self._changed:
            self._unlearned -= 1
            self._free.append(slab)
            self._changed.notify_all()
        times.total_s = time.perf_counter() - begin
        times.learn_wait_s += waited
        times.learn_s += times.total_s  # of the calling thread, which only learns here
        return Round(update, summary, stats.steps, times, stats.results, dropped)

    def close(self) -> None:
        """Stops the sampler after its slab. Idempotent."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()

    def _age(self, slab: Slab) -> int:
        """Versions between the oldest of the learner's decisions in ``slab`` and the learner."""
        learner_mask = (slab.active[:-1] != 0) & (slab.policy[:-1] == LEARNER)
        return (
            self.components.learner.version - int(slab.version[learner_mask].min())
            if learner_mask.any()
            else 0
        )

    def _learn(self, slab: Slab, progress: float, times: RoundTimes) -> UpdateStats:
        busy = sum(self.learner_threads.busy_s)
        plan = self.components.learner.begin(slab, progress)
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
        self._publish()
        return update

    def _publish(self) -> None:
        with self._swap_lock:
            self._staged_version = self.components.learner.copy_to(self._staging)

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    # ---- the sampler's thread --------------------------------------------------------------------

    def _sample(self) -> None:
        try:
            while (slab := self._next_slab()) is not None:
                if self._handover is not None:
                    self.components.pool.set_handover(0, self._handover)
                stats = self.components.collector.collect(slab, between=self._swap)
                with self._changed:
                    self._full.append((slab, stats))
                    self._unlearned += 1
                    self._changed.notify_all()
        except BaseException as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _next_slab(self) -> Slab | None:
        """A free slab as soon as the lag allows one; helps the learner until then. None at the end."""
        begin = time.perf_counter() - self._paused_s
        helped_s = 0.0
        helped: UpdatePlan | None = None
        while True:
            with self._changed:
                while not self._closing and (self._paused or not self._may_begin()):
                    if self._plan is not None and self._plan is not helped and not self._paused:
                        break
                    self._parked = self._paused
                    self._changed.notify_all()
                    self._changed.wait()
                self._parked = False
                if self._closing:
                    return None
                if not self._paused and self._may_begin():
                    waited = time.perf_counter() - self._paused_s - begin - helped_s
                    self._sampler_wait_s += max(0.0, waited)  # a pause may begin while it still samples
                    return self._free.popleft()
                plan = helped = self._plan
            if plan is not None:
                started = time.perf_counter()
                plan.help(SAMPLER)
                helped_s += time.perf_counter() - started - plan.waited_s.get(SAMPLER, 0.0)

    def _may_begin(self) -> bool:
        if not self._free:
            return False
        return self.config.over_lag == "drop" or self._unlearned <= self.config.max_lag

    def _swap(self) -> None:
        """The acting network takes the newest weights, if there are newer ones."""
        actor = self.components.actor
        if actor.version == self._staged_version:
            return
        with self._swap_lock:
            state = self._staging.state_dict()
            for name, tensor in self.components.acting.state_dict().items():
                tensor.copy_(state[name])
            actor.version = self._staged_version

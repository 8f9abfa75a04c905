"""An event simulation of rollouts and a learner: lag, and the time that each waits for the other.

It is a closed loop. A rollout plays the slab that it was asked for, and the number of slabs asked
for or waiting is bounded. An update takes the oldest slabs. Little's law holds: slabs asked for or waiting =
slabs a second x seconds from a request to the update. Over the slabs of an update this is about the mean lag.
"""

from __future__ import annotations

import heapq
import math
import random
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from enum import Enum

import msgspec

WARM_SHARE = 0.25  # of the versions: not counted
SPREAD = 0.2  # standard deviation of a slab's time over its mean
POINTS = 8  # of a slab at which its decisions' lag is taken


class Loop(msgspec.Struct, frozen=True):
    """A run.

    Attributes:
        rollouts: Processes that play.
        slab_s: Mean time that one needs for a slab, in seconds.
        slabs_an_update: Slabs that an update takes.
        update_s: Time of an update, in seconds.
        bound: Slabs that may be asked for or wait at once.
        versions: Simulated versions of the weights.
        updates_a_version: Updates between two versions that rollouts get.
        max_lag: Older slabs are dropped; None = none is.
        waits: The next slabs are asked for after an update, as in sync, not before it.
        swaps: Whether each decision uses the newest weights instead of the weights of the request.
        spread: Standard deviation of a slab's time over its mean.
    """

    rollouts: int
    slab_s: float
    slabs_an_update: int
    update_s: float
    bound: int
    versions: int = 200
    updates_a_version: int = 1
    max_lag: int | None = None
    waits: bool = False
    swaps: bool = False
    spread: float = SPREAD


class SimulatedOutcome(msgspec.Struct, frozen=True):
    """Results, over the versions that count.

    Attributes:
        slabs_per_s: Slabs learned from or dropped.
        learner_idle: Share of the time that the learner waited for slabs, 0 to 1.
        rollout_idle: Share of the time that a rollout waited for a request, 0 to 1.
        lag_mean: Versions, over the decisions learned from.
        lag_max: Versions.
        dropped: Share of the slabs, 0 to 1.
        asked: Mean number of slabs asked for or waiting.
        slab_time_s: Mean time from a slab's request to the update that takes it, or to its drop.
    """

    slabs_per_s: float
    learner_idle: float
    rollout_idle: float
    lag_mean: float
    lag_max: int
    dropped: float
    asked: float
    slab_time_s: float


class _Event(Enum):
    PLAYED = 0
    LEARNED = 1


@dataclass(slots=True)
class _SimulatedSums:
    """Sums since ``start``. ``asked_s``, ``playing_s``: slabs and rollouts times seconds."""

    start: float = 0.0
    taken: int = 0
    dropped: int = 0
    slab_s: float = 0.0
    asked_s: float = 0.0
    playing_s: float = 0.0
    idle_s: float = 0.0
    lags: list[int] = field(default_factory=list)


class _Simulation:
    def __init__(self, loop: Loop, seed: int) -> None:
        self.loop, self.random = loop, random.Random(seed)
        variance = math.log(1 + loop.spread**2)
        self.sigma, self.mu = math.sqrt(variance), math.log(loop.slab_s) - variance / 2
        self.events: list[tuple[float, int, _Event, float]] = []
        self.waiting: deque[tuple[float, float]] = deque()  # asked and played at
        self.published = [0.0]
        self.now, self.order, self.asked, self.playing, self.learning = 0.0, 0, 0, 0, False
        self.updates = 0
        self.tally = _SimulatedSums()

    def run(self) -> SimulatedOutcome:
        warm = max(1, round(self.loop.versions * WARM_SHARE))
        self._ask()
        while len(self.published) <= self.loop.versions:
            time, _, event, asked_at = heapq.heappop(self.events)
            self._pass_until(time)
            if event is _Event.PLAYED:
                self.playing -= 1
                self._keep(asked_at, time)
            else:
                self.learning = False
                self.updates += 1
                if self.updates % self.loop.updates_a_version == 0:
                    self._publish()
                    if len(self.published) - 1 == warm:
                        self.tally = _SimulatedSums(self.now)
            if not self.learning and len(self.waiting) >= self.loop.slabs_an_update:
                self._learn()
            self._ask()
        return self._outcome()

    def _pass_until(self, time: float) -> None:
        passed, self.now = time - self.now, time
        self.tally.asked_s += passed * self.asked
        self.tally.playing_s += passed * self.playing
        self.tally.idle_s += 0.0 if self.learning else passed

    def _ask(self) -> None:
        if self.loop.waits and self.learning:
            return
        while self.playing < self.loop.rollouts and self.asked < self.loop.bound:
            self._push(self.random.lognormvariate(self.mu, self.sigma), _Event.PLAYED)
            self.asked += 1
            self.playing += 1

    def _push(self, seconds: float, event: _Event) -> None:
        self.order += 1
        heapq.heappush(self.events, (self.now + seconds, self.order, event, self.now))

    def _learn(self) -> None:
        for _ in range(self.loop.slabs_an_update):
            asked_at, played_at = self.waiting.popleft()
            self._leaves(asked_at)
            if self.loop.swaps:
                steps = ((k + 0.5) / POINTS for k in range(POINTS))
                self.tally.lags += [self._lag(asked_at + step * (played_at - asked_at)) for step in steps]
            else:
                self.tally.lags.append(self._lag(asked_at))
        self.learning = True
        self._push(self.loop.update_s, _Event.LEARNED)

    def _keep(self, asked_at: float, played_at: float) -> None:
        """Let a slab wait, or drop it."""
        if self.loop.max_lag is None or self._lag(asked_at) <= self.loop.max_lag:
            self.waiting.append((asked_at, played_at))
        else:
            self._leaves(asked_at)
            self.tally.dropped += 1

    def _leaves(self, asked_at: float) -> None:
        self.asked -= 1
        self.tally.taken += 1
        self.tally.slab_s += self.now - asked_at

    def _lag(self, moment: float) -> int:
        return len(self.published) - bisect_right(self.published, moment)

    def _publish(self) -> None:
        self.published.append(self.now)
        slabs, self.waiting = self.waiting, deque()
        for slab in slabs:
            self._keep(*slab)

    def _outcome(self) -> SimulatedOutcome:
        tally, seconds = self.tally, self.now - self.tally.start
        return SimulatedOutcome(
            slabs_per_s=tally.taken / seconds,
            learner_idle=tally.idle_s / seconds,
            rollout_idle=1.0 - tally.playing_s / seconds / self.loop.rollouts,
            lag_mean=sum(tally.lags) / len(tally.lags),
            lag_max=max(tally.lags),
            dropped=tally.dropped / tally.taken,
            asked=tally.asked_s / seconds,
            slab_time_s=tally.slab_s / tally.taken,
        )


def simulate(loop: Loop, seed: int = 1) -> SimulatedOutcome:
    """Simulate a run. Equal arguments give equal results.

    Raises:
        ValueError: The bound lets no update have its slabs.
    """
    if loop.bound < loop.slabs_an_update:
        raise ValueError(f"{loop.bound} slabs at once, an update takes {loop.slabs_an_update}")
    return _Simulation(loop, seed).run()

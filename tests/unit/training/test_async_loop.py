"""The lag bound of asynchronous runs, with a sampler that is as far ahead as it may be."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from ludus.flow import RolloutStats, Slab
from ludus.presets.config import Preset, RunConfig
from ludus.training.actor_learner.async_loop import AsyncRounds, slabs_needed
from ludus.training.actor_learner.build import build
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.actor_learner.sampler import local_sampler

from .runs import small_preset


@contextmanager
def ahead(preset: Preset, slabs: int, until: int) -> Iterator[tuple[AsyncRounds, list[int]]]:
    """Yield rounds whose sampler has filled ``until`` slabs with the first weights, and the count of them."""
    components = build(preset, slabs)
    filled: list[int] = []
    collector = local_sampler(components.sampler).collector
    collect = collector.collect

    def note(slab: Slab, between: Callable[[], None] | None = None) -> RolloutStats:
        stats = collect(slab, between)
        filled.append(components.actor.version)
        return stats

    collector.collect = note  # type: ignore[method-assign]
    learner_threads = LearnerThreads(0, first=2)
    rounds = AsyncRounds(components, learner_threads, preset.run)
    try:
        end = time.monotonic() + 60.0
        while len(filled) < until and time.monotonic() < end:
            time.sleep(0.01)
        assert len(filled) >= until, "the sampler waits although it may start"
        yield rounds, filled
    finally:
        rounds.close()
        learner_threads.close()
        components.close()


@pytest.mark.parametrize("max_lag", [0, 1, 2])
def test_waiting_keeps_the_bound_and_uses_all_of_it(max_lag: int) -> None:
    """There are more slabs than needed: the rule limits the sampler, not the memory."""
    preset = small_preset(run__lag="async", run__max_lag=max_lag, run__over_lag="wait")
    with ahead(preset, slabs=6, until=max_lag + 1) as (rounds, filled):
        time.sleep(0.3)
        assert filled == [0] * (max_lag + 1)
        updates = [rounds.run(0.0).update for _ in range(max_lag + 1)]
    assert [set(u.lag) for u in updates if u is not None] == [{lag} for lag in range(max_lag + 1)]


@pytest.mark.parametrize("max_lag", [0, 1, 2])
def test_slabs_older_than_the_bound_are_dropped(max_lag: int) -> None:
    """Of five slabs of version 0 as many are used as the bound allows; the others are dropped."""
    preset = small_preset(run__lag="async", run__max_lag=max_lag, run__over_lag="drop")
    with ahead(preset, slabs=5, until=5) as (rounds, filled):
        assert filled == [0] * 5
        done = [rounds.run(0.0) for _ in range(5)]
    learned = [r.update.lag for r in done if r.update is not None]
    assert [set(lag) for lag in learned] == [{lag} for lag in range(max_lag + 1)]
    assert [r.dropped for r in done[: max_lag + 1]] == [0] * (max_lag + 1)
    assert all(r.dropped == r.received > 0 for r in done[max_lag + 1 :])


@pytest.mark.parametrize(
    ("over_lag", "slabs"), [("wait", {0: 1, 1: 2, 3: 4, 9: 4}), ("drop", {0: 3, 1: 4, 3: 6, 9: 6})]
)
def test_the_queue_and_the_sampler_have_enough_slabs(over_lag: str, slabs: dict[int, int]) -> None:
    for max_lag, count in slabs.items():
        config = RunConfig(lag="async", max_lag=max_lag, over_lag=over_lag)  # type: ignore[arg-type]
        assert slabs_needed(config) == count

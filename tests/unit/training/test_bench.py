"""The training benchmark: its figures agree with each other, whatever the load of the machine."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ludus.bench.training import BenchTrainResult, _PoolAlone, _Tally, bench_train
from ludus.presets.errors import ConfigError
from ludus.training.actor_learner.build import build
from ludus.training.actor_learner.sampler import local_sampler

from .runs import small_preset


@pytest.mark.parametrize("lag", ["sync", "pipelined", "async"])
def test_figures_of_one_benchmark_agree(lag: str) -> None:
    r: BenchTrainResult = bench_train(small_preset(run__lag=lag), 0.4, name="small")
    assert (r.preset, r.game, r.lag, r.threads) == ("small", "tic_tac_toe", lag, 2)
    both = 1 / (1 / r.pure_steps_per_s + 1 / r.inference_steps_per_s + 1 / r.learning_steps_per_s)
    assert math.isclose(r.combined_limit_steps_per_s, both, rel_tol=1e-9)
    assert math.isclose(r.share_of_combined_limit, r.steps_per_s / both, rel_tol=1e-9)
    assert math.isclose(r.share_of_pure_simulation, r.frames_per_s / r.pure_frames_per_s, rel_tol=1e-9)
    assert r.share_of_combined_limit > 0  # the parts are timed one after the other, beside whatever else runs
    assert r.frames_per_s > r.steps_per_s > 0
    if lag != "async":
        assert r.lag_versions == pytest.approx(1.0 if lag == "pipelined" else 0.0, abs=0.35)
    assert 0 <= r.sampler_wait_share <= 1
    assert 0 <= r.learner_wait_share <= 1
    assert "of the work" in r.advice


def test_pools_in_turn_are_timed_too() -> None:
    preset = small_preset(run__topology="one_to_one", run__pools=2)
    r = bench_train(preset, 0.4)
    assert r.steps_per_s > 0
    assert r.lag_versions == pytest.approx(1.0, abs=0.35)


def test_the_pool_alone_plays_what_the_policy_played() -> None:
    """From the same states, move for move: its cost is the cost of simulation in training."""
    preset = small_preset()
    components = build(preset)
    alone = _PoolAlone(preset, components)
    moves = alone._moves
    assert moves is not None
    try:
        sampler = local_sampler(components.sampler)
        sampler.collector.collect(sampler.facts.slabs[0])  # somewhere in the middle of matches
        alone.record()
        tally = _Tally()
        for _ in range(2):
            alone.play(tally)
            for name, seen in alone._slab.obs.items():
                np.testing.assert_array_equal(seen, moves.obs[name])
            np.testing.assert_array_equal(alone._slab.reward, moves.reward)
        assert tally.ticks > 0
        assert tally.steps == 2 * int((moves.active[:-1] != 0).sum())
    finally:
        components.close()
        alone.close()


def test_zero_seconds_are_refused() -> None:
    with pytest.raises(ConfigError, match="seconds"):
        bench_train(small_preset(), 0.0)

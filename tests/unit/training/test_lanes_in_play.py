"""Frozen players on lanes: a match is played to its end by the weights that started it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ludus.flow import Orders, Weights
from ludus.league.players import member_and_version
from ludus.policies.weights import load_weights
from ludus.presets.errors import Interrupted
from ludus.rollouts.commands import AddPlayer, BindLanes, MissingPlayers, SeatPlayers
from ludus.storage import RunDirectory, resolve_weights
from ludus.training.actor_learner.build import build_learner
from ludus.training.actor_learner.sampler import LocalSampler, build_sampler
from ludus.training.actor_learner.state import decode_state
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run

from .runs import small_preset
from .test_runs import InterruptAt

PRESET = small_preset(
    game__name="tic_tac_toe",
    opponents__0__name="past",
    opponents__0__past_slots=2,
    pool__slots=24,
    pool__rollout_length=2,  # a match takes several slabs
    policy__memory="gru",
    policy__memory_size=5,
)


def frozen(version: int) -> Weights:
    """Return weights of a version, different for each."""
    weights = build_learner(PRESET).weights()
    random = np.random.default_rng(version)
    tensors = dict(weights.tensors)
    for name, array in tensors.items():
        if array.dtype == np.float32:
            tensors[name] = array + random.normal(0.0, 0.3, array.shape).astype(np.float32)
    meta = weights.meta
    return Weights(type(meta)(version, meta.spec_hash, meta.architecture, meta.spec, meta.game), tensors)


@pytest.fixture
def sampler() -> Iterator[LocalSampler]:
    made = build_sampler(PRESET)
    yield made
    made.close()


def seat(sampler: LocalSampler, weights: dict[int, float]) -> bool:
    """Seat frozen versions by the weights with which they are drawn."""
    mixture = {f"main:{version}": weight for version, weight in weights.items()}
    for player in sampler.send(MissingPlayers(tuple(mixture))):
        sampler.send(AddPlayer(player, frozen(member_and_version(player)[1]), tuple(mixture)))
    return sampler.send(SeatPlayers(Orders(mixture))).settled


def versions_of_matches(sampler: LocalSampler, rounds: int) -> tuple[set[int], int]:
    """Seat others in every round; return versions that decided and the number of changes within matches."""
    now = np.full(sampler.pool.rows, -1)
    seen, changed = set[int](), 0
    for number in range(rounds):
        seat(sampler, {2 * number: 1.0, 2 * number + 1: 1.0})
        slab = sampler.facts.slabs[0]
        sampler.play(slab)
        for t in range(slab.steps):
            theirs = np.flatnonzero((slab.active[t] != 0) & (slab.policy[t] > 0))
            first = slab.is_first[t, theirs] != 0
            version = slab.version[t, theirs]
            seen.update(version.tolist())
            changed += int((~first & (version != now[theirs])).sum())
            now[theirs] = version
    return seen, changed


def test_no_match_is_played_by_two_versions(sampler: LocalSampler) -> None:
    seen, changed = versions_of_matches(sampler, 25)
    assert changed == 0
    assert len(seen) > 20


def test_players_without_a_free_lane_wait_and_others_replace_them(sampler: LocalSampler) -> None:
    """8 lanes, all in use: the next players come when matches have ended."""
    assert seat(sampler, dict.fromkeys(range(8), 1.0))
    sampler.play(sampler.facts.slabs[0])
    assert sampler.lanes_in_play() == set(sampler.lanes.ids)
    assert not seat(sampler, {100: 1.0})
    assert set(sampler.lanes.bound.values()) == {f"main:{version}" for version in range(8)}
    for _ in range(20):
        sampler.play(sampler.facts.slabs[0])
        if seat(sampler, {100: 1.0}):
            break
    assert list(sampler.lanes.bound.values()) == ["main:100"]
    slab = sampler.facts.slabs[0]
    sampler.play(slab)
    theirs = (slab.active[:-1] != 0) & (slab.policy[:-1] > 0)
    assert set(slab.version[theirs].tolist()) == {100}


def test_a_lane_that_is_bound_again_has_an_empty_memory(
    sampler: LocalSampler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def memory(lane: int) -> np.ndarray:
        return sampler.collector.state()[f"memory.{lane}"]

    seat(sampler, {1: 1.0, 2: 1.0})
    for _ in range(4):
        sampler.play(sampler.facts.slabs[0])
    first, second = sampler.lanes.lane_of("main:1"), sampler.lanes.lane_of("main:2")
    assert first is not None
    assert second is not None
    assert memory(first).any()
    kept = memory(second)
    assert kept.any()
    monkeypatch.setattr(LocalSampler, "lanes_in_play", lambda self: {second})
    seat(sampler, {2: 1.0, 5: 1.0})
    assert sampler.lanes.bound == {first: "main:5", second: "main:2"}
    assert not memory(first).any()
    assert np.array_equal(memory(second), kept)


def test_players_are_drawn_by_their_weights(sampler: LocalSampler, monkeypatch: pytest.MonkeyPatch) -> None:
    """Players without a lane leave their share to those with one; all other controllers keep theirs."""
    drawn: dict[int, list[float]] = {}
    pool = sampler.pool
    original = pool.set_mixture

    def noted(plan: int, weights: list[float]) -> None:
        drawn[plan] = list(weights)
        original(plan, weights)

    monkeypatch.setattr(pool, "set_mixture", noted)
    seat(sampler, {1: 0.1, 2: 0.3})
    (plan,) = drawn
    assert drawn[plan][:3] == pytest.approx([0.1, 0.3, 0.0])
    bound = {lane: f"main:{lane}" for lane in sampler.lanes.ids}
    for player in sampler.send(MissingPlayers(tuple(bound.values()))):
        sampler.send(AddPlayer(player, frozen(member_and_version(player)[1]), tuple(bound.values())))
    sampler.send(BindLanes(bound))
    monkeypatch.setattr(LocalSampler, "lanes_in_play", lambda self: set(self.lanes.ids))
    assert not seat(sampler, {3: 0.1, 77: 0.3})
    assert drawn[plan] == pytest.approx([0.0, 0.0, 0.4, 0.0, 0.0, 0.0, 0.0, 0.0])
    before = dict(drawn)
    assert not seat(sampler, {77: 0.3})  # it has no lane: the others play
    assert drawn == before


@pytest.mark.parametrize("at", [3, pytest.param(6, marks=pytest.mark.slow)])
def test_a_resumed_run_has_the_lanes_of_one_that_was_not_interrupted(tmp_path: Path, at: int) -> None:
    """Players of earlier freezes are still in matches, and memory is kept, when the run stops."""
    preset = small_preset(
        opponents__0__name="past",
        opponents__0__past_every=1,
        pool__rollout_length=3,
        policy__memory="gru",
        policy__memory_size=4,
        evaluation__every_steps=0,
        evaluation__final_matches=0,
        run__lag="pipelined",
        run__max_steps=300,
    )
    whole, run = tmp_path / "whole", tmp_path / "run"
    start_run(preset, whole)
    with pytest.raises(Interrupted):
        start_run(preset, run, sinks=[InterruptAt(at)])
    store = RunDirectory.open(run).checkpoints
    state = decode_state(store.load_state(store.versions()[-1]))
    assert len(state.lanes) > 2  # more than play: those of earlier freezes
    assert set(state.lanes.values()) <= set(state.frozen)
    resume_run(run)
    last = [load_weights(resolve_weights(f"{r}@last")) for r in (whole, run)]
    assert last[0].meta.version == last[1].meta.version
    for name, array in last[0].tensors.items():
        assert np.array_equal(array, last[1].tensors[name]), name

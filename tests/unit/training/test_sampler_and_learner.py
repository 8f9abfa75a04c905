"""Samplers without a learner, learners without a sampler, and two learners in the matches of one sampler."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ludus.algorithms.appo import make_learner
from ludus.algorithms.config import AppoConfig
from ludus.algorithms.learner import LearnerContext
from ludus.flow import Controller, Lineup, PoolOptions, RolloutStats, SeatPlan, Slab, Weights
from ludus.games import spec as game_spec
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from ludus.policies.weights import load_weights, save_weights
from ludus.pool.native import NativePool
from ludus.presets.config import Preset
from ludus.rollouts import Collector
from ludus.rollouts.bank import Bank
from ludus.rollouts.commands import LoadWeights
from ludus.rollouts.exchange import Facts, StoredWeights
from ludus.rollouts.lanes import Lanes
from ludus.rollouts.network_actor import NetworkActor
from ludus.training.actor_learner.build import Components, build, build_learner
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.actor_learner.sampler import LocalSampler, build_sampler
from ludus.training.actor_learner.sync_loop import Rounds

from .runs import small_preset

Fields = dict[str, np.ndarray]


def self_play(memory: str = "gru") -> Preset:
    return small_preset(opponents__0__name="latest", policy__memory=memory, policy__memory_size=8)


class Stored:
    """Slab sink that keeps copies, as one that sends slabs to another machine would."""

    def __init__(self) -> None:
        self.slabs: list[Fields] = []

    def put(self, slab: Slab, stats: RolloutStats) -> None:
        assert stats.steps == int((slab.active[:-1] != 0).sum())
        self.slabs.append({name: array.copy() for name, array in slab.fields().items()})


def filled(sampler: LocalSampler, sources: dict[int, StoredWeights], count: int = 2) -> list[Fields]:
    sink = Stored()
    for _ in range(count):
        sampler.send(LoadWeights(sources))
        sink.put(sampler.facts.slabs[0], sampler.play(sampler.facts.slabs[0]))
    sampler.close()
    return sink.slabs


def same(a: Fields, b: Fields) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def same_weights(a: Weights, b: Weights) -> bool:
    return a.meta == b.meta and same(dict(a.tensors), dict(b.tensors))


def test_a_sampler_plays_stored_weights_as_a_run_plays_its_learners(tmp_path: Path) -> None:
    """A worker on another machine fills the slab that the run itself would fill."""
    preset = self_play()
    save_weights(build_learner(preset).weights(), tmp_path / "w.safetensors")
    source = StoredWeights(load_weights(tmp_path / "w.safetensors"))
    elsewhere = filled(build_sampler(preset), {0: source})
    components, sink = build(preset), Stored()
    for _ in elsewhere:
        slab = components.sampler.facts.slabs[0]
        sink.put(slab, components.sampler.play(slab))
    components.close()
    assert all(same(a, b) for a, b in zip(elsewhere, sink.slabs, strict=True))
    second = filled(build_sampler(preset, 1), {0: source})
    assert not np.array_equal(second[0]["actions"], elsewhere[0]["actions"])
    assert same(second[0], filled(build_sampler(preset, 1), {0: source})[0])


def test_a_sampler_takes_newer_weights_and_refuses_others() -> None:
    preset = self_play("none")
    learner, sampler, sink = build_learner(preset), build_sampler(preset), Stored()
    source = StoredWeights(learner.weights())
    sampler.send(LoadWeights({0: source}))
    sink.put(sampler.facts.slabs[0], sampler.play(sampler.facts.slabs[0]))
    learner.start(sampler.facts.slabs[0], 0.0).help(0)
    learner.finish()
    source.put(learner.weights())
    sampler.send(LoadWeights({0: source}))
    sink.put(sampler.facts.slabs[0], sampler.play(sampler.facts.slabs[0]))
    versions = [set(s["version"][s["active"][:-1] != 0].tolist()) for s in sink.slabs]
    assert versions == [{0}, {1}]
    with pytest.raises(ValueError, match="do not fit"):
        sampler.send(LoadWeights({0: StoredWeights(build_learner(self_play()).weights())}))
    wider = small_preset(policy__hidden="[8]")
    with pytest.raises(ValueError, match="has shape"):
        StoredWeights(build_learner(wider).weights()).copy_to(sampler.facts.actors[0].network)
    sampler.close()


def test_a_learner_trains_from_stored_slabs() -> None:
    """Slabs that were sent give the same updates as the sampler's own slabs."""
    preset = self_play()
    first, second, sampler, sink = (
        build_learner(preset),
        build_learner(preset),
        build_sampler(preset),
        Stored(),
    )
    sampler.send(LoadWeights({0: StoredWeights(first.weights())}))
    for _ in range(2):
        slab = sampler.facts.slabs[0]
        sink.put(slab, sampler.play(slab))
        first.start(slab, 0.0).help(0)
        first.finish()
    for fields in sink.slabs:
        slab = Slab(sampler.facts.spec, sampler.facts.slabs[0].steps, sampler.facts.slabs[0].rows)
        slab.memory = {0: np.empty_like(fields["memory.0"])}
        for name, array in slab.fields().items():
            array[...] = fields[name]
        second.start(slab, 0.0).help(0)
        assert second.finish().samples > 0
    sampler.close()
    assert same_weights(first.weights(), second.weights())


def against_another_policy(learned: int, other: int, pipelined: bool) -> tuple[Weights, int]:
    """Train one policy id of tic-tac-toe against another; return its weights and its samples."""
    torch.set_num_threads(1)  # as a run's builders do; with more the bits depend on the load
    spec = game_spec("tic_tac_toe")
    lineup = Lineup((SeatPlan((Controller(policy=learned),)), SeatPlan((Controller(policy=other),))))
    pool = NativePool("tic_tac_toe", {}, lineup, PoolOptions(slots=16, groups=2, threads=0, seed=4))
    # Memory of different shapes: nothing of one policy fits the other.
    config = EncoderConfig(dense=(8,), hidden=(8,), memory="gru", memory_size=4)
    configs = {learned: config, other: EncoderConfig(dense=(8,), hidden=(8,), memory="lstm", memory_size=8)}
    actors = {
        policy: NetworkActor(PolicyNetwork(config, spec, seed).for_acting(), seed, 0)
        for seed, (policy, config) in enumerate(configs.items())
    }
    network = PolicyNetwork(config, spec, 0)
    learner = make_learner(AppoConfig(micro_batch=64), network, LearnerContext(0, learned, workers=2))
    sampler = LocalSampler(
        facts=Facts(
            spec=spec,
            params={},
            slots=pool.slots,
            all_slots=pool.slots,
            slabs=[pool.slab(12) for _ in range(2)],
            labels={},
            actors=actors,
            learned={learned: actors[learned]},
        ),
        lineup=lineup,
        pool=pool,
        bank=Bank({}, lambda _: PolicyNetwork(config, spec)),
        lanes=Lanes(()),
        collector=Collector(pool, actors, learned={learned: actors[learned]}),
        build_network=lambda: PolicyNetwork(config, spec),
    )
    components = Components(sampler, learner, learned, threads=2)
    threads = LearnerThreads(1)
    rounds = Rounds(components, threads, pipelined)
    rounds.publish()
    samples = 0
    try:
        for _ in range(5):
            done = rounds.run(0.0)
            if done.update is not None:
                assert 0 < done.update.samples <= done.received
                assert set(done.update.lag) == {done.update.version - 1 and int(pipelined)}
                samples += done.update.samples
    finally:
        threads.close()
        components.close()
    return learner.weights(), samples


@pytest.mark.parametrize("pipelined", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_learner_trains_one_of_two_policies_and_no_policy_id_is_special(pipelined: bool) -> None:
    """Other ids give the same bits: a learner trains the rows of its policy, whatever its id is."""
    weights, samples = against_another_policy(0, 1, pipelined)
    assert weights.meta.version == 5 - int(pipelined)
    assert samples > 250
    for ids in ((1, 0), (7, 3)):
        again, counted = against_another_policy(*ids, pipelined)
        assert counted == samples
        assert same_weights(weights, again), ids

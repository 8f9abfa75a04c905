"""Weights that are sent to an acting network act as those that are copied to it, exploration included."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from ludus.algorithms.learner import Learner
from ludus.algorithms.registry import methods
from ludus.flow import RolloutStats, Slab, Weights
from ludus.presets.config import Preset
from ludus.presets.file import parse_preset
from ludus.rollouts.commands import LoadWeights
from ludus.rollouts.exchange import StoredWeights, WeightSource
from ludus.training.actor_learner.build import LocalWeights, StagedWeights, build_learner
from ludus.training.actor_learner.sampler import LocalSampler, build_sampler

from .runs import TOML

DQN: dict[str, object] = {
    "algorithm__batch_size": 16,
    "algorithm__learning_starts": 50,
    "policy__output": "q",
}
SETTINGS: dict[str, dict[str, object]] = {
    "appo": {"policy__memory": "gru", "policy__memory_size": 8},
    "a2c": {"policy__norm": "batch"},
    "impala": {"run__precision": "bfloat16"},
    "policy_gradient": {},
    "trpo": {"policy__critic": "own"},
    "dqn": DQN,
    "imitation": {"algorithm__teacher": "perfect", "opponents__0__name": "latest"},
}


class Kept:
    """Sink that keeps a copy of the actions of every slab."""

    def __init__(self) -> None:
        self.actions: list[np.ndarray] = []

    def put(self, slab: Slab, stats: RolloutStats) -> None:
        self.actions.append(np.where(slab.active[:-1, :, None] != 0, slab.actions, -1))


def preset_of(method: str) -> Preset:
    settings: dict[str, object] = {"algorithm__name": method, **SETTINGS[method]}
    text = {key.replace("__", "."): str(value) for key, value in settings.items()}
    toml = TOML.replace("minibatches = 2\n", "") if method == "dqn" else TOML
    return parse_preset(toml.encode(), "small", overrides=text).preset


def actions(sampler: LocalSampler, source: WeightSource) -> np.ndarray:
    """Return the actions of one slab of ``sampler``, which is closed then."""
    kept = Kept()
    try:
        sampler.send(LoadWeights({0: source}))
        kept.put(sampler.facts.slabs[0], sampler.play(sampler.facts.slabs[0]))
    finally:
        sampler.close()
    return kept.actions[0]


def taught(preset: Preset) -> Learner:
    """Return a learner after two updates."""
    learner, sampler = build_learner(preset), build_sampler(preset)
    for _ in range(2):
        sampler.send(LoadWeights({0: LocalWeights(learner)}))
        sampler.play(sampler.facts.slabs[0])
        learner.start(sampler.facts.slabs[0], 0.5).help(0)
        assert learner.finish().samples > 0
    sampler.close()
    return learner


def sent(weights: Weights) -> StoredWeights:
    """Return a source of weights that have been on the way as bytes."""
    tensors = {n: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape) for n, a in weights.tensors.items()}
    return StoredWeights(Weights(msgspec.structs.replace(weights.meta), tensors))


def test_every_method_of_samplers_is_tried() -> None:
    shipped = [method for method in methods() if str(method.learner).startswith("ludus.")]
    assert {method.name for method in shipped if method.learns_from_slabs} == set(SETTINGS)


@pytest.mark.parametrize("method", SETTINGS)
def test_sent_weights_act_as_copied_ones(method: str) -> None:
    preset = preset_of(method)
    learner = taught(preset)
    copied = actions(build_sampler(preset), LocalWeights(learner))
    assert (copied >= 0).any()
    acting = learner.acting_weights()
    assert np.array_equal(actions(build_sampler(preset), sent(acting)), copied)
    for source in (LocalWeights(learner), StagedWeights(learner)):
        newest = source.newest()
        assert newest.meta.version == acting.meta.version == 2
        assert newest.tensors.keys() == acting.tensors.keys()
        assert all(np.array_equal(newest.tensors[n], a) for n, a in acting.tensors.items())


def test_weights_of_dqn_that_act_explore_and_those_that_are_stored_do_not() -> None:
    preset = preset_of("dqn")
    learner = taught(preset)
    stored, acting = learner.weights(), learner.acting_weights()
    odd = {n for n, a in acting.tensors.items() if not np.array_equal(a, stored.tensors[n])}
    assert odd == {"epsilon"}
    assert float(np.asarray(stored.tensors["epsilon"], np.float32)) == 0
    assert float(np.asarray(acting.tensors["epsilon"], np.float32)) > 0
    explored = actions(build_sampler(preset), sent(acting))
    assert not np.array_equal(explored, actions(build_sampler(preset), sent(stored)))

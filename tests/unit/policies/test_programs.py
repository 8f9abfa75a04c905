"""Acting and learning as programs: a graph's replay computes what Python does, and what the compact forms do.

Static forms on the processor (``Plain(static=True)``) are the reference for bits: a tape replays without the
Python around it, so that a number or a shape that Python holds shows as a difference.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec
import numpy as np
import pytest
import torch

from ludus.algorithms.actor_critic.learner import ActorCriticLearner
from ludus.algorithms.learner import LearnerContext
from ludus.algorithms.registry import method_of, resolve
from ludus.flow import GameSpec, Slab
from ludus.policies.accelerator import Executor, Plain
from ludus.policies.config import EncoderConfig, ResnetConfig
from ludus.policies.factory import build_network
from ludus.policies.layers.batch_norm import batch_norms
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network
from ludus.policies.replay_support import why_learning_is_eager
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import Preset
from ludus.presets.file import load_preset, shipped_presets
from ludus.rollouts.actor import ActInput
from ludus.rollouts.network_actor import NetworkActor
from tests.taped import Counting, Taped
from tests.unit.preset_choice import need, why_preset_absent
from tests.unit.synthetic import act, random_slab

Learner = ActorCriticLearner[Any]
STEPS, ROWS = 4, 12
#: Presets whose updates are programs, each method and each kind of network at least once.
QUICK = (
    "minirts",
    "minirts-impala",
    "minirts-a2c",
    "minirts-policy-gradient",
    "capture-the-flag",
    "pendulum",
)
FURTHER = (
    "alphastar",
    "breakout",
    "cartpole",
    "extended",
    "kuhn",
    "leduc",
    "lunar-lander",
    "minirts-cells",
    "minirts-league",
    "minirts-mixture",
    "minirts-ppo",
    "minirts-self-play",
    "minirts-stage1",
    "minirts-stage2",
    "minirts-units",
    "moba-1v1",
    "moba-3v3",
    "openai-five-opponents",
    "openspiel-connect_four",
    "pbt",
    "pommerman-ffa",
    "pommerman-league",
    "pommerman-team",
    "pommerman-team-critic",
    "pommerman-team-league",
    "pommerman-team-spirit",
    "pong",
    "tic_tac_toe",
    "tower-defense",
    "vizdoom-basic",
    "vizdoom-battle",
    "vizdoom-cig",
    "vizdoom-cig-navigation",
    "vizdoom-duel",
    "vizdoom-duel-bots",
    "vizdoom-duel-pbt",
    "vizdoom-health-gathering",
)
METHODS = ("appo", "impala", "a2c", "policy_gradient")
#: Presets whose updates are computed operation by operation, and why.
EAGER = {
    "cartpole-dqn": "the method",
    "minirts-dqn": "the method",
    "minirts-imitation": "the method",
    "minirts-records": "the method",
    "minirts-trpo": "the method",
    "tic_tac_toe-imitation": "the method",
}
#: Networks too large for a test, of kinds that others have.
LARGE = (
    "alphastar-full",
    "minirts-league-full",
    "openai-five-opponents-full",
    "pbt-full",
    "pommerman-league-full",
    "vizdoom-cig-full",
)


def loaded(name: str) -> tuple[Preset, GameSpec]:
    need(name)
    preset = load_preset(name).preset
    return preset, resolve_spec(preset)[0]


def learner_of(preset: Preset, spec: GameSpec, executor: Executor, **settings: object) -> Learner:
    """Return a learner with small minibatches; its initial weights are the same for all executors."""
    changes = {"minibatches": 3, "micro_batch": 64, "epochs": 2} | settings
    config = msgspec.structs.replace(preset.algorithm, **changes)
    assert isinstance(preset.policy, EncoderConfig)
    network = PolicyNetwork(preset.policy, spec, 1)
    make = cast(Any, resolve(method_of(config).learner))
    return cast(Learner, make(config, network, LearnerContext(1, executor=executor)))


def played(learner: Learner, spec: GameSpec, seed: int, lag: int = 0) -> Slab:
    """Return a slab that the learner's network decided; the share of idle rows follows the seed."""
    slab = random_slab(spec, STEPS, ROWS, seed, idle=0.15 * (seed % 4))
    slab.row_slot, slab.row_seat = (x.astype(np.int32) for x in np.divmod(np.arange(ROWS), spec.seats))
    act(learner.network, slab, seed, max(learner.version - lag, 0))
    return slab


def assert_equal_bits(ours: Learner, theirs: Learner) -> None:
    (mine, mine_counted), (other, other_counted) = ours.state(), theirs.state()
    assert mine_counted == other_counted
    assert mine.keys() == other.keys()
    for name, array in mine.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


def check_updates(preset: Preset, spec: GameSpec, **settings: object) -> Learner:
    """Make five updates under changing rates, limits, lags and numbers of rows, taped and plain."""
    plain = learner_of(preset, spec, Plain(static=True), **settings)
    taped = learner_of(preset, spec, Taped(), **settings)
    first = plain.state()[0]
    for k in range(5):
        slab = played(plain, spec, k, lag=k % 2)
        for learner in (plain, taped):
            changes = {
                "max_grad_norm": (0.5, 0.01, 0.0, 10.0, 0.1)[k],
                "value_coefficient": 0.5 + 0.5 * (k == 4),
            }
            learner.set_config(msgspec.structs.replace(learner.config, **changes))
        expected = plain.update(slab, 0.2 * k)
        found = taped.update(slab, 0.2 * k)
        assert found.samples > 0
        assert taped._programs is not None
        assert found == expected
        assert_equal_bits(taped, plain)
    assert any(not np.array_equal(array, first[name]) for name, array in plain.state()[0].items())
    return plain


def check_near_compact(preset: Preset, spec: GameSpec, **settings: object) -> None:
    """Make three updates with programs and with the processor's own forms, under changing settings."""
    static = learner_of(preset, spec, Plain(static=True), **settings)
    compact = learner_of(preset, spec, Plain(), **settings)
    for k in range(3):
        slab = played(compact, spec, k + 1, lag=k % 2)
        for learner in (static, compact):
            changes = {"value_coefficient": 0.5 + k, "max_grad_norm": 0.5 - 0.2 * k}
            learner.set_config(msgspec.structs.replace(learner.config, **changes))
        numbers = static.update(slab, 0.3 * k).numbers
        expected = compact.update(slab, 0.3 * k).numbers
        assert compact._programs is None
        assert numbers.keys() == expected.keys()
        for name, number in expected.items():
            if name == "policy/clip_fraction":  # counts ratios of 1 that may lie on either side
                continue
            assert numbers[name] == pytest.approx(number, rel=1e-3, abs=1e-4), name
    arrays = compact.state()[0]
    for name, array in static.state()[0].items():
        if name.startswith("network."):
            ours, theirs = np.asarray(array, np.float64), np.asarray(arrays[name], np.float64)
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("name", QUICK)
def test_updates_taped_are_those_of_python(name: str) -> None:
    check_updates(*loaded(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", FURTHER)
def test_updates_of_further_presets_taped_are_those_of_python(name: str) -> None:
    check_updates(*loaded(name))


@pytest.mark.parametrize("name", QUICK)
def test_updates_are_those_of_the_compact_forms(name: str) -> None:
    check_near_compact(*loaded(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", FURTHER)
def test_updates_of_further_presets_are_those_of_the_compact_forms(name: str) -> None:
    check_near_compact(*loaded(name))


@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer": "sgd", "momentum": 0.9},
        {"max_grad_rms": 2.0},
        {"target_kl": 1e-7, "epochs": 4},
        {"learning_rate_kl": 0.01},
        {"sample_reuse": 1.4},
        {"clip_value": 0.1},
        {"normalise_returns": False},
        {"horizon": 500.0, "horizon_final": 900.0},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_settings_of_programs(settings: dict[str, object]) -> None:
    preset, spec = loaded("tic_tac_toe")
    check_updates(preset, spec, **settings)
    check_near_compact(preset, spec, **settings)


@pytest.mark.parametrize(
    "policy",
    [
        EncoderConfig(dense=(16,), hidden=(16,), value_heads=2),
        EncoderConfig(dense=(16,), hidden=(16,), critic="own"),
        EncoderConfig(dense=(16,), hidden=(16,), normalise_observations=False, normalise_values=False),
        EncoderConfig(dense=(16,), hidden=(16,), memory="recall"),
        EncoderConfig(dense=(16,), hidden=(16,), memory="recall", critic="own", norm="batch"),
        EncoderConfig(dense=(16,), hidden=(16,), critic="own", critic_sees="all", norm="batch"),
    ],
    ids=["value heads", "own critic", "no normalisers", "recall", "batch norms", "centralised critic"],
)
def test_networks_of_programs(policy: EncoderConfig) -> None:
    preset, spec = loaded("minirts")
    preset = msgspec.structs.replace(preset, policy=msgspec.structs.replace(policy, inputs=("globals",)))
    check_updates(preset, spec)
    check_near_compact(preset, spec)


def test_updates_of_the_value_only() -> None:
    preset, spec = loaded("minirts")
    taped, plain = (learner_of(preset, spec, executor) for executor in (Taped(), Plain(static=True)))
    before = {n: p.detach().clone() for n, p in taped.network.named_parameters()}
    moving = set(taped.network.critic_parameters())
    for k in range(4):
        slab = played(plain, spec, k)
        for learner in (taped, plain):
            learner.update(slab, value_only=k < 2)
        assert_equal_bits(taped, plain)
        moved = {n for n, p in taped.network.named_parameters() if not torch.equal(p, before[n])}
        assert moved == (moving if k < 2 else set(before))


def test_a_slab_without_decisions_changes_nothing() -> None:
    preset, spec = loaded("tic_tac_toe")
    learner = learner_of(preset, spec, Taped())
    learner.update(played(learner, spec, 0))
    before = learner.parameters.vector.clone()
    slab = played(learner, spec, 1)
    slab.active[:], slab.policy[:] = 0, -1
    assert learner.update(slab).samples == 0
    assert torch.equal(learner.parameters.vector, before)


def test_norms_count_decisions_that_none_is_trained_on() -> None:
    """As on the processor: without a step one pass over the decisions gives the statistics."""
    preset, spec = loaded("minirts")
    policy = EncoderConfig(inputs=("globals",), dense=(16,), hidden=(16,), memory="recall", norm="batch")
    preset = msgspec.structs.replace(preset, policy=policy)
    learners = [learner_of(preset, spec, executor) for executor in (Taped(), Plain())]
    for k in range(2):
        slab = played(learners[1], spec, k)
        if k == 1:  # matches cut off after their first decision, which none bootstraps
            slab.active[1:], slab.policy[1:] = 0, -1
            slab.terminated[:], slab.truncated[:] = 0, 0
        found = [learner.update(slab).samples for learner in learners]
        assert (found[0] > 0) == (k == 0)
        assert found[0] == found[1]
    norms = [batch_norms(learner.network) for learner in learners]
    assert norms[0]
    for ours, theirs in zip(*norms, strict=True):
        assert float(ours.weight) == float(theirs.weight) > 1.0
        torch.testing.assert_close(ours.mean, theirs.mean, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(ours.variance, theirs.variance, rtol=1e-5, atol=1e-5)


def test_slabs_of_another_shape_need_other_programs() -> None:
    preset, spec = loaded("tic_tac_toe")
    taped, plain = (learner_of(preset, spec, executor) for executor in (Taped(), Plain(static=True)))
    for k, rows in enumerate((8, 20, 8)):
        slab = random_slab(spec, STEPS, rows, k)
        act(plain.network, slab, k, plain.version)
        assert taped.update(slab) == plain.update(slab)
        assert_equal_bits(taped, plain)


def batch_of(slab: Slab, network: Network, k: int, rows: int) -> ActInput:
    """Return some rows of a slab, and any memory."""
    random = np.random.default_rng(k)
    t = k % (slab.steps + 1)
    memory = None
    if network.memory_shape is not None:
        memory = random.normal(size=(rows, *network.memory_shape)).astype(np.float32)
    return ActInput(
        {name: array[t, :rows] for name, array in slab.obs.items()},
        slab.mask[t, :rows],
        memory,
        slab.is_first[t, :rows],
        k,
        np.arange(rows, dtype=np.int32),
    )


def check_acts(preset: Preset, spec: GameSpec) -> None:
    """Decide fifty times under changing weights, moments and numbers of rows."""
    network, compact = (build_network(preset.policy, spec, 1) for _ in range(2))
    plain, taped = (NetworkActor(network, 5, executor=e) for e in (Plain(static=True), Taped()))
    greedy = [NetworkActor(network, 5, greedy=True, executor=e) for e in (Plain(static=True), Taped())]
    eager = NetworkActor(compact, 5)
    slab = random_slab(spec, STEPS, 40, 1)
    for k in range(50):
        batch = batch_of(slab, network, k, 1 + (7 * k) % 40)
        pair = greedy if k % 5 == 4 else (plain, taped)
        expected, found = (actor.act(batch) for actor in pair)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        if k % 5 == 0:
            other = eager.act(batch)
            same = (other.actions == expected.actions).all(axis=1)
            assert np.count_nonzero(~same) <= max(1, len(same) // 20)  # a draw may fall on either side
            np.testing.assert_allclose(expected.log_prob[same], other.log_prob[same], rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(expected.value, other.value, rtol=1e-4, atol=1e-5)
            given = (batch.obs, batch.memory, batch.is_first)
            np.testing.assert_array_equal(taped.value(*given), plain.value(*given))
            np.testing.assert_allclose(taped.value(*given), eager.value(*given), rtol=1e-4, atol=1e-5)
        with torch.no_grad():
            for mine, others in zip(network.parameters(), compact.parameters(), strict=True):
                mine.mul_(1.0 + 0.01 * (k % 3))
                others.copy_(mine)
            for each in (network, compact):
                if isinstance(each, PolicyNetwork) and each.values is not None:
                    each.values.mean.add_(0.1)
                    each.values.square.add_(0.3)


@pytest.mark.parametrize("name", QUICK)
def test_acts_taped_are_those_of_python(name: str) -> None:
    check_acts(*loaded(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", FURTHER)
def test_acts_of_further_presets_taped_are_those_of_python(name: str) -> None:
    check_acts(*loaded(name))


@pytest.mark.parametrize("memory", ["gru", "lstm"])
def test_acts_with_a_learned_memory_are_programs(memory: str) -> None:
    preset, spec = loaded("minirts")
    policy = EncoderConfig(inputs=("globals",), dense=(16,), hidden=(16,), memory=memory, memory_size=8)  # type: ignore[arg-type]
    check_acts(msgspec.structs.replace(preset, policy=policy), spec)


def test_acts_of_a_board_are_programs() -> None:
    preset, spec = loaded("tic_tac_toe-alphazero")
    policy = ResnetConfig(blocks=1, filters=8, value_hidden=8)
    check_acts(msgspec.structs.replace(preset, policy=policy), spec)
    network = build_network(policy, spec, 1)
    slab, programs = random_slab(spec, STEPS, 40, 1), Counting()
    for k, rows in enumerate((3, 40, 12)):
        NetworkActor(network, 5, executor=programs).act(batch_of(slab, network, k, rows))
    assert programs.prepared == 2  # of 16 and of 64 rows


def test_outputs_of_an_act_outlive_the_next() -> None:
    preset, spec = loaded("tic_tac_toe")
    assert isinstance(preset.policy, EncoderConfig)
    network = PolicyNetwork(preset.policy, spec, 1)
    actor, slab = NetworkActor(network, 5, executor=Taped()), random_slab(spec, STEPS, 40, 1)
    first = actor.act(batch_of(slab, network, 1, 20))
    kept = [None if array is None else array.copy() for array in first]
    actor.act(batch_of(slab, network, 2, 20))
    for array, copied in zip(first, kept, strict=True):
        np.testing.assert_array_equal(array, copied)


def test_every_preset_is_in_one_list() -> None:
    learned: dict[str, str] = {}
    absent = {name for name in shipped_presets() if why_preset_absent(name)}
    for name in shipped_presets().keys() - absent:
        preset = load_preset(name).preset
        if isinstance(preset.policy, EncoderConfig):
            with torch.device("meta"):
                network = PolicyNetwork(preset.policy, resolve_spec(preset)[0], None)
            tag = preset.algorithm.__struct_config__.tag
            learned[name] = why_learning_is_eager(network) if tag in METHODS else "the method"
    assert {name for name, why in learned.items() if not why} == {*QUICK, *FURTHER, *LARGE} - absent
    assert {name: why for name, why in learned.items() if why} == EAGER


@pytest.mark.parametrize(("memory", "norm"), [("gru", "layer"), ("lstm", "batch")])
def test_rows_with_a_learned_memory_learn_as_the_compact_forms(memory: str, norm: str) -> None:
    """The programs' own part: rows as units, masks of what is trained on and counted, memory at t = 0."""
    preset, spec = loaded("minirts")
    policy = EncoderConfig(inputs=("globals",), dense=(16,), hidden=(16,), memory_size=8)
    policy = msgspec.structs.replace(policy, memory=memory, norm=norm)
    check_updates(msgspec.structs.replace(preset, policy=policy), spec)
    check_near_compact(msgspec.structs.replace(preset, policy=policy), spec)

"""Separate critics, state-independent deviations, activations: settings of networks."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
import pytest
import torch
from torch import Tensor

from ludus.algorithms.config import AppoConfig
from ludus.flow import HeadSpec, WeightsMeta
from ludus.flow import Weights as WeightsFile
from ludus.games.python_game import declare
from ludus.games.python_game import tensor as declared
from ludus.policies.actions.action_distribution import Independent
from ludus.policies.config import EncoderConfig, decode_config
from ludus.policies.layers.torso import Dense
from ludus.policies.network import PolicyNetwork
from ludus.policies.weights import WeightsError, build_policy
from ludus.presets.checks.game import check_game
from ludus.presets.file import PresetError, parse_preset
from tests.unit.synthetic import act, appo_learner, make_spec, pointing_spec, random_slab, tensor

SMALL = EncoderConfig(channels=(8,), strides=(2,), dense=(12,), hidden=(16,), memory_size=8)
OWN = msgspec.structs.replace(SMALL, critic="own")
SPEC = make_spec(
    (tensor("planes", "u8", (3, 6, 6), scale=0.01), tensor("numbers", "f32", (6,))),
    (4, 3),
)
CAR = declare(
    "car",
    observation=[declared("speed", (3,))],
    heads=(
        HeadSpec("push", 2, kind="continuous", low=-2.0, high=2.0),
        HeadSpec("gear", 3),
        HeadSpec("free", 2, kind="continuous"),
    ),
)
FREE = EncoderConfig(dense=(), hidden=(16,), deviation="free")


def observations(rows: int, seed: int = 0) -> dict[str, Tensor]:
    slab = random_slab(SPEC, 1, rows, seed)
    return {n: torch.from_numpy(x[0]) for n, x in slab.obs.items()}


def touched(network: PolicyNetwork, output: Tensor) -> set[str]:
    """Names of the parameters that an output depends on."""
    names = [n for n, _ in network.named_parameters()]
    grads: tuple[Tensor | None, ...] = torch.autograd.grad(
        output.sum(), list(network.parameters()), allow_unused=True
    )
    return {n for n, g in zip(names, grads, strict=True) if g is not None}


def constant(column: Tensor) -> bool:
    return bool((column == column[0]).all())


def test_an_own_critic_shares_no_parameter_with_the_policy() -> None:
    network = PolicyNetwork(OWN, SPEC, seed=1)
    critic = set(network.critic_parameters())
    every = {n for n, _ in network.named_parameters()}
    distribution, value = network.flat(observations(5))
    assert isinstance(distribution, Independent)
    assert touched(network, value) == critic
    distribution, value = network.flat(observations(5))
    assert isinstance(distribution, Independent)
    assert touched(network, distribution.logits) == every - critic
    assert {n.split(".")[0] for n in critic} == {"critic", "value_head"}


def test_a_shared_critic_has_only_its_last_layer() -> None:
    network = PolicyNetwork(SMALL, SPEC, seed=1)
    assert network.critic is None
    assert set(network.critic_parameters()) == {"value_head.weight", "value_head.bias"}
    assert len(touched(network, network.flat(observations(5))[1])) > 4


def test_the_policy_starts_as_with_a_shared_critic() -> None:
    own, shared = PolicyNetwork(OWN, SPEC, seed=3), PolicyNetwork(SMALL, SPEC, seed=3)
    for name, value in shared.state_dict().items():
        assert torch.equal(own.state_dict()[name], value), name
    obs = observations(5)
    assert torch.equal(own.step(obs).logits, shared.step(obs).logits)
    assert not torch.allclose(own.step(obs).value, shared.step(obs).value)


def test_an_own_critic_works_with_heads_that_point() -> None:
    config = msgspec.structs.replace(OWN, context=8)
    network = PolicyNetwork(config, pointing_spec(), seed=1)
    slab = random_slab(pointing_spec(), 3, 8, 1)
    act(network, slab, 1)
    assert network.critic is not None
    assert not network.critic.points_at
    assert np.abs(slab.value).max() > 0


@pytest.mark.parametrize("memory", ["gru", "lstm"])
def test_a_critic_of_all_seats_with_learned_memory_is_refused(memory: Literal["gru", "lstm"]) -> None:
    config = msgspec.structs.replace(OWN, memory=memory, critic_sees="all")
    with pytest.raises(ValueError, match=r'policy.critic_sees = "all".*"own" or "team"'):
        PolicyNetwork(config, msgspec.structs.replace(SPEC, seats=2))
    text = f"""[game]
name = "tic_tac_toe"
[policy]
critic = "own"
critic_sees = "all"
memory = "{memory}"
"""
    with pytest.raises(PresetError) as error:
        parse_preset(text.encode(), "mine.toml")
    (line,) = error.value.lines
    assert line.startswith("mine.toml")
    assert 'policy.critic_sees = "all"' in line


@pytest.mark.parametrize("activation", ["leaky_relu", "elu"])
def test_negative_numbers_pass_through_the_configured_activation(activation: str) -> None:
    config = msgspec.convert(
        {"network": "encoder", "inputs": ["numbers"], "dense": [], "hidden": [16], "norm": "none"}
        | {"activation": activation, "leaky_slope": 0.3},
        EncoderConfig,
    )
    network = PolicyNetwork(config, SPEC, seed=1)
    x = torch.linspace(-2, 2, 16)
    expected = torch.where(x > 0, x, 0.3 * x if activation == "leaky_relu" else torch.exp(x) - 1)
    assert isinstance(network.join, Dense)
    torch.testing.assert_close(network.join.activation(x), expected)


def test_a_free_deviation_is_the_same_in_every_state_and_is_learned() -> None:
    learner = appo_learner(AppoConfig(learning_rate=0.01), FREE, CAR, seed=1)
    slab = random_slab(CAR, 6, 16, 1)
    act(learner.network, slab, 1)
    for seed in range(3):
        learner.update(slab)
        slab = random_slab(CAR, 6, 16, seed)
        act(learner.network, slab, seed, learner.version)
    logits = learner.network.step({"speed": torch.from_numpy(slab.obs["speed"][0])}).logits
    push, free = logits[:, 1], logits[:, 6]
    assert constant(push)
    assert constant(free)
    assert float(push[0]) != 0.0
    assert float(push[0]) != float(free[0])
    assert not any(constant(logits[:, k]) for k in (0, 2, 3, 4, 5))
    stats = learner.update(slab)
    assert stats.numbers["policy/clip_fraction"] < 1.0
    state = PolicyNetwork(msgspec.structs.replace(FREE, deviation="state"), CAR, seed=1)
    assert not constant(state.step({"speed": torch.randn(9, 3)}).logits[:, 1])


def test_free_deviations_start_at_one_and_the_policy_near_uniform() -> None:
    network = PolicyNetwork(FREE, CAR, seed=1)
    logits = network.step({"speed": torch.randn(9, 3, generator=torch.Generator().manual_seed(1))}).logits
    assert float(logits[:, 1].abs().max()) == 0.0
    assert 0.0 < float(logits.abs().max()) < 0.1


def test_a_free_deviation_needs_a_continuous_head() -> None:
    with pytest.raises(ValueError, match=r'policy.deviation = "free": the game has no continuous heads'):
        PolicyNetwork(msgspec.structs.replace(SMALL, deviation="free"), SPEC)
    text = """[game]
name = "tic_tac_toe"
[policy]
deviation = "free"
"""
    with pytest.raises(PresetError) as error:
        check_game(parse_preset(text.encode(), "mine.toml"))
    assert error.value.lines == (
        'mine.toml: policy.deviation = "free": tic_tac_toe has no continuous heads; expected "state"',
    )


def test_settings_that_a_weights_file_leaves_out_have_their_defaults() -> None:
    network = PolicyNetwork(SMALL, SPEC, seed=1)
    fields = msgspec.json.decode(network.architecture)
    for name in ("leaky_slope", "deviation", "critic"):
        del fields[name]
    architecture = msgspec.json.encode(fields).decode()
    assert decode_config(architecture) == SMALL
    meta = WeightsMeta(1, SPEC.spec_hash, architecture, msgspec.json.encode(SPEC).decode(), SPEC.name, 5, 1)
    tensors = {n: t.numpy().copy() for n, t in network.state_dict().items()}
    built = build_policy(WeightsFile(meta, tensors))
    obs = observations(4)
    assert torch.equal(built.step(obs).logits, network.step(obs).logits)


def test_a_weights_file_with_an_impossible_network_is_refused() -> None:
    network = PolicyNetwork(SMALL, SPEC, seed=1)
    fields = msgspec.json.decode(network.architecture) | {"critic_sees": "all"}
    architecture = msgspec.json.encode(fields).decode()
    meta = WeightsMeta(1, SPEC.spec_hash, architecture, msgspec.json.encode(SPEC).decode(), SPEC.name, 5, 1)
    with pytest.raises(WeightsError, match=r"policy\.critic"):
        build_policy(WeightsFile(meta, {}))

"""The network: memory, entity rows, normalisers, determinism."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ludus.policies.actions.action_distribution import Independent
from ludus.policies.config import EncoderConfig, PolicyConfig
from ludus.policies.layers.batch_norm import batch_norms
from ludus.policies.layers.normaliser import ObservationNormaliser, ValueNormaliser
from ludus.policies.layers.torso import Rows
from ludus.policies.network import PolicyNetwork
from tests.unit.synthetic import act, make_spec, random_slab, tensor

SMALL = EncoderConfig(channels=(8, 8), strides=(2, 1), dense=(16,), hidden=(32,), memory_size=12)
SPEC = make_spec(
    (
        tensor("planes", "u8", (4, 7, 6), scale=0.01),
        tensor("units", "u8", (5, 8), scale=0.01),
        tensor("numbers", "f32", (7,)),
    ),
    (4, 3),
)


def observations(steps: int, rows: int, seed: int = 0) -> dict[str, Tensor]:
    slab = random_slab(SPEC, steps, rows, seed)
    return {n: torch.from_numpy(x[:steps]) for n, x in slab.obs.items()}


@pytest.mark.parametrize("norm", ["none", "layer", "group", "batch"])
@pytest.mark.parametrize("activation", ["leaky_relu", "relu", "tanh", "gelu", "elu"])
def test_outputs_have_their_shapes(norm: str, activation: str) -> None:
    config = msgspec.convert(
        {**msgspec.to_builtins(SMALL), "norm": norm, "activation": activation}, PolicyConfig
    )
    network = PolicyNetwork(config, SPEC, seed=1)
    out = network.step({n: x[0] for n, x in observations(1, 9).items()})
    assert out.logits.shape == (9, 7)
    assert out.value.shape == (9,)
    assert out.memory is None
    assert float(torch.softmax(out.logits[:, :4], dim=1).max()) < 0.3  # nearly uniform at the start


def test_equal_seeds_give_equal_networks_independent_of_torchs_generator() -> None:
    torch.manual_seed(1)
    a = PolicyNetwork(SMALL, SPEC, seed=3).state_dict()
    torch.manual_seed(2)
    b = PolicyNetwork(SMALL, SPEC, seed=3).state_dict()
    c = PolicyNetwork(SMALL, SPEC, seed=4).state_dict()
    assert all(torch.equal(a[n], b[n]) for n in a)
    assert not all(torch.equal(a[n], c[n]) for n in a)


@pytest.mark.parametrize("memory", ["none", "recall", "gru", "lstm"])
def test_a_sequence_equals_its_single_steps(memory: str) -> None:
    """With resets in the middle and rows that do not act: memory is carried, reset and skipped alike."""
    network = PolicyNetwork(msgspec.structs.replace(SMALL, memory=memory), SPEC, seed=1)
    slab = random_slab(SPEC, 12, 10, seed=2, idle=0.3, end=0.2)
    assert slab.is_first[1:].any()
    act(network, slab, seed=5)
    start = torch.from_numpy(slab.memory[0]) if slab.memory else None
    with torch.no_grad():
        out = network.sequence(
            {n: torch.from_numpy(x) for n, x in slab.obs.items()},
            start,
            torch.from_numpy(slab.is_first) != 0,
            torch.from_numpy(slab.active) != 0,
        )
    active = slab.active != 0
    values = network.denormalise(out.value).numpy()
    np.testing.assert_allclose(values[active], slab.value[active], atol=1e-5)


@pytest.mark.parametrize("memory", ["recall", "gru", "lstm"])
def test_memory_matters_and_a_first_decision_resets_it(memory: str) -> None:
    network = PolicyNetwork(msgspec.structs.replace(SMALL, memory=memory), SPEC, seed=1)
    obs = {n: x[0] for n, x in observations(1, 6).items()}
    shape = network.memory_shape
    assert shape is not None
    old = torch.randn((6, *shape), generator=torch.Generator().manual_seed(1))
    zero = network.initial_memory(6)
    assert zero is not None
    no, yes = torch.zeros(6, dtype=torch.bool), torch.ones(6, dtype=torch.bool)
    fresh = network.step(obs, zero, no)
    assert torch.equal(network.step(obs, old, yes).value, fresh.value)
    assert not torch.allclose(network.step(obs, old, no).value, fresh.value)


def test_a_policy_with_memory_requires_memory() -> None:
    network = PolicyNetwork(msgspec.structs.replace(SMALL, memory="gru"), SPEC)
    with pytest.raises(ValueError, match="needs memory and first"):
        network.step({n: x[0] for n, x in observations(1, 2).items()})


def test_absent_entity_rows_change_nothing_and_order_does_not_matter() -> None:
    spec = make_spec((tensor("units", "u8", (6, 8), scale=0.01),), (3,))
    network = PolicyNetwork(msgspec.structs.replace(SMALL, inputs=("units",)), spec, seed=1)
    units = torch.from_numpy(np.random.default_rng(1).integers(1, 200, (4, 6, 8)).astype(np.uint8))
    units[:, 3:] = 0
    units[2] = 0  # an absent entity
    with torch.no_grad():
        plain = network.step({"units": units}).logits
        mixed = network.step({"units": units[:, [5, 1, 3, 0, 4, 2]]}).logits
        single = network.step({"units": units[:1]}).logits
    assert bool(torch.isfinite(plain).all())
    torch.testing.assert_close(plain, mixed, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(plain[:1], single, atol=1e-6, rtol=1e-5)
    assert not torch.allclose(plain[0], plain[1], atol=1e-6)


def test_entity_rows_give_the_same_numbers_in_acting_and_in_learning() -> None:
    """Without gradients another kernel takes the maximum."""
    rows = Rows(SMALL, 3)
    owner = torch.tensor([0, 0, 0, 2, 2, 5])
    features = torch.randn(6, 3, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        acting = rows(owner, features, 7)
    assert torch.equal(acting, rows(owner, features, 7))
    each = rows.each(features)
    assert torch.equal(acting[0, 16:], each[:3].amax(dim=0))
    assert float(acting[[1, 3, 4, 6]].abs().max()) == 0.0


@pytest.mark.parametrize("norm", ["layer", "batch"])
@pytest.mark.parametrize("convolution", ["plain", "residual"])
def test_an_acting_network_equals_the_learning_one_bit_for_bit(convolution: str, norm: str) -> None:
    """At lag 0 the ratio of their probabilities is 1: what acts must round as what learns does."""
    changes = {"convolution": convolution, "norm": norm}
    config = msgspec.convert({**msgspec.to_builtins(SMALL), **changes}, PolicyConfig)
    learning = PolicyNetwork(config, SPEC, seed=1, precision="bfloat16")
    for each in batch_norms(learning):
        each.mean.add_(0.3)
        each.variance.mul_(0.4)
    acting = PolicyNetwork(config, SPEC, seed=2, precision="bfloat16").for_acting()
    assert any(p.dtype == torch.bfloat16 for p in acting.parameters())
    for name, value in acting.state_dict().items():
        value.copy_(learning.state_dict()[name])
    obs = {n: x[0] for n, x in observations(1, 64).items()}
    acted, (distribution, value) = acting.step(obs), learning.flat(obs)
    assert isinstance(distribution, Independent)
    assert torch.equal(acted.logits, distribution.logits)
    assert torch.equal(acted.value, learning.denormalise(value))


def test_pictures_are_scaled_by_the_weights_that_read_them() -> None:
    """Bytes with a scale give what the same numbers give scaled before."""
    network = PolicyNetwork(SMALL, SPEC, seed=1)
    obs = {n: x[0] for n, x in observations(1, 16).items()}
    planes = network.planes["planes"]
    scaled = planes(obs["planes"].float() * 0.01)
    assert torch.allclose(planes(obs["planes"].float(), 0.01), scaled, atol=1e-6)
    assert not torch.allclose(planes(obs["planes"].float()), scaled)


def test_inputs_are_chosen_by_name() -> None:
    network = PolicyNetwork(msgspec.structs.replace(SMALL, inputs=("numbers",)), SPEC)
    assert [t.name for t in network.inputs] == ["numbers"]
    with pytest.raises(ValueError, match=r"'sounds'.*numbers, planes, units"):
        PolicyNetwork(msgspec.structs.replace(SMALL, inputs=("sounds",)), SPEC)


def test_strides_match_channels() -> None:
    with pytest.raises(ValueError, match=r"channels has 2 entries and policy\.strides 1"):
        PolicyNetwork(msgspec.structs.replace(SMALL, strides=(2,)), SPEC)


def test_observation_statistics_equal_those_of_all_data() -> None:
    normaliser = ObservationNormaliser(3)
    data = torch.from_numpy(np.random.default_rng(1).normal([5.0, -100.0, 0.0], [2.0, 30.0, 0.1], (1000, 3)))
    for part in (data[:10], data[10:11], data[11:400], data[400:400], data[400:]):
        normaliser.absorb(part.float())
    torch.testing.assert_close(normaliser.mean.double(), data.mean(dim=0), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(
        normaliser.variance.double(), data.var(dim=0, unbiased=False), rtol=1e-3, atol=1e-5
    )
    out = normaliser(data.float())
    torch.testing.assert_close(out.mean(dim=0), torch.zeros(3), atol=5e-2, rtol=0)
    assert float(normaliser(torch.full((1, 3), 1e6)).max()) == normaliser.limit


def test_value_statistics_move_without_moving_predictions() -> None:
    values, head = ValueNormaliser(), nn.Linear(4, 1)
    x = torch.randn(50, 4, generator=torch.Generator().manual_seed(1))
    returns = torch.from_numpy(np.random.default_rng(2).normal(30.0, 7.0, 400)).float()
    values.absorb(returns[:100], head)
    for start in (100, 200, 300):
        before = values.denormalise(head(x))
        values.absorb(returns[start : start + 100], head)
        torch.testing.assert_close(values.denormalise(head(x)), before, atol=1e-3, rtol=1e-4)
    mean, deviation = values.moments()
    assert mean == pytest.approx(30.0, abs=1.0)
    assert deviation == pytest.approx(7.0, abs=1.0)
    torch.testing.assert_close(values.denormalise(values.normalise(returns)), returns, atol=1e-4, rtol=1e-5)

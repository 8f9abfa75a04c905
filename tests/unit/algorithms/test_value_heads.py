"""Several value heads: returns under each discount, one advantage, predictions, refusals."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
import torch
from torch import nn

from ludus.algorithms.actor_critic.returns import (
    blank_values,
    returns_of_heads,
    transitions_of_heads,
)
from ludus.algorithms.appo import OBJECTIVE
from ludus.algorithms.config import AppoConfig
from ludus.algorithms.loss import value_loss
from ludus.algorithms.returns import explained_variance
from ludus.flow import Slab
from ludus.policies.config import EncoderConfig
from ludus.policies.layers.normaliser import HeadsNormaliser, ValueNormaliser
from ludus.policies.network import PolicyNetwork
from ludus.presets.file import PresetError, parse_preset
from tests.unit.synthetic import act, appo_learner, make_spec, random_slab, tensor

SPEC = make_spec((tensor("numbers", "f32", (3,)),), (3,))
ONE = EncoderConfig(dense=(16,), hidden=(16,), norm="none", normalise_observations=False)
TWO = msgspec.structs.replace(ONE, value_heads=2)


def test_each_head_has_the_returns_of_its_discount_and_advantages_are_summed() -> None:
    slab = random_slab(SPEC, 9, 12, 1, idle=0.3)
    value = np.random.default_rng(1).normal(size=(10, 12, 2)).astype(np.float32)
    config = AppoConfig(value_discounts=(0.9, 0.5), value_weights=(2.0, 0.25))
    active = slab.active != 0
    rewards = [slab.reward, slab.reward * np.float32(3.0)]
    moves_of_both = transitions_of_heads(slab, rewards, None, value, active)
    both = returns_of_heads(OBJECTIVE, config, moves_of_both, value, None)
    single = []
    for k, discount in enumerate((0.9, 0.5)):
        own = np.ascontiguousarray(value[..., k])
        moves = transitions_of_heads(slab, rewards[k : k + 1], None, own, active)
        single.append(returns_of_heads(OBJECTIVE, AppoConfig(discount=discount), moves, own, None))
        np.testing.assert_array_equal(both.target[..., k], single[k].target)
    weighted = 2 * single[0].advantage + 0.25 * single[1].advantage
    np.testing.assert_allclose(both.advantage, weighted, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(both.valid, single[0].valid)
    even = returns_of_heads(
        OBJECTIVE, msgspec.structs.replace(config, value_weights=()), moves_of_both, value, None
    )
    mean = (single[0].advantage + single[1].advantage) / 2
    np.testing.assert_allclose(even.advantage, mean, rtol=1e-5, atol=1e-6)


def test_a_single_head_takes_its_discount_from_either_setting() -> None:
    states = []
    for config in (AppoConfig(discount=0.7), AppoConfig(value_discounts=(0.7,))):
        learner = appo_learner(config, ONE, SPEC, seed=1)
        slab = random_slab(SPEC, 9, 12, 1)
        act(learner.network, slab, 1)
        learner.update(slab)
        states.append(learner.state()[0])
    assert all(np.array_equal(a, states[1][n]) for n, a in states[0].items())


def two_steps(seed: int) -> Slab:
    """Matches of two different observations; the second decision wins."""
    slab = Slab(SPEC, 8, 32)
    second = (np.arange(9)[:, None] + np.arange(32)[None, :]) % 2
    slab.obs["numbers"][:] = 0.0
    slab.obs["numbers"][..., 0] = second
    slab.mask[:] = slab.active[:] = 1
    slab.is_first[:] = second == 0
    slab.terminated[:] = slab.reward[:] = second[:-1]
    return slab


def test_heads_learn_the_value_under_their_own_discount() -> None:
    config = AppoConfig(value_discounts=(0.9, 0.4), learning_rate=0.01, epochs=4, gae_lambda=0.5)
    learner = appo_learner(config, TWO, SPEC, seed=1)
    for seed in range(25):
        slab = two_steps(seed)
        act(learner.network, slab, seed, learner.version)
        assert not slab.value.any()
        stats = learner.update(slab)
    _, value = learner.network.flat({"numbers": torch.tensor([[0.0, 0, 0], [1.0, 0, 0]])})
    predicted = learner.network.denormalise(value.detach()).numpy()
    np.testing.assert_allclose(predicted, [[0.9, 0.4], [1.0, 1.0]], atol=0.1)
    assert stats.numbers["value/explained_variance"] > 0.8


@pytest.mark.parametrize("memory", ["recall", "lstm"])
@pytest.mark.parametrize("workers", [1, 2])
def test_heads_with_memory_continue_bit_equal(memory: str, workers: int) -> None:
    policy = msgspec.convert(msgspec.to_builtins(TWO) | {"memory": memory, "memory_size": 8}, EncoderConfig)
    config = AppoConfig(value_discounts=(0.9, 0.4), micro_batch=32, minibatches=2)
    one, other = (appo_learner(config, policy, SPEC, seed=s, workers=workers) for s in (1, 2))
    for seed in range(4):
        slab = random_slab(SPEC, 6, 16, seed, idle=0.2)
        act(one.network, slab, seed, one.version - seed % 2)
        if seed == 2:
            arrays, counters = one.state()
            other.load_state({n: a.copy() for n, a in arrays.items()}, counters)
        if seed >= 2:
            other.update(slab)
        one.update(slab)
    state = other.state()[0]
    assert all(np.array_equal(a, state[n]) for n, a in one.state()[0].items())


def test_statistics_of_heads_are_those_of_single_ones() -> None:
    generator = torch.Generator().manual_seed(1)
    several, head = HeadsNormaliser(2), nn.Linear(4, 2)
    singles = [(ValueNormaliser(), nn.Linear(4, 1)) for _ in range(2)]
    x = torch.randn(5, 4, generator=generator)
    for step in range(3):
        returns = torch.randn(40, 2, generator=generator) * torch.tensor([1.0, 9.0]) + step
        before = several.denormalise(head(x)).detach()
        several.absorb(returns, head)
        if step:
            torch.testing.assert_close(several.denormalise(head(x)), before, atol=1e-4, rtol=1e-4)
        for k, (single, _) in enumerate(singles):
            single.absorb(returns[:, k], nn.Linear(4, 1))
            mean, deviation = (float(m[k]) for m in several.moment_tensors())
            assert (mean, deviation) == pytest.approx(single.moments())
    torch.testing.assert_close(several.denormalise(several.normalise(returns)), returns, atol=1e-4, rtol=1e-4)


def test_the_value_loss_is_the_mean_over_heads() -> None:
    value, target = torch.tensor([[1.0, 3.0], [0.0, 0.0]]), torch.zeros(2, 2)
    assert float(value_loss(value, target)) == 0.5 * (1.0 + 9.0) / 2
    targets = np.array([[0.0, 0.0], [1.0, 2.0]], np.float32)
    assert explained_variance(targets, targets * np.array([1.0, 0.0], np.float32)) == pytest.approx(0.5)


def test_values_of_acting_are_kept_for_one_head_alone() -> None:
    slab = random_slab(SPEC, 3, 4, 1)
    slab.value[:] = 7.0
    assert (blank_values(slab, 1) == 7.0).all()
    assert blank_values(slab, 3).shape == (4, 4, 3)
    assert not PolicyNetwork(TWO, SPEC, 1).step({"numbers": torch.ones(2, 3)}).value.any()


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (
            "value_discounts = [0.9, 0.5, 0.1]",
            "value_discounts has 3 values: expected 2, one for each of policy.value_heads",
        ),
        (
            "value_weights = [1.0]",
            "value_weights has 1 values: expected 2, one for each of policy.value_heads",
        ),
        ("value_weights = [0.0, 0.0]", "value_weights are all 0: expected one above 0"),
        ("upgo_coefficient = 1.0", "upgo_coefficient = 1 with policy.value_heads = 2: expected 0"),
    ],
)
def test_settings_that_do_not_fit_the_heads_are_refused(settings: str, line: str) -> None:
    text = f"[game]\nname = 'tic_tac_toe'\n[policy]\nvalue_heads = 2\n[algorithm]\n{settings}\n"
    with pytest.raises(PresetError) as error:
        parse_preset(text.encode(), "mine.toml")
    assert error.value.lines == (f"mine.toml: algorithm.{line}",)


def test_other_methods_have_one_head() -> None:
    text = "[game]\nname = 'tic_tac_toe'\n[policy]\nvalue_heads = 2\n[algorithm]\nname = 'dqn'\n"
    with pytest.raises(PresetError) as error:
        parse_preset(text.encode(), "mine.toml")
    line = 'mine.toml: policy.value_heads = 2: algorithm.name = "dqn" trains one; expected 1'
    assert line in error.value.lines

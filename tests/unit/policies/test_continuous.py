"""Continuous heads: sampling, densities, entropies, divergences, whole updates."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ludus.algorithms.config import AppoConfig
from ludus.flow import GameSpec, HeadSpec, Slab
from ludus.games.adapters.spaces import continuous as given_to_the_game
from ludus.games.python_game import declare, tensor
from ludus.policies.actions.continuous import MixedHeads, from_bits, squashed_entropy, to_bits
from ludus.policies.actions.distribution import uniforms
from ludus.policies.actions.heads import heads_of
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from ludus.rollouts.actor import ActInput
from ludus.rollouts.network_actor import NetworkActor, RandomActor
from tests.unit.synthetic import appo_learner

HEADS = (
    HeadSpec("push", 2, kind="continuous", low=-2.0, high=2.0),
    HeadSpec("gear", 3),
    HeadSpec("free", 2, kind="continuous"),
)


def spec() -> GameSpec:
    return declare("car", observation=[tensor("speed", (3,))], heads=HEADS)


def mixed() -> MixedHeads:
    heads = heads_of(spec())
    assert isinstance(heads, MixedHeads)
    return heads


def some_logits(rows: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(rows, 7, generator=generator) * 0.7


def test_bits_survive_a_round_trip() -> None:
    u = torch.tensor([0.0, -0.0, 1.5, -3.25e-12, 7e8])
    assert torch.equal(from_bits(to_bits(u)), u)
    assert to_bits(u).numpy().astype(np.int32).view(np.float32).tolist() == u.tolist()


def test_samples_have_the_stated_distribution() -> None:
    heads, rows = mixed(), 40_000
    logits = some_logits(1).expand(rows, 7)
    stated = heads.log_probs(logits, torch.ones(rows, 7, dtype=torch.uint8))
    draws = torch.from_numpy(uniforms(1, 2, np.arange(rows), 3))
    actions = heads.sample(stated, draws)
    for k, column in ((0, 0), (2, 5)):
        u = from_bits(actions[:, k])
        mean, deviation = float(stated[0, column]), float(stated[0, column + 1].exp())
        assert float(u.mean()) == pytest.approx(mean, abs=5 * deviation / rows**0.5)
        assert float(u.std()) == pytest.approx(deviation, rel=0.03)
    assert set(actions[:, 1].tolist()) == {0, 1, 2}
    assert torch.isfinite(
        from_bits(heads.sample(stated[:2], torch.tensor([[0.0] * 3, [1 - 2.0**-24] * 3]))[:, 0])
    ).all()


def test_densities_entropies_and_divergences_equal_torchs() -> None:
    heads = mixed()
    mask = torch.ones(5, 7, dtype=torch.uint8)
    p, q = heads.log_probs(some_logits(5), mask), heads.log_probs(some_logits(5).flip(0), mask)
    actions = heads.sample(p, torch.from_numpy(uniforms(1, 2, np.arange(5), 3)))
    expected = torch.zeros(5)
    divergence = torch.zeros(5)
    for k, column in ((0, 0), (2, 5)):
        here = torch.distributions.Normal(p[:, column], p[:, column + 1].exp())
        there = torch.distributions.Normal(q[:, column], q[:, column + 1].exp())
        expected += here.log_prob(from_bits(actions[:, k]))  # type: ignore[no-untyped-call]
        divergence += torch.distributions.kl_divergence(here, there)
    expected += p[:, 2:5].gather(1, actions[:, 1:2]).squeeze(1)
    divergence += (p[:, 2:5].exp() * (p[:, 2:5] - q[:, 2:5])).sum(1)
    assert heads.log_prob_of(p, actions) == pytest.approx(expected, rel=1e-5)
    assert heads.kl(p, q) == pytest.approx(divergence, rel=1e-4, abs=1e-6)
    assert heads.kl(p, p) == pytest.approx(torch.zeros(5), abs=1e-6)
    assert from_bits(heads.greedy(p)[:, 0]).tolist() == p[:, 0].tolist()


@pytest.mark.parametrize(("mean", "log_deviation"), [(0.0, 0.0), (0.7, -1.5), (-1.2, 0.4)])
def test_entropy_of_a_squashed_number(mean: float, log_deviation: float) -> None:
    u = torch.linspace(-12, 12, 400_001, dtype=torch.float64)
    normal = torch.distributions.Normal(
        torch.tensor(mean).double(), torch.tensor(log_deviation).double().exp()
    )
    density = normal.log_prob(u).exp()  # type: ignore[no-untyped-call]
    slope = torch.log1p(-torch.tanh(u).square().clamp(max=1 - 1e-15))
    exact = float(normal.entropy() + torch.trapezoid(density * slope, u))  # type: ignore[no-untyped-call]
    got = squashed_entropy(torch.tensor([mean]), torch.tensor([log_deviation]), bounded=True)
    assert float(got) == pytest.approx(exact, abs=0.02)


def test_the_game_receives_numbers_within_its_bounds() -> None:
    u = np.array([[-50.0, 0.0], [0.0, 3.5], [0.3, -1.0]], np.float32)
    got = given_to_the_game(u.view(np.int32), [HEADS[0], HEADS[2]])
    assert got[:, 1].tolist() == [0.0, 3.5, -1.0]
    assert got[:, 0] == pytest.approx([-2.0, 0.0, 2 * np.tanh(0.3)])


def test_acting_and_learning_agree_at_lag_zero() -> None:
    """The probability ratio is 1: no policy gradient noise before the first step, KL 0."""
    config = AppoConfig(epochs=1, minibatches=1, learning_rate=1e-9, max_grad_norm=0.0)
    learner = appo_learner(config, EncoderConfig(dense=(), hidden=(16,)), spec(), seed=3)
    network = PolicyNetwork(learner.network.config, spec(), 3)
    learner.copy_to(network)
    actor, slab = NetworkActor(network, 5), Slab(spec(), 4, 8)
    rng = np.random.default_rng(0)
    slab.obs["speed"][...] = rng.standard_normal((5, 8, 3), np.float32)
    slab.mask[...] = slab.active[...] = 1
    slab.policy[...] = 0
    slab.reward[...] = rng.standard_normal((4, 8), np.float32)
    for t in range(4):
        rows = np.arange(8, dtype=np.int32)
        made = actor.act(
            ActInput({"speed": slab.obs["speed"][t]}, slab.mask[t], None, slab.is_first[t], t, rows)
        )
        slab.actions[t], slab.log_prob[t], slab.value[t] = made.actions, made.log_prob, made.value
    stats = learner.update(slab)
    assert stats.samples == 32
    assert abs(stats.numbers["policy/kl"]) < 1e-6
    assert stats.numbers["policy/clip_fraction"] == 0.0


def test_random_numbers_are_uniform_between_the_bounds() -> None:
    mixed = (True, False, True)
    actor = RandomActor(MixedHeads((2, 3, 2), ((), (), ()), mixed, mixed), 1)
    rows = np.arange(20_000, dtype=np.int32)
    made = actor.act(ActInput({}, np.ones((20_000, 7), np.uint8), None, np.zeros(20_000), 0, rows))
    got = given_to_the_game(np.ascontiguousarray(made.actions[:, :1]), [HEADS[0]])[:, 0]
    assert np.histogram(got, 8, (-2, 2))[0] == pytest.approx([2500] * 8, rel=0.1)
    assert set(made.actions[:, 1].tolist()) == {0, 1, 2}

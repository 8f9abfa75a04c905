"""Networks and random choices as actors."""

from __future__ import annotations

import numpy as np

from ludus.games import spec
from ludus.policies.actions.continuous import MixedHeads
from ludus.policies.actions.distribution import Heads
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from ludus.rollouts.actor import ActInput
from ludus.rollouts.network_actor import NetworkActor, RandomActor

GAME = spec("tic_tac_toe")


def batch(rows: int) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    obs = {
        t.name: rng.integers(0, 2, (rows, *t.packed_shape)).astype(t.packed_dtype) for t in GAME.observation
    }
    mask = rng.integers(0, 2, (rows, GAME.mask_size)).astype(np.uint8)
    mask[:, 4] = 1
    return obs, mask, np.zeros(rows, np.uint8)


def test_choices_do_not_depend_on_the_batch() -> None:
    actor = NetworkActor(PolicyNetwork(EncoderConfig(dense=(8,), hidden=(8,)), GAME, 1), seed=9)
    obs, mask, first = batch(64)
    rows = np.arange(64, dtype=np.int32)
    whole = actor.act(ActInput(obs, mask, None, first, 5, rows))
    assert (mask[np.arange(64), whole.actions[:, 0]] == 1).all()
    some = np.array([3, 17, 40], np.int32)
    part = actor.act(ActInput({n: a[some] for n, a in obs.items()}, mask[some], None, first[some], 5, some))
    assert np.array_equal(part.actions, whole.actions[some])
    later = actor.act(ActInput(obs, mask, None, first, 6, rows))
    assert not np.array_equal(later.actions, whole.actions)
    assert np.allclose(actor.value(obs, None, first), whole.value)


def test_greedy_takes_the_likeliest() -> None:
    network = PolicyNetwork(EncoderConfig(dense=(8,), hidden=(8,)), GAME, 1)
    obs, mask, first = batch(32)
    rows = np.arange(32, dtype=np.int32)
    greedy = NetworkActor(network, 1, greedy=True).act(ActInput(obs, mask, None, first, 0, rows))
    again = NetworkActor(network, 2, greedy=True).act(ActInput(obs, mask, None, first, 7, rows))
    assert np.array_equal(greedy.actions, again.actions)
    drawn = NetworkActor(network, 1).act(ActInput(obs, mask, None, first, 0, rows))
    assert (greedy.log_prob >= drawn.log_prob - 1e-6).all()


def test_random_is_uniform_over_what_is_legal() -> None:
    mask = np.tile(np.array([1, 0, 1, 0, 0, 1, 0, 0, 1], np.uint8), (20_000, 1))
    rows = np.arange(20_000, dtype=np.int32)
    actor = RandomActor(Heads((9,)), seed=3)
    drawn = actor.act(ActInput({}, mask, None, np.zeros(20_000, np.uint8), 0, rows))
    counts = np.bincount(drawn.actions[:, 0], minlength=9)
    assert set(np.flatnonzero(counts)) == {0, 2, 5, 8}
    assert np.abs(counts[[0, 2, 5, 8]] - 5000).max() < 300
    assert np.allclose(drawn.log_prob, -np.log(4))


def test_random_choices_have_the_probability_of_what_is_legal() -> None:
    """1 / n of each head's n legal choices; a bounded number has none; a head with one choice is sure."""
    actor = RandomActor(MixedHeads((2, 3, 2), ((), (), ()), (True, False, False), (True, False, False)), 3)
    mask = np.array([[1, 1, 1, 0, 0, 1, 0], [1, 1, 0, 1, 1, 1, 1], [1, 1, 0, 0, 0, 0, 1]], np.uint8)
    mask = np.tile(mask, (200, 1))
    rows = np.arange(600, dtype=np.int32)
    drawn = actor.act(ActInput({}, mask, None, np.zeros(600, np.uint8), 0, rows))
    assert np.allclose(drawn.log_prob.reshape(200, 3), [0.0, -np.log(4), 0.0], atol=1e-6)
    chosen = drawn.actions.reshape(200, 3, 3)
    assert set(chosen[:, 0, 1].tolist()) == {0}
    assert set(chosen[:, 1, 1].tolist()) == {1, 2}
    assert set(chosen[:, 1, 2].tolist()) == {0, 1}
    assert set(chosen[:, 2, 2].tolist()) == {1}

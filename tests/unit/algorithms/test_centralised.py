"""Centralised critics: whose observations they see, what they predict, what acting leaves to the learner."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
import pytest
import torch

from ludus.algorithms.config import AppoConfig
from ludus.algorithms.returns import transitions
from ludus.algorithms.updates.forward import forward_steps
from ludus.algorithms.updates.samples import Samples, latest_observations, other_seats, rows_of_seats
from ludus.flow import Controller, GameSpec, Lineup, PoolOptions, SeatPlan, Slab
from ludus.games import spec as game_spec
from ludus.policies.config import EncoderConfig
from ludus.policies.critic import Others, seen_seats
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import logits_of
from ludus.pool.factory import make_pool
from ludus.presets.checks.game import check_game
from ludus.presets.file import PresetError, parse_preset
from tests.unit.synthetic import act, appo_learner, make_spec, random_slab, tensor

Sees = Literal["own", "team", "all"]
TWO = msgspec.structs.replace(make_spec((tensor("card", "f32", (3,)),), (3,)), seats=2)
FOUR = msgspec.structs.replace(TWO, seats=4, teams=(0, 1, 0, 1))
OWN = EncoderConfig(dense=(32,), hidden=(32,), critic="own", norm="none", normalise_observations=False)


def seeing(sees: Sees) -> EncoderConfig:
    return msgspec.structs.replace(OWN, critic_sees=sees)


def seated(slab: Slab, seats: int) -> Slab:
    """Rows as a pool has them: all seats of a slot in turn."""
    slab.row_slot = np.arange(slab.rows, dtype=np.int32) // seats
    slab.row_seat = np.arange(slab.rows, dtype=np.int32) % seats
    return slab


def together(slab: Slab, seats: int) -> Slab:
    """Matches end for all seats at once."""
    for name in ("terminated", "truncated"):
        array = getattr(slab, name)
        array[:] = np.repeat(array[:, ::seats], seats, axis=1)
    return slab


def test_a_critic_sees_the_seats_of_its_setting() -> None:
    assert seen_seats(seeing("own"), FOUR, 1) == []
    assert seen_seats(seeing("all"), FOUR, 1) == [2, 3, 0]
    assert seen_seats(seeing("team"), FOUR, 1) == [3]
    slab = seated(Slab(FOUR, 2, 12), 4)
    assert rows_of_seats(slab, seeing("all"), FOUR)[[0, 5]].tolist() == [[1, 2, 3], [6, 7, 4]]
    assert rows_of_seats(slab, seeing("team"), FOUR)[[0, 5, 11]].tolist() == [[2], [7], [9]]
    some = Slab(FOUR, 2, 3)  # of slot 1 two seats have rows
    some.row_slot, some.row_seat = np.array([0, 1, 1], np.int32), np.array([2, 0, 3], np.int32)
    assert rows_of_seats(some, seeing("all"), FOUR).tolist() == [[-1, -1, -1], [-1, -1, 2], [1, -1, -1]]


def test_the_latest_observation_is_that_of_the_current_match() -> None:
    """Against a loop: rows that idle, matches that end, rows that have not acted."""
    slab = together(seated(random_slab(TWO, 12, 16, 3, idle=0.5, end=0.15), 2), 2)
    got = latest_observations(slab)
    ended = (slab.terminated | slab.truncated) != 0
    absent = 0
    for row in range(16):
        slot = [row - row % 2, row - row % 2 + 1]
        for t in range(13):
            start = max((u + 1 for u in range(t) if ended[u, slot].any()), default=0)
            acted = [u for u in range(start, t + 1) if slab.active[u, row]]
            assert got[t, row] == (acted[-1] if acted else -1)
            absent += not acted
    assert absent > 10


def test_the_other_seats_observations_reach_the_critic_and_not_the_policy() -> None:
    network = PolicyNetwork(seeing("all"), TWO, seed=1)
    slab = together(seated(random_slab(TWO, 6, 8, 1, idle=0.4, end=0.2), 2), 2)
    samples = Samples(slab, network)
    index = np.flatnonzero(samples.learner_mask)
    others = samples.others(index)
    assert others is not None
    where = other_seats(slab, network).reshape(-1, 1)[index]
    assert 0 < len(others.place) < len(index)  # some are absent
    flat = slab.obs["card"].reshape(-1, 3)
    np.testing.assert_array_equal(others.obs["card"].numpy(), flat[where[others.place.numpy(), 0]])
    own = forward_steps(network, samples, index)
    changed = others._replace(obs={"card": others.obs["card"] + 1.0})
    distribution, value = network.flat(samples.observations(index), None, changed)
    moved = (value - own.value).abs().detach().numpy()
    present = where[:, 0] >= 0
    assert (moved[present] > 1e-4).all()
    assert (moved[~present] == 0.0).all()
    assert torch.equal(logits_of(distribution), logits_of(own.distribution))


def test_an_absent_seat_is_zero() -> None:
    network = PolicyNetwork(seeing("all"), FOUR, seed=1)
    assert network.critic is not None
    assert network.critic.together is not None
    obs = {"card": torch.randn(2, 3)}
    nobody = Others({"card": torch.zeros(0, 3)}, torch.zeros(0, dtype=torch.int64))
    _, value = network.flat(obs, None, nobody)
    own = network.critic.features(obs, obs["card"])[0]
    expected = network.critic.together(torch.cat([own, torch.zeros(2, 3 * own.shape[1])], dim=1))
    torch.testing.assert_close(value, network.value_head(expected).squeeze(1))


def test_acting_writes_no_values_and_asks_no_critic(monkeypatch: pytest.MonkeyPatch) -> None:
    network = PolicyNetwork(seeing("all"), TWO, seed=1)
    assert network.critic is not None
    assert network.values is not None
    network.values.mean.fill_(5.0)
    monkeypatch.setattr(network.critic, "features", None)
    out = network.step({"card": torch.randn(4, 3)})
    assert float(out.value.abs().max()) == 0.0
    with pytest.raises(ValueError, match="needs the observations of other seats"):
        network.flat({"card": torch.randn(4, 3)})


def hidden(seed: int, steps: int = 8, slots: int = 128) -> Slab:
    """Each seat is dealt +1 or -1; a match is one decision, won where the two are equal."""
    rng = np.random.default_rng(seed)
    slab = seated(Slab(TWO, steps, 2 * slots), 2)
    cards = rng.choice([-1.0, 1.0], (steps + 1, 2 * slots)).astype(np.float32)
    slab.obs["card"][:] = 0.0
    slab.obs["card"][..., 0] = cards
    slab.mask[:] = slab.active[:] = slab.is_first[:] = 1
    slab.terminated[:] = 1
    pair = (cards[:-1, ::2] * cards[:-1, 1::2]).repeat(2, axis=1)
    slab.reward[:] = pair
    return slab


def test_a_centralised_critic_predicts_what_an_own_critic_cannot() -> None:
    explained = {}
    for sees in ("own", "all"):
        config = AppoConfig(learning_rate=0.01, epochs=4, minibatches=4)
        learner = appo_learner(config, seeing(sees), TWO, seed=1)
        for seed in range(12):
            slab = hidden(seed)
            act(learner.network, slab, seed, learner.version)
            stats = learner.update(slab)
        explained[sees] = stats.numbers["value/explained_variance"]
    assert explained["own"] < 0.1
    assert explained["all"] > 0.9


@pytest.mark.parametrize("lag", [0, 1])
@pytest.mark.parametrize("workers", [1, 2])
def test_ratio_is_one_and_values_are_evaluated(lag: int, workers: int) -> None:
    """At lag 0 too: no ratio is clipped, and values and advantages come from the critic."""
    config = AppoConfig(micro_batch=32, minibatches=1, normalise_advantages=False)
    learner = appo_learner(config, seeing("all"), TWO, seed=1, workers=workers)
    for seed in range(2):
        slab = together(seated(random_slab(TWO, 8, 16, seed, idle=0.3), 2), 2)
        act(learner.network, slab, seed, learner.version - lag)
        assert not slab.value.any()
        stats = learner.update(slab)
        if seed == 0:
            assert stats.numbers["policy/clip_fraction"] == 0.0
            assert abs(stats.numbers["policy/kl"]) < 1e-6


def test_a_cut_off_match_is_bootstrapped_by_its_last_decision() -> None:
    reward = np.ones((4, 1), np.float32)
    cut, none = np.zeros((4, 1), bool), np.zeros((4, 1), bool)
    cut[2] = True
    value = np.array([[1.0], [2.0], [3.0], [4.0], [5.0]], np.float32)
    active = np.ones((5, 1), bool)
    moves = transitions(reward, none, cut, None, value, active)
    assert moves.valid[:, 0].tolist() == [True, True, False, True]
    assert moves.bootstrap[:2, 0].tolist() == [2.0, 3.0]
    assert moves.next_index[:, 0].tolist() == [1, 2, -1, -1]
    ended = transitions(reward, cut, none, None, value, active)
    assert ended.valid.all()
    assert ended.bootstrap[2, 0] == 0.0


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker"])
def test_a_pools_rows_know_their_slot_and_seat(game: str) -> None:
    spec = game_spec(game)
    lineup = Lineup((SeatPlan((Controller(policy=0),)),) * 2)
    pool = make_pool(game, {}, lineup, PoolOptions(slots=6, groups=2, threads=0, seed=1, on_error="truncate"))
    slab = pool.slab(3)
    assert slab.row_slot.tolist() == np.arange(6).repeat(2).tolist()
    assert slab.row_seat.tolist() == [0, 1] * 6
    assert spec.seats == 2


PRESET = """[game]
name = "{game}"
[policy]
critic = "{critic}"
critic_sees = "{sees}"
memory = "{memory}"
"""


@pytest.mark.parametrize(
    ("game", "critic", "sees", "memory", "line"),
    [
        (
            "tic_tac_toe",
            "shared",
            "all",
            "none",
            'policy.critic_sees = "all": the policy sees its own seat; expected policy.critic = "own"',
        ),
        (
            "tic_tac_toe",
            "own",
            "all",
            "recall",
            'policy.critic_sees = "all": recall covers no other seats; expected policy.memory = "none"',
        ),
        (
            "tic_tac_toe",
            "own",
            "team",
            "none",
            'policy.critic_sees = "team": tic_tac_toe has no teams; expected "own" or "all"',
        ),
        (
            "tower_defense",
            "own",
            "all",
            "none",
            'policy.critic_sees = "all": tower_defense has one seat; expected "own"',
        ),
    ],
)
def test_settings_without_a_centralised_critic_are_refused(
    game: str, critic: str, sees: str, memory: str, line: str
) -> None:
    text = PRESET.format(game=game, critic=critic, sees=sees, memory=memory)
    with pytest.raises(PresetError) as error:
        check_game(parse_preset(text.encode(), "mine.toml"))
    assert error.value.lines == (f"mine.toml: {line}",)


@pytest.mark.parametrize("spec", [msgspec.structs.replace(TWO, seats=1), TWO], ids=["one seat", "no teams"])
def test_networks_without_such_seats_are_refused(spec: GameSpec) -> None:
    with pytest.raises(ValueError, match="no such other seats"):
        PolicyNetwork(seeing("team"), spec)

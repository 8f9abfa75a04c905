"""NaN and infinity are refused on their way into a network and on their way out of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pytest
import torch

import ludus
from ludus.evaluation.loaded_policy import LoadedPolicy
from ludus.flow.errors import NotFinite
from ludus.games import spec as game_spec
from ludus.games import typed
from ludus.games.registry import maker
from ludus.mcts.evaluator import LeafBatch
from ludus.mcts.network import NetworkEvaluator
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from ludus.rollouts.actor import ActInput
from ludus.rollouts.lane_actor import LaneActor
from ludus.rollouts.network_actor import NetworkActor
from tests.unit.api.finite_envs import SPACES
from tests.unit.api.test_load_policy import SMALL, weights_of

NAN, INF = float("nan"), float("inf")
GIVEN = typed("gymnasium/tests.unit.api.finite_envs:ludus-tests/Given-v0")


def policy_of(folder: Path, space: str, memory: str = "none") -> LoadedPolicy:
    config = msgspec.structs.replace(SMALL, memory=memory, memory_size=8)
    weights = weights_of(folder, GIVEN, config, space=space)
    return ludus.load_policy(weights, game=GIVEN, params={"space": space}, deterministic=True)


def sample(space: str) -> Any:  # noqa: ANN401
    SPACES[space].seed(1)
    return SPACES[space].sample()


def with_value(space: str, value: float) -> Any:  # noqa: ANN401
    """Return a sample with ``value`` in its last float."""
    seen = sample(space)
    if space == "parts":
        return {**seen, "b": np.array([0.0, value], np.float32)}
    if space == "pair":
        return (seen[0], np.array([0.0, value], np.float32))
    if space == "picture":
        seen = seen.astype(np.float64)
    seen = np.array(seen)
    seen[(-1,) * seen.ndim] = value
    return seen


@pytest.mark.parametrize(
    ("space", "value", "place"),
    [
        ("vector", NAN, r"observation: nan at \[3\] cannot be kept"),
        ("vector", INF, r"observation: inf at \[3\] cannot be kept"),
        ("table", NAN, r"observation: nan at \[2, 1\] cannot be kept"),
        ("table", -INF, r"observation: -inf at \[2, 1\] cannot be kept"),
        ("half", NAN, r"observation: nan at \[2\] cannot be kept"),
        ("picture", NAN, r"observation: nan at \[15, 11, 2\] cannot be kept as uint8"),
        ("parts", NAN, r"observation b: nan at \[1\] cannot be kept"),
        ("pair", INF, r"observation 1: inf at \[1\] cannot be kept"),
    ],
)
def test_a_policy_refuses_what_no_network_can_read(
    space: str, value: float, place: str, tmp_path: Path
) -> None:
    policy = policy_of(tmp_path, space)
    with pytest.raises(ValueError, match=f"^{place}"):
        policy.act(with_value(space, value))
    policy.act(sample(space))


def test_memory_is_as_if_the_broken_observation_had_not_been_there(tmp_path: Path) -> None:
    walk = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)
    clean, hit = policy_of(tmp_path, "vector", "lstm"), policy_of(tmp_path, "vector", "lstm")
    for step in walk:
        assert hit.act(step) == clean.act(step)
        with pytest.raises(ValueError, match="nan at"):
            hit.act(with_value("vector", NAN))
    assert hit._memory is not None
    assert clean._memory is not None
    assert np.array_equal(hit._memory, clean._memory)


def test_a_row_of_a_batch_is_named(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, "vector", "gru")
    batch = np.zeros((3, 4), np.float32)
    policy.act(batch)
    before = np.array(policy._memory)
    batch[1, 2] = NAN
    with pytest.raises(ValueError, match=r"^row 1: observation: nan at \[2\] cannot be kept"):
        policy.act(batch)
    assert np.array_equal(before, np.array(policy._memory))


@pytest.mark.parametrize("value", [NAN, 0.5])
def test_observations_and_masks_of_other_games_hold_what_their_tensors_can(
    value: float, tmp_path: Path
) -> None:
    policy = ludus.load_policy(weights_of(tmp_path, "tic_tac_toe"))
    seen = {t.name: np.zeros(t.shape) for t in policy.spec.observation}
    name = policy.spec.observation[0].name
    policy.act(seen)
    broken = {**seen, name: np.full(seen[name].shape, value)}
    with pytest.raises(ValueError, match=rf"observation {name}: {value} at \[0"):
        policy.act(broken)
    mask = np.ones(9)
    mask[4] = value
    with pytest.raises(ValueError, match=rf"mask: {value} at \[4\], expected 0 or 1"):
        policy.act(seen, mask)


def test_a_float_tensor_of_a_game_in_python(tmp_path: Path) -> None:
    game = typed("tests.unit.pool.hosted_games:Walk")
    policy = ludus.load_policy(weights_of(tmp_path, game), game=game)
    seen = {"numbers": np.array([0.0, 1e300, NAN]), "flags": np.zeros(11)}
    with pytest.raises(ValueError, match=r"observation numbers: 1e\+300 at \[1\] cannot be kept as float32"):
        policy.act(seen)
    seen["numbers"] = np.array([0.0, 1.0, NAN])
    with pytest.raises(ValueError, match=r"observation numbers: nan at \[2\] cannot be kept"):
        policy.act(seen)


# ---- outputs ---------------------------------------------------------------------------------------


def diverged(game: str, fill: float, output: Literal["logits", "q"] = "logits") -> PolicyNetwork:
    """Return a network with finite weights so large that its outputs are not."""
    network = PolicyNetwork(EncoderConfig(dense=(8,), hidden=(8,), output=output), game_spec(game), 1)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.fill_(fill)
    return network


def position(network: PolicyNetwork, rows: int = 2) -> ActInput:
    spec = network.spec
    obs = {t.name: np.full((rows, *t.packed_shape), 1, t.packed_dtype) for t in spec.observation}
    mask = np.ones((rows, spec.mask_size), np.uint8)
    return ActInput(obs, mask, None, np.ones(rows, np.uint8), 0, np.arange(rows, dtype=np.int32))


@pytest.mark.parametrize("greedy", [False, True])
@pytest.mark.parametrize("game", ["tic_tac_toe", "gymnasium/Pendulum-v1", GIVEN])
def test_diverged_weights_are_an_error_not_the_first_choice(game: str, greedy: bool) -> None:
    network = diverged(game, 3e38)
    with pytest.raises(NotFinite, match=r"version 7 of the weights gives .* weights have diverged"):
        NetworkActor(network, 1, 7, greedy).act(position(network))


def test_diverged_q_values_are_an_error() -> None:
    network = diverged("tic_tac_toe", 3e38, output="q")
    for greedy in (False, True):
        with pytest.raises(NotFinite, match="version 2 of the weights gives value"):
            NetworkActor(network, 1, 2, greedy).act(position(network))


def test_the_broken_lane_is_named() -> None:
    good = PolicyNetwork(EncoderConfig(dense=(8,), hidden=(8,)), game_spec("tic_tac_toe"), 1)
    lanes = LaneActor({3: NetworkActor(good, 1, 30), 5: NetworkActor(diverged("tic_tac_toe", 3e38), 1, 50)})
    rows = position(good, 6)
    with pytest.raises(NotFinite, match="version 50 of the weights"):
        lanes.act(rows._replace(policies=((3, 3), (5, 3))))
    lanes.act(position(good, 3)._replace(policies=((3, 3),)))


def test_a_broken_observation_is_named_where_no_pool_has_looked() -> None:
    network = PolicyNetwork(EncoderConfig(dense=(8,), hidden=(8,)), maker(GIVEN, {}).spec, 1)
    rows = position(network)
    rows.obs["observation"][1, 2] = NAN
    with pytest.raises(NotFinite, match=r"observation observation: nan at \[1, 2\] cannot be kept"):
        NetworkActor(network, 1).act(rows)


def test_a_search_refuses_diverged_weights() -> None:
    network = diverged("connect_four", 3e38)
    batch = LeafBatch(network.spec, 4)
    with pytest.raises(NotFinite, match="the weights give prior nan at"):
        NetworkEvaluator(network).evaluate(batch, 4)


def test_an_evaluation_of_diverged_weights_fails(tmp_path: Path) -> None:
    weights = weights_of(tmp_path, "tic_tac_toe", spread=1e38)
    with pytest.raises(NotFinite, match="the weights have diverged"):
        ludus.evaluate(weights, "random", game="tic_tac_toe", matches=2)
    policy = ludus.load_policy(weights)
    with pytest.raises(NotFinite, match="the weights have diverged"):
        policy.act({t.name: np.ones(t.shape) for t in policy.spec.observation})

"""The bank keeps so many networks, drops the others, and makes one actor of each architecture."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from ludus.flow import GameSpec, Weights, WeightsMeta
from ludus.games import spec
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from ludus.policies.weights import build_policy
from ludus.rollouts.actor import ActInput
from ludus.rollouts.bank import Bank
from ludus.rollouts.lane_actor import LaneActor
from tests.taped import Taped

GAME = spec("tic_tac_toe")
SMALL, OTHER = EncoderConfig(dense=(8,), hidden=(8,)), EncoderConfig(dense=(8,), hidden=(6,))


def frozen(version: int, config: EncoderConfig = SMALL) -> Weights:
    network = PolicyNetwork(config, GAME, version)
    meta = WeightsMeta(
        version, GAME.spec_hash, network.architecture, msgspec.json.encode(GAME).decode(), GAME.name
    )
    return Weights(meta, {name: tensor.numpy() for name, tensor in network.state_dict().items()})


class Disk:
    """Weights by player, and the players that were put into a bank."""

    def __init__(self, versions: Sequence[int]) -> None:
        self.weights = {f"main:{v}": frozen(v) for v in versions}
        self.loads: list[str] = []

    def follow(self, bank: Bank, bound: dict[int, str]) -> dict[int, LaneActor]:
        """Puts the players that are missing, as a seating does."""
        for player in dict.fromkeys(bound.values()):
            if player not in bank:
                self.loads.append(player)
                bank.put(player, self.weights[player], keep=tuple(bound.values()))
        return bank.follow(bound)


def make_bank(cache: int, lanes: int = 3) -> Bank:
    return Bank({lane: 40 + lane for lane in range(1, lanes + 1)}, build_policy, cache)


def rows_of(actor: LaneActor, rows: slice = slice(0, 5)) -> ActInput:
    """Return three rows of the first lane and two of the second, or some of them."""
    random = np.random.default_rng(1)
    obs = {
        t.name: random.integers(0, 2, (5, *t.packed_shape)).astype(t.packed_dtype) for t in GAME.observation
    }
    lanes = sorted(actor.lanes)
    return ActInput(
        {name: array[rows] for name, array in obs.items()},
        np.ones((5, GAME.mask_size), np.uint8)[rows],
        None,
        np.zeros(5, np.uint8)[rows],
        0,
        np.arange(5, dtype=np.int32)[rows],
        ((lanes[0], 3), (lanes[1], 2)) if rows == slice(0, 5) else ((lanes[0], 3),),
    )


def test_lanes_play_the_weights_of_their_players() -> None:
    disk = Disk([5, 6])
    made = make_bank(8)
    actors = disk.follow(made, {1: "main:5", 2: "main:6", 3: "main:5"})
    assert set(map(id, actors.values())) == {id(actors[1])}
    lanes = actors[1].lanes
    assert [(lane, lanes[lane].version, lanes[lane].seed) for lane in (1, 2, 3)] == [
        (1, 5, 41),
        (2, 6, 42),
        (3, 5, 43),
    ]
    for lane, version in ((1, 5), (2, 6)):
        for name, tensor in lanes[lane].network.state_dict().items():
            assert np.array_equal(tensor.numpy(), disk.weights[f"main:{version}"].tensors[name])
    assert disk.follow(made, {1: "main:5", 2: "main:6", 3: "main:5"}) is actors  # no second stacking


def test_the_least_recently_used_networks_are_dropped() -> None:
    disk = Disk(range(10))
    made = make_bank(4)
    for version in range(5):
        disk.follow(made, {1: f"main:{version}"})
        assert len(made) <= 4
    assert disk.loads == [f"main:{v}" for v in range(5)]
    disk.follow(made, {1: "main:1", 2: "main:4"})
    assert len(disk.loads) == 5
    disk.follow(made, {1: "main:7"})
    assert "main:2" not in made
    assert "main:1" in made
    disk.follow(made, {1: "main:2"})
    assert disk.loads[5:] == ["main:7", "main:2"]


def test_networks_that_play_stay_at_any_limit() -> None:
    disk = Disk(range(6))
    made = make_bank(1)
    disk.follow(made, {1: "main:0", 2: "main:1", 3: "main:2"})
    made.put("main:5", disk.weights["main:5"])
    assert len(made) == 3
    assert "main:5" not in made
    disk.follow(made, {1: "main:2"})
    assert len(made) == 1
    assert disk.loads == ["main:0", "main:1", "main:2"]


def test_networks_about_to_play_are_not_dropped_for_each_other() -> None:
    disk = Disk(range(6))
    made = make_bank(2)
    disk.follow(made, {1: "main:0"})
    disk.follow(made, {1: "main:1"})
    batch = ["main:0", "main:2", "main:3"]  # the first is there, least recently used
    for player in batch[1:]:
        made.put(player, disk.weights[player], keep=batch)
    assert all(player in made for player in batch)
    made.follow(dict(enumerate(batch, 1)))
    made.put("main:4", disk.weights["main:4"])
    assert "main:4" not in made


def test_a_player_without_a_network_changes_nothing() -> None:
    disk = Disk([1, 2])
    made = make_bank(2)
    before = disk.follow(made, {1: "main:1", 2: "main:2"})
    with pytest.raises(KeyError):
        made.follow({1: "main:2", 2: "main:99"})
    assert disk.follow(made, {1: "main:1", 2: "main:2"}) is before
    with pytest.raises(KeyError):
        made.follow({9: "main:1"})
    with pytest.raises(KeyError, match="was not put into the bank"):
        make_bank(8).follow({1: "main:1"})


def test_each_architecture_is_an_actor() -> None:
    disk = Disk([1, 2])
    disk.weights["rival:3"] = frozen(3, OTHER)
    actors = disk.follow(make_bank(8), {1: "main:1", 2: "rival:3", 3: "main:2"})
    assert actors[1] is actors[3]
    assert actors[2] is not actors[1]
    assert set(actors[1].lanes) == {1, 3}


class Networks:
    """Networks of one shape, but for what a player's version stands for."""

    def __init__(self, game: GameSpec) -> None:
        self._game = game

    def __call__(self, weights: Weights) -> PolicyNetwork:
        version = weights.meta.version
        precision = "bfloat16" if version == 2 else "float32"
        game = msgspec.structs.replace(self._game, version=9) if version == 3 else self._game
        return PolicyNetwork(OTHER if version == 4 else SMALL, game, version, precision=precision)


def test_only_networks_alike_in_game_precision_and_shape_share_an_actor() -> None:
    made = Bank({lane: lane for lane in range(1, 7)}, Networks(GAME), 8)
    players = {1: "main:1", 2: "main:2", 3: "main:3", 4: "main:4", 5: "main:5", 6: "main:2"}
    for version in range(1, 6):
        made.put(f"main:{version}", frozen(version))
    actors = made.follow(players)
    together = {tuple(actor.lanes) for actor in actors.values()}
    assert together == {(1, 5), (2, 6), (3,), (4,)}


def test_a_stack_of_an_accelerator_stays_when_other_players_are_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its programs are captured once; on the processor each binding makes a stack."""
    disk = Disk([5, 6, 7])
    taped = Taped()
    for static in (True, False):
        made = make_bank(8)
        if static:
            monkeypatch.setattr("ludus.rollouts.lane_actor.executor_of", lambda _: taped)
            monkeypatch.setattr(PolicyNetwork, "static", True)
        first = disk.follow(made, {1: "main:5", 2: "main:6"})[1]
        first.act(rows_of(first))
        second = disk.follow(made, {1: "main:7", 2: "main:6"})[1]
        assert (second is first) == static
        decision = second.act(rows_of(second))
        assert decision.versions is not None
        assert decision.versions.tolist() == [7, 7, 7, 6, 6]
        alone = second.lanes[1].act(rows_of(second, slice(0, 3)))
        np.testing.assert_allclose(decision.log_prob[:3], alone.log_prob, 1e-5, 1e-5)
        monkeypatch.undo()

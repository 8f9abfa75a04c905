"""The bank keeps so many networks, loads the others again, and makes one actor of each architecture."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from ludus.flow import Weights, WeightsMeta
from ludus.games import spec
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network
from ludus.policies.weights import build_policy
from ludus.rollouts.bank import Bank

GAME = spec("tic_tac_toe")
SMALL, OTHER = EncoderConfig(dense=(8,), hidden=(8,)), EncoderConfig(dense=(8,), hidden=(6,))


def frozen(version: int, config: EncoderConfig = SMALL) -> Weights:
    network = PolicyNetwork(config, GAME, version)
    meta = WeightsMeta(
        version, GAME.spec_hash, network.architecture, msgspec.json.encode(GAME).decode(), GAME.name
    )
    return Weights(meta, {name: tensor.numpy() for name, tensor in network.state_dict().items()})


class Disk:
    """Weights by player, and what was asked for."""

    def __init__(self, versions: Sequence[int]) -> None:
        self.weights = {f"main:{v}": frozen(v) for v in versions}
        self.loads: list[str] = []
        self.builds = 0

    def load(self, player: str) -> Weights:
        self.loads.append(player)
        return self.weights[player]

    def build(self, weights: Weights) -> Network:
        self.builds += 1
        return build_policy(weights)


def bank(disk: Disk, cache: int, lanes: int = 3) -> Bank:
    made = Bank({lane: 40 + lane for lane in range(1, lanes + 1)}, disk.build, cache)
    made.load = disk.load
    return made


def test_lanes_play_the_weights_of_their_players() -> None:
    disk = Disk([5, 6])
    made = bank(disk, 8)
    actors = made.follow({1: "main:5", 2: "main:6", 3: "main:5"})
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
    assert made.follow({1: "main:5", 2: "main:6", 3: "main:5"}) is actors  # nothing is stacked anew


def test_the_least_recently_used_networks_are_loaded_again() -> None:
    disk = Disk(range(10))
    made = bank(disk, cache=4)
    for version in range(5):
        made.follow({1: f"main:{version}"})
        assert len(made) <= 4
    assert disk.loads == [f"main:{v}" for v in range(5)]
    made.follow({1: "main:1", 2: "main:4"})
    assert len(disk.loads) == 5
    made.follow({1: "main:7"})
    assert "main:2" not in made
    assert "main:1" in made
    made.follow({1: "main:2"})
    assert disk.loads[5:] == ["main:7", "main:2"]


def test_networks_that_play_stay_whatever_the_limit() -> None:
    disk = Disk(range(6))
    made = bank(disk, cache=1)
    made.follow({1: "main:0", 2: "main:1", 3: "main:2"})
    made.put("main:5", disk.weights["main:5"])
    assert len(made) == 3
    assert "main:5" not in made
    made.follow({1: "main:2"})
    assert len(made) == 1
    assert disk.loads == ["main:0", "main:1", "main:2"]


def test_networks_about_to_play_are_not_dropped_for_each_other() -> None:
    disk = Disk(range(6))
    made = bank(disk, cache=2)
    made.follow({1: "main:0"})
    made.follow({1: "main:1"})
    hand = ["main:0", "main:2", "main:3"]  # the first is there, least recently used
    for player in hand[1:]:
        made.put(player, disk.weights[player], keep=hand)
    assert all(player in made for player in hand)
    loads = list(disk.loads)
    made.follow(dict(enumerate(hand, 1)))
    assert disk.loads == loads
    made.put("main:4", disk.weights["main:4"])
    assert "main:4" not in made


def test_weights_that_were_put_are_not_read() -> None:
    disk = Disk([3])
    made = bank(disk, 8)
    made.put("main:3", disk.weights["main:3"])
    assert made.follow({2: "main:3"})[2].lanes[2].version == 3
    assert not disk.loads


def test_a_player_that_cannot_be_read_changes_nothing() -> None:
    disk = Disk([1, 2])
    made = bank(disk, 2)
    before = made.follow({1: "main:1", 2: "main:2"})
    with pytest.raises(KeyError):
        made.follow({1: "main:2", 2: "main:99"})
    assert made.follow({1: "main:1", 2: "main:2"}) is before
    with pytest.raises(KeyError):
        made.follow({9: "main:1"})
    with pytest.raises(KeyError, match="was not put into the bank"):
        Bank({1: 1}, disk.build).follow({1: "main:1"})


def test_each_architecture_is_an_actor() -> None:
    disk = Disk([1, 2])
    disk.weights["rival:3"] = frozen(3, OTHER)
    actors = bank(disk, 8).follow({1: "main:1", 2: "rival:3", 3: "main:2"})
    assert actors[1] is actors[3]
    assert actors[2] is not actors[1]
    assert set(actors[1].lanes) == {1, 3}

"""Images of samplers in other processes: kept players, lanes of several parts, weights for rollouts."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from ludus.flow import Orders, Weights, WeightsMeta
from ludus.presets.checks.game import resolve_spec
from ludus.rollouts.commands import AddPlayer, MissingPlayers, lane_of
from ludus.rollouts.exchange import Sampler
from ludus.training.league.member_parts import member_seats
from ludus.training.league.remote.image import KeptPlayers, SamplerImage
from ludus.training.opponents import Seats
from tests.unit.training.league.test_league_runs import league_preset


def seats() -> Seats:
    """Return the seats of the pool of ``main``, which keeps two frozen players."""
    preset = league_preset()
    assert preset.league is not None
    spec, _ = resolve_spec(preset)
    made = member_seats(spec, preset.league, preset.game.frame_skip, "main")
    return Seats(made.ids, made.lineup, made.labels, 2, made.live)


def orders(*players: str) -> Orders:
    """Return a mixture of players in equal shares."""
    return Orders(mixture=dict.fromkeys(players, 1.0 / len(players)))


def weights(version: int) -> Weights:
    """Return weights that stand for those of a version."""
    return Weights(WeightsMeta(version, "", "", "", ""), {"w": np.zeros(1, np.float32)})


class Rollouts:
    """A sampler whose rollouts lack players, and which notes those that it is given."""

    def __init__(self) -> None:
        self.lacking: set[str] = set()
        self.given: list[AddPlayer] = []

    def send(self, command: object) -> object:
        if isinstance(command, MissingPlayers):
            return [player for player in command.players if player in self.lacking]
        assert isinstance(command, AddPlayer)
        self.given.append(command)
        self.lacking.discard(command.player)
        return None


def kept(rollouts: Rollouts, parts: int = 1) -> KeptPlayers:
    """Return the weights that are kept for rollouts."""
    return KeptPlayers(cast(Sampler, cast(Any, rollouts)), seats(), parts)


def test_each_part_binds_players_to_lanes_that_its_own_matches_do_not_use() -> None:
    image = SamplerImage(seats(), 2)
    for player in ("main:1", "main:2"):
        image.add(player, ())
    first = image.seat(orders("main:1"), True, ())
    (lane,) = (lane for lane, player in first.bound.items() if lane < lane_of(1, 0))
    assert first.settled
    assert first.bound == {lane: "main:1", lane_of(1, lane): "main:1"}
    second = image.seat(orders("main:2"), True, [lane_of(1, lane)])
    assert second.bound[lane] == "main:2"
    assert second.bound[lane_of(1, lane)] == "main:1"
    assert not second.settled
    assert image.bound == second.bound


def test_a_player_is_missing_where_one_part_has_dropped_it() -> None:
    image = SamplerImage(seats(), 2)
    for player in ("main:1", "main:2", "main:3"):
        image.add(player, ())
    assert image.missing(["main:1", "main:2", "exploiter"]) == ["main:1"]  # a live one has no frozen weights


def test_a_rollout_that_replaced_another_gets_the_players_that_it_lacks() -> None:
    rollouts = Rollouts()
    players = kept(rollouts)
    for version in (1, 2):
        players.put(f"main:{version}", weights(version), (), replace=False)
    players.seat(orders("main:1"), bind=True)
    assert not rollouts.given
    rollouts.lacking = {"main:1", "main:2"}
    players.seat(orders("main:1", "main:2"), bind=True)
    assert [(c.player, c.weights.meta.version) for c in rollouts.given] == [("main:1", 1), ("main:2", 2)]
    assert set(rollouts.given[0].keep) == {"main:1", "main:2"}


@pytest.mark.parametrize("parts", [1, 3])
def test_weights_that_no_rollout_keeps_are_forgotten(parts: int) -> None:
    rollouts = Rollouts()
    players = kept(rollouts, parts)
    for version in (1, 2, 3):
        players.put(f"main:{version}", weights(version), (), replace=False)
    assert sorted(players.players) == ["main:2", "main:3"]

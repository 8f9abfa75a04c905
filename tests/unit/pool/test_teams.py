"""Matches of more than two seats: teams sit together, draw their players together, and win together."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from ludus.evaluation.play import MatchPlayer, play_matches, scripted_player
from ludus.evaluation.settings import MatchSettings
from ludus.flow import Controller, GameSpec, Lineup, PoolOptions, SeatPlan, Slab
from ludus.flow.lineups import lineup_of
from ludus.games import spec
from ludus.policies.actions.distribution import Heads
from ludus.pool.hosted.shard import PoolPlan
from ludus.pool.native import NativePool
from ludus.rollouts import Collector
from ludus.rollouts.network_actor import RandomActor
from ludus.training.actor_learner.rollout_summary import opponent_name, summarise_rollout

TEAM = {"mode": "team", "max_steps": "60"}
LEARNED = SeatPlan((Controller(policy=0),))
MIXED = SeatPlan((Controller(bot="simple"), Controller(bot="random")))


def with_teams(*teams: int) -> GameSpec:
    return msgspec.structs.replace(spec("pommerman"), teams=teams, seats=len(teams) or 4)


@pytest.mark.parametrize(
    ("teams", "turns"),
    [
        ((), (0, 1, 2, 3)),
        ((0, 1, 0, 1), (0, 1, 2, 3)),
        ((0, 0, 1, 1), (0, 2)),
        ((0, 0, 0, 1), (0,)),
        ((7, 7, 7, 2, 2, 2), (0, 3)),
        ((0, 1), (0, 1)),
    ],
)
def test_turns_keep_teams_together(teams: tuple[int, ...], turns: tuple[int, ...]) -> None:
    assert with_teams(*teams).turns == turns
    plan = PoolPlan(with_teams(*teams), Lineup(()), 0, 8, None, 0)
    seats = len(teams) or 4
    seated = {tuple(plan.plan_of(slot, seat) for seat in range(seats)) for slot in range(8)}
    assert len(seated) == len(turns)
    for plans in seated:
        assert sorted(plans) == list(range(seats))


def test_the_spec_names_its_teams() -> None:
    assert spec("pommerman").teams == ()
    assert spec("pommerman", TEAM).teams == (0, 1, 0, 1)
    lineup = lineup_of(spec("pommerman", TEAM), LEARNED, MIXED)
    assert lineup.plans == (LEARNED, MIXED, LEARNED, MIXED)
    assert lineup_of(spec("pommerman"), LEARNED, MIXED).plans == (LEARNED, MIXED, MIXED, MIXED)


@pytest.mark.parametrize("team", [True, False])
def test_a_team_is_one_player(team: bool) -> None:
    params = TEAM if team else {"max_steps": "60"}
    game = spec("pommerman", params)
    with NativePool(
        "pommerman", params, lineup_of(game, LEARNED, MIXED), PoolOptions(slots=8, num_matches=64)
    ) as pool:
        slab = Slab(pool.spec, 16, pool.rows)
        assert pool.rows == (16 if team else 8)
        collector = Collector(pool, {0: RandomActor(Heads((6,)), seed=3)}, learned=())
        results = []
        while not pool.finished:
            results += collector.collect(slab).results
    assert len(results) == 64
    mixed = set()
    for r in results:
        mates = [[s for s in range(4) if s % 2 == side] for side in (0, 1)]
        own = r.plan_of_seat.index(0)
        others = {r.players[s] for s in range(4) if s != own and not game.together(s, own)}
        mixed.add(frozenset(others))
        if team:
            assert len(others) == 1
            for a, b in mates:
                assert r.players[a] == r.players[b]
                assert r.outcome[a] == r.outcome[b]
                assert r.returns[a] == r.returns[b]
    assert frozenset({"simple"}) in mixed
    assert (frozenset({"simple", "random"}) in mixed) == (not team)


def test_dead_agents_receive_their_teams_reward() -> None:
    """A row that died early is inactive, but receives the end and the result of its team."""
    game = spec("pommerman", TEAM)
    noop = SeatPlan((Controller(bot="noop"),))
    with NativePool("pommerman", TEAM, lineup_of(game, LEARNED, noop), PoolOptions(slots=16)) as pool:
        slab = Slab(pool.spec, 128, pool.rows)
        pool.attach(0, slab)
        for _ in range(slab.steps):
            pool.recv(0)
            pool.random_actions(0, seed=3)
            pool.send(0)
        pool.recv(0)
    ended = (slab.terminated != 0) & (slab.active[:-1] == 0)
    assert ended.any()
    steps, rows = np.nonzero(slab.terminated)
    mates = {(int(a), int(b)) for a, b in zip(steps, rows // 2, strict=True)}
    for t, match in mates:
        a, b = 2 * match, 2 * match + 1
        assert slab.terminated[t, a] == slab.terminated[t, b] == 1
        assert float(slab.reward[t, a]) == float(slab.reward[t, b]) != 0


def test_evaluation_gives_a_player_its_whole_team() -> None:
    game = spec("pommerman", TEAM)
    simple, noop = scripted_player("simple", game, 1), MatchPlayer("still", bot="noop")
    results = play_matches(
        game, {**TEAM, "max_steps": "300"}, simple, noop, MatchSettings(matches=12, seed=4)
    )
    assert [r.match for r in results] == list(range(12))
    assert {r.plan_of_seat.index(0) for r in results} == {0, 1, 2, 3}
    for r in results:
        own = r.plan_of_seat.index(0)
        assert [p == "simple" for p in r.players] == [s % 2 == own % 2 for s in range(4)]
        assert opponent_name(r, own, {}, game.teams) == "noop"
        assert opponent_name(r, own, {}) == "noop+simple"
    summary = summarise_rollout(results, 0, 0, {}, game.teams)
    assert list(summary.outcomes) == ["noop"]
    assert sum(summary.outcomes["noop"]) == 12
    assert summary.outcomes["noop"][0] > summary.outcomes["noop"][2]

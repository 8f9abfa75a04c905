"""Searched and planned decisions as an actor's: seeds, probabilities, values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ludus.flow import Controller, Lineup, PoolOptions, SeatPlan, Slab
from ludus.games import spec as game_spec
from ludus.mcts import PlannerConfig, PlanResult, parse_search
from ludus.pool.native import NativePool
from ludus.rollouts import ActInput, Decision
from ludus.rollouts.search_actor import PlannerActor, SearchActor

GAME = "connect_four"
MATCHES = 6


def first_decision(make: Callable[[NativePool], SearchActor], step: int = 0) -> tuple[Decision, SearchActor]:
    """The actor decides for the first moment of some equal matches."""
    lineup = Lineup((SeatPlan((Controller(policy=0),)), SeatPlan((Controller(policy=0),))))
    with NativePool(GAME, {}, lineup, PoolOptions(slots=MATCHES, groups=1, threads=0, seed=1)) as pool:
        slab = Slab(pool.spec, 1, pool.rows)
        pool.attach(0, slab)
        pool.recv(0)
        rows = np.flatnonzero(slab.active[0]).astype(np.int32)
        assert len(rows) == MATCHES
        actor = make(pool)
        obs = {name: array[0, rows] for name, array in slab.obs.items()}
        return actor.act(ActInput(obs, slab.mask[0, rows], None, slab.is_first[0, rows], step, rows)), actor


def searched(seed: int) -> tuple[Decision, SearchActor]:
    text = parse_search("mcts:24,temperature=1,plies=9")[1]
    return first_decision(lambda pool: SearchActor(pool, {}, text, "rollout", seed))


def test_a_searched_move_has_the_probability_of_its_visits() -> None:
    decision, actor = searched(3)
    trees = actor._player.trees
    for i, move in enumerate(decision.actions[:, 0]):
        root = trees.root(2 * i if trees.root(2 * i).visits else 2 * i + 1)
        share = dict(zip(root.moves.tolist(), root.policy.tolist(), strict=True))[int(move)]
        assert 0.0 < share < 1.0
        assert decision.log_prob[i] == pytest.approx(np.log(share), abs=1e-5)
        assert decision.value[i] == pytest.approx(root.value, abs=1e-6)


def test_a_searched_player_draws_by_its_seed() -> None:
    first, again = searched(3)[0], searched(3)[0]
    assert np.array_equal(first.actions, again.actions)
    assert np.array_equal(first.value, again.value)
    others = [searched(seed)[0].value.tolist() for seed in (3, 4, 5, 2**63 - 1)]
    assert len({tuple(v) for v in others}) == len(others)


def test_every_planned_decision_has_a_seed_of_its_own() -> None:
    """Seed, step and row decide, and no two decisions of a run share a seed."""
    lineup = Lineup((SeatPlan((Controller(policy=0),)), SeatPlan((Controller(bot="random"),))))
    seeds: list[int] = []
    with NativePool("tic_tac_toe", {}, lineup, PoolOptions(slots=4, groups=1, threads=0, seed=1)) as pool:
        pool.attach(0, Slab(pool.spec, 1, pool.rows))
        pool.recv(0)
        actors = [PlannerActor(pool, {}, PlannerConfig(), 1, seed) for seed in (1, 2)]
        rows = np.arange(pool.rows, dtype=np.int32)
        spec = game_spec("tic_tac_toe")
        mask = np.ones((len(rows), spec.mask_size), np.uint8)

        def plan(state: bytes, seat: int, seed: int) -> PlanResult:
            seeds.append(seed)
            return PlanResult(1, np.array([1, 3], np.int32), np.array([0.5, 0.75], np.float32), 9)

        for actor in actors:
            actor.planner.plan = plan  # type: ignore[method-assign]
            for step in (0, 1, 70, 500):
                made = actor.act(ActInput({}, mask, None, mask[:, 0], step, rows))
                assert made.actions[:, 0].tolist() == [1] * len(rows)
                assert made.value.tolist() == [0.5] * len(rows)  # 2 x 0.75 - 1
    assert len(set(seeds)) == len(seeds) == 2 * 4 * len(rows)
    assert seeds[0] == 1_000_003
    assert seeds[5 * len(rows) + 2] == 2 * 1_000_003 + 65_537 + 2

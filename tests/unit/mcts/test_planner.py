"""Plans for one seat among bots."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from ludus.evaluation.play import MatchPlayer, plan_player, play_evaluation
from ludus.evaluation.settings import MatchSettings
from ludus.flow import Controller, Lineup, PoolOptions, SeatPlan, Slab
from ludus.games import spec as game_spec
from ludus.mcts import Planner, PlannerConfig, SearchError, parse_plan
from ludus.mcts.planner import is_plan
from ludus.pool.native import NativePool
from ludus.presets.errors import ConfigError

GAME = "minirts"


def pool_of(game: str, bot: str, seed: int) -> tuple[NativePool, Slab]:
    """One match of the planned seat against ``bot``, at its start."""
    lineup = Lineup((SeatPlan((Controller(policy=0),)), SeatPlan((Controller(bot=bot),))))
    pool = NativePool(game, {}, lineup, PoolOptions(slots=1, groups=1, threads=0, seed=seed))
    slab = Slab(pool.spec, 300, pool.rows)
    pool.attach(0, slab)
    pool.recv(0)
    return pool, slab


def state_of(game: str, seed: int = 1, bot: str = "") -> bytes:
    """Return a match at its start."""
    pool, _ = pool_of(game, bot or game_spec(game).bots[0].name, seed)
    with pool:
        return pool.slot_state(0)


def test_a_plan_is_the_same_on_any_number_of_threads() -> None:
    state = state_of(GAME)
    plans = [
        Planner(GAME, {}, PlannerConfig(trees=4, rollouts=3, threads=threads)).plan(state, 0, seed=5)
        for threads in (1, 3)
    ]
    np.testing.assert_array_equal(plans[0].visits, plans[1].visits)
    assert plans[0].visits.sum() == 12
    assert plans[0].choice == plans[1].choice == int(plans[0].visits.argmax())
    assert plans[0].ticks == plans[1].ticks > 1000
    assert (plans[0].mean >= 0).all()
    assert (plans[0].mean <= 1).all()


def test_a_win_in_one_is_found() -> None:
    """Tic-tac-toe against its random bot: a planner that sees three in a row takes it nearly always."""
    spec = game_spec("tic_tac_toe")
    player = plan_player("plan:4x60,opponent=random,explore=1", spec, {}, 3)
    result, played = play_evaluation(
        spec, {}, player, MatchPlayer("random", bot="random"), MatchSettings(matches=20, seed=2)
    )
    assert result.counts[0] >= 15
    assert all(not r.error for r in played)


def test_a_guide_plays_better_than_chance() -> None:
    """One rollout a tree: its value is the outcome of the match."""
    state = state_of("tic_tac_toe")

    def won(guide: str) -> float:
        config = PlannerConfig(trees=300, rollouts=1, opponent="random", guide=guide)
        plan = Planner("tic_tac_toe", {}, config).plan(state, 0, seed=1)
        return float((plan.mean * plan.visits).sum() / plan.visits.sum())

    assert won("perfect") > won("") + 0.1


def test_a_draw_counts_the_configured_value() -> None:
    """No player wins against perfect play, and chance draws sometimes."""
    state = state_of("tic_tac_toe")

    def best(draw: float) -> float:
        config = PlannerConfig(trees=1, rollouts=200, opponent="perfect", draw=draw)
        return float(Planner("tic_tac_toe", {}, config).plan(state, 0, seed=1).mean.max())

    assert best(0.0) == 0.0
    assert 0.1 < best(0.5) < 0.6


def test_rollouts_with_a_bias_win_where_even_chance_does_not() -> None:
    """MiniRTS: a side that does a little of everything loses against ranged troops that are there first."""
    state = state_of(GAME, 22, "hit_and_run")

    def wins(bias: float) -> float:
        config = PlannerConfig(trees=2, rollouts=100, opponent="hit_and_run", draw=0.0, bias=bias)
        plan = Planner(GAME, {}, config).plan(state, 0, seed=1)
        return float((plan.mean * plan.visits).sum())

    assert wins(0.0) == 0
    assert wins(2.0) > 10


def test_a_win_that_was_found_is_followed_without_another_search() -> None:
    """And it is the same win on any number of threads."""
    config = PlannerConfig(trees=4, rollouts=100, opponent="simple", draw=0.0, bias=2.0, keep_wins=True)
    lines = []
    for threads in (1, 3):
        planner = Planner(GAME, {}, msgspec.structs.replace(config, threads=threads))
        pool, slab = pool_of(GAME, "simple", 3)
        line: list[int] = []
        with pool:
            while not line or not slab.terminated[len(line) - 1, 0]:
                # Another seed each time: the opponent's draws are in the match's state, not there.
                plan = planner.plan(pool.slot_state(0), int(pool.row_seat[0]), seed=len(line))
                assert (plan.ticks > 0) == (plan.visits.sum() > 0) == (not line)
                assert line == [] or plan.mean[plan.choice] == 1.0
                slab.actions[len(line), 0] = plan.choice
                line.append(plan.choice)
                pool.send(0)
                pool.recv(0)
        lines.append((line, float(slab.reward[len(line) - 1, 0])))
    assert lines[0] == lines[1]
    assert lines[0][1] == 1.0
    assert len(lines[0][0]) > 5


def test_only_wins_are_kept_for_any_value_of_a_draw() -> None:
    config = PlannerConfig(trees=1, rollouts=200, opponent="perfect", draw=1.0, keep_wins=True)
    plan = Planner("tic_tac_toe", {}, config).plan(state_of("tic_tac_toe"), 0, seed=1)
    assert plan.mean.max() > 0.5  # drawn often, by then
    assert plan.visits.sum() == 200  # and looked on


def test_seconds_end_a_decision_and_every_tree_makes_a_rollout() -> None:
    state = state_of(GAME)
    config = PlannerConfig(trees=4, rollouts=100_000, opponent="simple", seconds=0.5, threads=2)
    planner = Planner(GAME, {}, config)
    plan = planner.plan(state, 0, seed=1)
    assert 4 < plan.visits.sum() < 400_000
    assert 0.4 < planner.slowest_s < 100.0  # a busy machine may take its time
    # No time at all: one rollout of each tree.
    hurried = Planner(GAME, {}, msgspec.structs.replace(config, seconds=1e-9))
    assert hurried.plan(state, 0, seed=1).visits.sum() == 4
    # Enough of it: nothing changes.
    calm = [
        Planner(GAME, {}, PlannerConfig(trees=4, rollouts=3, seconds=seconds)).plan(state, 0, seed=5)
        for seconds in (0.0, 600.0)
    ]
    np.testing.assert_array_equal(calm[0].visits, calm[1].visits)


def test_texts_of_plans_are_parsed_or_refused() -> None:
    assert is_plan("plan:8x100")
    assert parse_plan("plan:8x100,opponent=hit_and_run,explore=0.5") == PlannerConfig(
        trees=8, rollouts=100, opponent="hit_and_run", explore=0.5
    )
    for text, message in (
        ("plan:800", "expected plan:TREESxROLLOUTS"),
        ("plan:8x100,oponent=simple", "did you mean opponent"),
        ("plan:0x1", ">= 1"),
    ):
        with pytest.raises(ValueError, match=message):
            parse_plan(text)
    with pytest.raises(SearchError, match="without a guide"):
        Planner(GAME, {}, PlannerConfig(guide="simple", keep_wins=True))
    with pytest.raises(ValueError, match="did you mean simple"):
        Planner(GAME, {}, PlannerConfig(opponent="simpel"))
    with pytest.raises(SearchError, match="bytes, expected"):
        Planner(GAME, {}, PlannerConfig()).plan(b"123", 0, 1)
    with pytest.raises(SearchError, match="no seat 7"):
        Planner(GAME, {}, PlannerConfig()).plan(state_of(GAME), 7, 1)
    spec = game_spec(GAME)
    with pytest.raises(ConfigError, match="did you mean explore"):
        plan_player("plan:1x1,eplore=1", spec, {}, 1)

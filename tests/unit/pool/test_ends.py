"""Terminated and truncated are each agent's own; matches without a decision; returns of many rewards."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from ludus.evaluation.evaluate import evaluate
from ludus.evaluation.settings import MatchSettings
from ludus.flow import Controller, Lineup, MatchResult, PoolOptions, SeatPlan, Slab
from ludus.flow.slab import Array
from ludus.games.names import typed
from ludus.games.registry import maker
from ludus.pool import PoolError
from ludus.pool.hosted.process import ProcessPool

ENDS = typed("pettingzoo/tests.unit.games.ending_envs")
WAGES = typed("tests.unit.pool.ending_games:Wages")
STAGES = typed("tests.unit.pool.ending_games:Stages")

if importlib.util.find_spec("pettingzoo") is None:
    pytest.skip("pettingzoo is not installed", allow_module_level=True)


def play(
    game: str, params: dict[str, object], seats: int, steps: int, **more: object
) -> tuple[Slab, list[MatchResult], dict[int, float]]:
    """Return a slot's slab, its matches, and by row the last observation of rows whose match ended."""
    lineup = Lineup(tuple(SeatPlan((Controller(policy=0),)) for _ in range(seats)))
    results: list[MatchResult] = []
    final: dict[int, float] = {}
    alone: dict[str, Any] = {"slots": 1, "groups": 1, "threads": 0, "on_error": "truncate"}
    with ProcessPool(game, params, lineup, PoolOptions(seed=1, **{**alone, **more})) as pool:
        slab = pool.slab(steps)
        pool.attach(0, slab)
        for t in range(steps + 1):
            batch = pool.recv(0)
            results += batch.results
            last = batch.final_obs[pool.spec.observation[0].name]
            final.update((int(row), float(a.flat[0])) for row, a in zip(batch.final_rows, last, strict=True))
            if t < steps:
                pool.send(0)
        return slab, results, final


def marks(array: Array) -> list[tuple[int, int]]:
    return [(int(t), int(row)) for t, row in np.argwhere(array)]


#: plan -> rows that are terminated and rows that are truncated when the match ends, and its length
OWN_ENDS = {
    "mix": ([0], [1, 2], 6),
    "mix2": ([0], [1, 2], 6),
    "mix3": ([1, 2], [0], 6),
    "both": ([0, 2], [1], 4),
    "back": ([1, 2], [0], 6),
    "absent": ([0], [1], 6),
}


@pytest.mark.parametrize("plan", OWN_ENDS)
def test_every_agent_ends_by_its_own_flags(plan: str) -> None:
    ended, cut, ticks = OWN_ENDS[plan]
    slab, results, final = play(ENDS, {"plan": plan}, 3, ticks)
    assert marks(slab.terminated) == [(ticks - 1, row) for row in ended]
    assert marks(slab.truncated) == [(ticks - 1, row) for row in cut]
    assert [(r.ticks, r.truncated) for r in results] == [(ticks, bool(cut))]
    assert sorted(final) == sorted(ended + cut)  # who was never there has no end


def test_an_agent_that_was_cut_off_alone_keeps_its_last_observation_for_its_bootstrap() -> None:
    _, _, final = play(ENDS, {"plan": "mix3"}, 3, 6)
    assert final == {0: 2.0, 1: 6.0, 2: 6.0}


@pytest.mark.parametrize("plan", ["mix", "mix2", "mix3"])
def test_agents_that_take_turns_end_by_their_own_flags(plan: str) -> None:
    ended, cut, _ = OWN_ENDS[plan]
    slab, results, _ = play(ENDS, {"plan": plan, "api": "aec"}, 3, 30)
    at = results[0].ticks - 1
    assert [row for t, row in marks(slab.terminated) if t == at] == ended
    assert [row for t, row in marks(slab.truncated) if t == at] == cut


def test_a_pool_that_cuts_a_match_off_leaves_the_dead_terminated() -> None:
    slab, results, _ = play(ENDS, {"plan": "mix"}, 3, 4, truncate_ticks=4)
    assert (marks(slab.terminated), marks(slab.truncated)) == ([(3, 0)], [(3, 1), (3, 2)])
    assert results[0].truncated


def test_a_match_that_fails_leaves_the_dead_terminated() -> None:
    slab, results, _ = play(STAGES, {"trouble": 3}, 2, 3)
    assert results[0].error == "step: ValueError: the rules broke"
    assert (marks(slab.terminated), marks(slab.truncated)) == ([(2, 0)], [(2, 1)])


def test_a_python_game_reports_how_each_seat_ended() -> None:
    slab, _, _ = play(STAGES, {}, 2, 4)
    assert (marks(slab.terminated), marks(slab.truncated)) == ([(3, 0)], [(3, 1)])


def test_an_agent_that_never_appears_is_observed_as_zeros() -> None:
    game: Any = maker(ENDS, {"plan": "absent"}).make()
    game.reset(1)
    assert list(game.to_act()) == [0]
    out = {"observation": np.full(1, 9, np.float32)}
    game.observe(2, out)
    assert out["observation"].tolist() == [0]


def test_an_unannounced_agent_is_named_in_the_error() -> None:
    game: Any = maker(ENDS, {"plan": "mix"}).make()
    game.reset(1)
    game._env.agents.append("ghost")
    with pytest.raises(ValueError, match=r"agent 'ghost' is not in possible_agents: \['a', 'b', 'c'\]"):
        game.to_act()


@pytest.mark.parametrize("api", ["parallel", "aec"])
def test_matches_without_a_decision_end_the_run(api: str) -> None:
    with pytest.raises(PoolError, match=r"1000 matches in a row ended without a decision of any seat"):
        play(ENDS, {"plan": "empty", "api": api}, 3, 3000)


def test_an_evaluation_without_a_decision_is_an_error() -> None:
    with pytest.raises(PoolError, match=r"4 matches in a row ended without a decision"):
        evaluate("random", "random", MatchSettings(matches=4), game=ENDS, params={"plan": "empty"})


def test_an_occasional_match_without_a_decision_counts() -> None:
    _, results, _ = play(STAGES, {"empty": 2}, 2, 40)
    assert {r.decisions for r in results} == {0, 5}
    assert not [r.error for r in results if r.error]


@pytest.mark.parametrize("first", [2.0**24, 1e9, 0.0])
def test_a_return_is_the_sum_of_all_rewards(first: float) -> None:
    small = 0.1 if not first else 1.0
    _, results, _ = play(WAGES, {"first": first, "small": small}, 1, 400)
    assert results[0].returns[0] == pytest.approx(first + 399 * float(np.float32(small)), rel=1e-12)

"""A match ends at the limit that its game declares, in every form in which it is played."""

from __future__ import annotations

import numpy as np
import pytest

import ludus
from ludus.flow import MatchResult, PoolOptions, Slab
from ludus.games.checks.conformance import check_game
from ludus.games.names import typed
from ludus.pool.hosted.process import ProcessPool
from ludus.presets.errors import RunFailed
from tests.unit.pool.test_process_pool import ONE, TWO, ones, play

ENDLESS = typed("tests.unit.pool.limit_envs:Endless")


def env(name: str) -> str:
    return typed(f"gymnasium/tests.unit.pool.limit_envs:ludus-tests/{name}-v0")


def played(
    game: str, steps: int, params: dict[str, object] | None = None, **more: object
) -> tuple[Slab, list[MatchResult]]:
    settings: dict[str, object] = {"slots": 4, "groups": 1, "threads": 1, "seed": 5, "on_error": "truncate"}
    lineup = TWO if (params or {}).get("seats") == 2 else ONE
    options = PoolOptions(**{**settings, **more})  # type: ignore[arg-type]
    with ProcessPool(game, params or {}, lineup, options) as pool:
        slab = pool.slab(steps)
        return slab, play(pool, slab, ones if lineup is ONE else lambda batch: None)


@pytest.mark.parametrize("seats", [1, 2])
@pytest.mark.parametrize(("limit", "cut", "expected"), [(9, 0, 9), (9, 30, 9), (9, 4, 4), (0, 6, 6)])
def test_a_game_that_plays_on_is_cut_off(seats: int, limit: int, cut: int, expected: int) -> None:
    """A cut is a truncation: the last state's value counts. The tighter of two limits holds."""
    slab, results = played(ENDLESS, 20, {"seats": seats, "limit": limit}, truncate_ticks=cut)
    assert {(r.ticks, r.truncated, r.error) for r in results} == {(expected, True, "")}
    assert slab.truncated[expected - 1].all()
    assert not slab.terminated.any()


def test_an_end_at_the_limit_is_the_games_own() -> None:
    _, results = played(env("VGood"), 50, {"vectorise": "no", "end": 20})
    assert {(r.ticks, r.truncated) for r in results} == {(20, False)}


@pytest.mark.parametrize("seats", [1, 2])
def test_a_last_observation_that_is_not_finite_is_an_error(seats: int) -> None:
    slab, results = played(ENDLESS, 9, {"seats": seats, "limit": 30, "broken": 5})
    wrong = "observation tick: nan at [0] cannot be kept: networks read finite numbers only"
    assert {(r.ticks, r.truncated, r.error) for r in results} == {(5, True, wrong)}
    assert np.isfinite(slab.obs["tick"]).all()


def test_a_vectorised_form_that_plays_on_is_an_error_that_names_the_remedy() -> None:
    _, results = played(env("VLimit"), 45)
    assert len(results) == 8
    assert {r.ticks for r in results} == {20}
    assert all("a match is not over after 20 ticks" in r.error for r in results)
    assert all("set the parameter vectorise = no, or end" in r.error for r in results)
    single: dict[str, object] = {"vectorise": "no"}
    for params in (single, {**single, "max_episode_steps": 7}):
        _, results = played(env("VLimit"), 45, params)
        assert {(r.ticks, r.error) for r in results} == {(params.get("max_episode_steps", 20), "")}


def test_an_evaluation_of_such_an_environment_says_so() -> None:
    with pytest.raises(RunFailed, match="vectorise = no"):
        ludus.evaluate("random", game=env("VLimit"), matches=4)
    result = ludus.evaluate("random", game=env("VLimit"), matches=4, params={"vectorise": "no"})
    assert result.mean_return == 20.0


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("VGood", ""),
        ("VLimit", "a match is not over after 20 ticks, the limit that the environment declares"),
        pytest.param(
            "VShort",
            "lengths of 40 episodes of random decisions: 20 one by one, 7 of the vectorised form",
            marks=pytest.mark.slow,
        ),
        ("VOther", "returns of 40 episodes of random decisions: 20 one by one, 40 of the vectorised form"),
    ],
)
def test_the_check_plays_the_form_that_trains(name: str, wrong: str) -> None:
    findings = {f.check: f for f in check_game(env(name), matches=2).findings}
    assert findings["vectorised"].passed == (not wrong)
    assert wrong in findings["vectorised"].detail
    assert not wrong or "vectorise = no" in findings["vectorised"].detail
    assert check_game(env(name), {"vectorise": "no"}, matches=2).passed


def test_forms_of_one_law_pass_the_check() -> None:
    """CartPole is written twice by Gymnasium itself, with other draws under one seed."""
    findings = {f.check: f for f in check_game("gymnasium/CartPole-v1", matches=2).findings}
    assert findings["vectorised"].passed, findings["vectorised"].detail
    assert findings["vectorised"].detail == ""

"""Games of Ludus as environments of Gymnasium and PettingZoo, by the libraries' tests and by these."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
pytest.importorskip("pettingzoo")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test  # noqa: E402

from ludus.games.exports.gymnasium import LudusEnv, LudusVectorEnv  # noqa: E402
from ludus.games.exports.pettingzoo import env, parallel_env  # noqa: E402
from ludus.games.exports.register import register_all  # noqa: E402
from ludus.games.names import typed  # noqa: E402

DUEL = typed("tests.unit.pool.hosted_games:Duel")
GAMES = str(Path(__file__).parent.parent / "pool" / "hosted_games.py")
NATIVE = ("tic_tac_toe", "minirts", "connect_four")
PYTHON = ("gymnasium/CartPole-v1", "gymnasium/Pendulum-v1", DUEL)


@pytest.mark.parametrize("game", [*NATIVE, *PYTHON])
def test_environments_pass_the_check_of_gymnasium(game: str) -> None:
    made = LudusEnv(game)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*(infinity|render|spec|symmetric and normalized).*")
        check_env(made, skip_render_check=True)
    made.close()


@pytest.mark.parametrize("game", [*NATIVE, DUEL])
def test_environments_pass_the_checks_of_pettingzoo(game: str) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message=".*(render|Observation space|Action space|classic|parallelized).*"
        )
        parallel_api_test(parallel_env(game), num_cycles=60)
        parallel_seed_test(lambda: parallel_env(game), num_cycles=60)
        api_test(env(game), num_cycles=60)
        seed_test(lambda: env(game), num_cycles=60)


def test_games_are_registered_with_gymnasium_under_ludus() -> None:
    ids = register_all()
    assert "ludus/tic_tac_toe-v1" in ids
    single = gymnasium.make("ludus/tic_tac_toe-v1", opens="random")
    seen, info = single.reset(seed=4)
    assert single.observation_space.contains(seen)
    assert info["action_mask"].sum() in (8, 9)
    many = gymnasium.make_vec("ludus/tic_tac_toe-v1", num_envs=5, vectorization_mode="vector_entry_point")
    assert many.num_envs == 5


def test_a_whole_match_is_played_against_a_bot() -> None:
    made = LudusEnv("tic_tac_toe", seat=1, opponent="random", illegal="raise")
    rng = np.random.default_rng(1)
    outcomes = []
    for seed in range(30):
        _, info = made.reset(seed=seed)
        over = False
        total = 0.0
        while not over:
            action = int(rng.choice(np.flatnonzero(info["action_mask"])))
            _, reward, terminated, truncated, info = made.step(action)
            total += reward
            over = terminated or truncated
            assert not truncated
        assert total == info["outcome"]
        outcomes.append(total)
    assert {-1.0, 1.0} <= set(outcomes)
    with pytest.raises(gymnasium.error.ResetNeeded):
        made.step(0)


def test_illegal_actions_are_replaced_or_refused() -> None:
    for how in ("replace", "raise"):
        made = LudusEnv("tic_tac_toe", illegal=how)
        _, info = made.reset(seed=1)
        cell = int(info["action_mask"].argmax())
        *_, info = made.step(cell)
        assert info["action_mask"][cell] == 0
        if how == "replace":
            assert made.step(cell)[4]["illegal"] is True
        else:
            with pytest.raises(ValueError, match=r"action \d .*is illegal now"):
                made.step(cell)
    with pytest.raises(ValueError, match=r"is not in \[0, 9\)"):
        made.step(9)


def test_a_vector_environment_plays_the_same_matches_as_single_ones() -> None:
    """Match m of a vector environment is match m of the pool, whatever the number of threads."""
    runs = []
    for threads in (0, 2):
        many = LudusVectorEnv("tic_tac_toe", 6, threads=threads)
        seen, info = many.reset(seed=9)
        assert many.observation_space.contains(seen)
        trace: list[Any] = []
        for _ in range(40):
            actions = info["action_mask"].argmax(axis=1)
            seen, reward, terminated, truncated, info = many.step(actions)
            assert many.observation_space.contains(seen)
            trace.append(
                (reward.tolist(), terminated.tolist(), seen["board"].tolist() if "board" in seen else "")
            )
            ended = terminated | truncated
            assert ended.any() == ("final_obs" in info)
            if ended.any():
                assert info["_final_obs"].tolist() == ended.tolist()
                assert all((info["final_obs"][n][ended] != seen[n][ended]).any() for n in seen)
        many.close()
        runs.append(trace)
    assert runs[0] == runs[1]
    assert any(any(t[1]) for t in runs[0])


def test_a_turn_based_match_names_the_agent_to_act() -> None:
    made = parallel_env("connect_four")
    _, infos = made.reset(seed=1)
    turn = [a for a in made.agents if infos[a]["to_act"]]
    assert len(turn) == 1
    _, _, _, _, infos = made.step({turn[0]: 3})
    assert [a for a in made.agents if infos[a]["to_act"]] == [a for a in made.agents if a not in turn]
    with pytest.raises(ValueError, match="no action for seat_"):
        made.step({turn[0]: 3})

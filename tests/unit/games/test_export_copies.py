# ruff: noqa: ANN401
"""Exported environments can be copied in the middle of a match; invalid actions are refused."""

from __future__ import annotations

import copy
import importlib.util
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

if importlib.util.find_spec("gymnasium") is None:
    pytest.skip("gymnasium is not installed", allow_module_level=True)

import gymnasium

import ludus.gymnasium
from ludus.flow import HeadSpec
from ludus.games.exports.spaces import decision_of
from ludus.games.python_game import declare, tensor
from ludus.gymnasium import LudusEnv, LudusVectorEnv

ROUTES: list[Callable[[Any], Any]] = [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))]
OWN = "tests.unit.games.paying_envs:Own"


def trace(env: Any, actions: list[Any]) -> list[Any]:
    """Return the results of all steps as bytes."""
    out: list[Any] = []
    for action in actions:
        seen, reward, terminated, truncated, info = env.step(action)
        out += [np.asarray(value).tobytes() for value in (reward, terminated, truncated, info["legal"])]
        out.append({name: array.tobytes() for name, array in seen.items()})
        if np.all(terminated) or np.all(truncated):
            break
    return out


@pytest.mark.parametrize("copied", ROUTES)
@pytest.mark.parametrize("game", ["tic_tac_toe", "minirts", "tower_defense", "leduc_poker"])
def test_a_copy_continues_independently(game: str, copied: Callable[[Any], Any]) -> None:
    name = next(i for i in ludus.gymnasium.ids if i.startswith(f"ludus/{game}-"))
    env = gymnasium.make(name)
    env.reset(seed=3)
    env.action_space.seed(1)
    env.step(env.action_space.sample())
    actions = [env.action_space.sample() for _ in range(4)]
    copies = [copied(env), copied(copied(env))]
    expected = trace(copies[0], actions)
    assert trace(copies[1], actions) == expected
    assert trace(env, actions) == expected
    for each in (*copies, env):  # then as any other
        each.reset(seed=5)
    assert trace(copies[0], actions) == trace(env, actions)


@pytest.mark.parametrize("copied", ROUTES)
def test_environments_are_copied_before_and_after_a_match_and_in_vectors(
    copied: Callable[[Any], Any],
) -> None:
    fresh = copied(LudusEnv("connect_four"))
    assert fresh.reset(seed=1)[0].keys() == LudusEnv("connect_four").reset(seed=1)[0].keys()
    over = LudusEnv("matrix")
    over.reset(seed=1)
    while not over.step(0)[2]:
        pass
    with pytest.raises(gymnasium.error.ResetNeeded):
        copied(over).step(0)
    vector = LudusVectorEnv("tic_tac_toe", 3)
    copied(vector).reset(seed=1)
    vector.reset(seed=2)
    vector.step(np.array([0, 4, 8]))
    other = copied(vector)
    actions = [np.array([k, (k + 3) % 9, (k + 5) % 9]) for k in range(9)]
    assert trace(other, actions) == trace(vector, actions)


@pytest.mark.parametrize("copied", ROUTES)
def test_environments_of_python_games_and_pettingzoo_are_copied(copied: Callable[[Any], Any]) -> None:
    env = LudusEnv(OWN)
    env.reset(seed=1)
    env.step(0)
    assert trace(copied(env), [1, 0, 1]) == trace(env, [1, 0, 1])
    zoo = pytest.importorskip("ludus.games.exports.pettingzoo")
    turns = zoo.env("tic_tac_toe")
    turns.reset(seed=1)
    turns.step(4)
    other = copied(turns)
    for each in (turns, other):
        each.step(0)
    assert {k: v.tobytes() for k, v in turns.observe("seat_0").items()} == {
        k: v.tobytes() for k, v in other.observe("seat_0").items()
    }
    turns.step(8)
    assert other.agent_selection == "seat_0"  # not played there


class Bound:
    """A game that cannot be copied."""

    def __init__(self) -> None:
        self.held = (each for each in (1, 2))

    def __getattr__(self, name: str) -> Any:
        from tests.unit.games.paying_envs import Own

        if name == "inner":
            self.__dict__["inner"] = Own()
            return self.__dict__["inner"]
        if name.startswith("_") or name in ("clone", "close", "legal", "ends"):
            raise AttributeError(name)
        return getattr(self.inner, name)


def test_a_game_that_cannot_be_copied_raises_a_type_error() -> None:
    env = LudusEnv(f"{__name__}:Bound")
    env.reset(seed=1)
    with pytest.raises(TypeError, match=r"^own-pays: it has no clone\(\), and cannot be copied: TypeError: "):
        copy.deepcopy(env)


DISCRETE = [1.7, "1", True, None, [1, 2], [[1]], np.nan, np.array([1.5]), np.array([True]), {"a": 1}, 1j]


@pytest.mark.parametrize("action", DISCRETE, ids=repr)
def test_a_value_that_is_no_choice_is_refused(action: object) -> None:
    env = LudusEnv("tic_tac_toe")
    env.reset(seed=1)
    before = env.action_masks().tolist()
    with pytest.raises(ValueError, match=r"^tic_tac_toe: action .* expected (an integer|a finite number)$"):
        env.step(action)
    assert env.action_masks().tolist() == before  # without a move


@pytest.mark.parametrize("action", [1, 1.0, np.int8(1), np.array(1), np.array([1]), [1]], ids=repr)
def test_every_form_of_an_integer_is_a_choice(action: object) -> None:
    env = LudusEnv("tic_tac_toe")
    env.reset(seed=1)
    env.step(action)
    assert not env.action_masks()[1]


def test_choices_of_several_heads_and_of_many_matches_are_checked() -> None:
    spec = declare(
        "two", observation=[tensor("x", (1,))], heads=[HeadSpec("a", 3), HeadSpec("b", 4)], seats=1
    )
    mask, good = np.ones(7, np.uint8), np.array([2, 3])
    for wrong in (good[:-1], good[None], good.astype(str), good > 0, good + 0.5, 0, (1, [2, 3]), (1,)):
        with pytest.raises(ValueError, match=r"^two: action .* expected"):
            decision_of(spec, wrong, mask, "raise")
    for right in (good, [2, 3], (2, 3), (np.array([2]), 3.0)):
        assert decision_of(spec, right, mask, "raise")[0].tolist() == [2, 3]
    vector = LudusVectorEnv("tic_tac_toe", 2)
    vector.reset(seed=1)
    for none in ([1.7, 0], [True, False], ["1", "2"], [1, 2, 3], [[1], [2], [3]], 1, [1, 2**40], [np.nan, 1]):
        with pytest.raises(ValueError, match=r"^tic_tac_toe: (an )?action"):
            vector.step(np.array(none))
    vector.step(np.array([[1], [2]]))


def test_values_of_another_form_are_refused_for_a_box(monkeypatch: pytest.MonkeyPatch) -> None:
    env = LudusEnv("gymnasium/Pendulum-v1")
    env.reset(seed=1)
    for wrong in (np.nan, [np.inf], "1", True, [1.0, 2.0], [[0.5]]):
        with pytest.raises(ValueError, match=r"action .* expected a (finite )?number$"):
            env.step(wrong)
    env.step(0.5)
    env.step(np.array([0.5], np.float32))

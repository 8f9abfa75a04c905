"""Games that are made to be looked at draw themselves; games that train draw nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ludus.games import registry
from ludus.games.names import typed
from ludus.games.python_game import make_drawn
from ludus.games.records.match_record import HASH_EVERY, Resimulation

DM_ENV = """
import dm_env, numpy as np
from dm_env import specs
class Env(dm_env.Environment):
    def reset(self): return dm_env.restart(np.float32([0]))
    def step(self, action): return dm_env.termination(1.0, np.float32([1]))
    def observation_spec(self): return specs.Array((1,), np.float32)
    def action_spec(self): return specs.DiscreteArray(2)
    def render(self): return np.full((3, 4, 3), 9, np.uint8)
def make(): return Env()
"""


def drawn(game: str, **params: str) -> Any:  # noqa: ANN401
    made = make_drawn(registry.maker(game, params))
    made.reset(7)
    return made


def test_an_environment_of_gymnasium_draws_only_where_it_is_looked_at() -> None:
    pytest.importorskip("pygame")
    maker = registry.maker("gymnasium/CartPole-v1")
    plain: Any = maker.make()
    plain.reset(7)
    assert plain.render() is None
    looked: Any = make_drawn(maker)
    looked.reset(7)
    assert looked.render().shape == (400, 600, 3)
    assert looked.ticks_per_s == 50
    for game in (plain, looked):
        game.close()


def test_the_screen_of_atari_is_drawn_in_colour() -> None:
    pytest.importorskip("ale_py")
    game = drawn("atari/Pong")
    picture = game.render()
    assert (picture.dtype, picture.shape) == (np.uint8, (210, 160, 3))
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 3
    assert game.ticks_per_s == 15


def test_an_environment_of_pettingzoo_draws_only_where_it_is_looked_at() -> None:
    pytest.importorskip("pettingzoo")
    pytest.importorskip("pygame")
    maker = registry.maker("pettingzoo/classic/tictactoe_v3")
    plain: Any = maker.make()
    plain.reset(7)
    assert plain.render() is None
    looked: Any = make_drawn(maker)
    looked.reset(7)
    assert looked.render().ndim == 3
    for game in (plain, looked):
        game.close()


def test_a_dm_env_with_a_render_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dm_env")
    pytest.importorskip("gymnasium")
    (tmp_path / "drawing_dm.py").write_text(DM_ENV)
    monkeypatch.syspath_prepend(tmp_path)
    assert (drawn(typed("dm_env/drawing_dm:make")).render() == 9).all()


def test_the_screen_of_vizdoom_has_the_size_of_the_engine() -> None:
    pytest.importorskip("vizdoom")
    game = drawn("vizdoom/basic")
    try:
        assert game.render().shape == (120, 160, 3)
        assert game.ticks_per_s == 35 / 4
    finally:
        game.close()


def test_a_match_that_is_looked_at_is_the_same_match() -> None:
    pytest.importorskip("pygame")
    maker = registry.maker("gymnasium/FrozenLake-v1", {"is_slippery": "true"})
    hashes = []
    for looks in (False, True):
        match = Resimulation(maker, 5, 0, HASH_EVERY, drawn=looks)
        for _ in range(4):
            if looks:
                assert match.game.render() is not None  # type: ignore[attr-defined]
            if not match.over:
                assert list(match.deciding) == [0]
                match.play({0: (2,)})
        hashes.append(match.recorder.hash)
        match.close()
    assert hashes[0] == hashes[1]

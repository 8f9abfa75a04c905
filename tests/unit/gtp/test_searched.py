"""Searched players behind the engine."""

from __future__ import annotations

import pytest

from ludus.gtp.engine import Engine
from ludus.gtp.resolve import resolve_player
from ludus.train.errors import ConfigError


def engine(text: str) -> Engine:
    params = {"size": "5", "komi": "0.5"}
    return Engine(resolve_player(text, params, seed=3), params)


def test_a_search_plays_and_takes_what_can_be_taken() -> None:
    e = engine("mcts:300,plies=0")
    for move in ("b c3", "w c2", "b b2", "w a5", "b d2", "w a4"):
        assert e.handle(f"play {move}").startswith("=")
    assert e.handle("genmove b").strip().startswith("= ")
    assert e.handle("genmove w").startswith("=")
    assert e.handle("undo").startswith("=")
    assert e.handle("genmove w").startswith("=")


def test_analysis_says_what_it_thinks() -> None:
    player = resolve_player("mcts:50", {"size": "5"}, seed=1)
    from ludus.games.match import Match

    match = Match("go", {"size": "5"})
    player.prepare(match.params)
    choice = player.choose(match, None)
    assert sum(c.visits for c in choice.candidates) == 49
    assert choice.candidates[0].line[0] == choice.candidates[0].move
    reports = player.analyse(match, 0.02)
    assert reports is not None
    first, second = next(reports), next(reports)
    assert sum(c.visits for c in second) > sum(c.visits for c in first) > 49
    timed = player.choose(match, 0.05)
    assert timed.value is not None


def test_wrong_names_are_told() -> None:
    with pytest.raises(ConfigError, match="did you mean c_puct"):
        resolve_player("mcts:50,cpuct=3", {})

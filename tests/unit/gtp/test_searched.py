"""Searched players behind the engine."""

from __future__ import annotations

import pytest

from ludus.games import go
from ludus.gtp.engine import Engine
from ludus.gtp.resolve import resolve_player
from ludus.gtp.searched import SearchedPlayer
from ludus.presets.errors import ConfigError


def engine(text: str) -> Engine:
    params = {"size": "5", "komi": "0.5"}
    return Engine(resolve_player(text, params, seed=3), params)


def test_a_search_plays_and_captures_a_chain_in_atari() -> None:
    e = engine("mcts:300,plies=0")
    for move in ("b c3", "w c2", "b b2", "w a5", "b d2", "w a4"):
        assert e.handle(f"play {move}").startswith("=")
    assert e.handle("genmove b").strip().startswith("= ")
    assert e.handle("genmove w").startswith("=")
    assert e.handle("undo").startswith("=")
    assert e.handle("genmove w").startswith("=")


def test_analysis_reports_moves_visits_and_values() -> None:
    player = resolve_player("mcts:50", {"size": "5"}, seed=1)
    assert isinstance(player, SearchedPlayer)
    from ludus.games.match import Match

    match = Match("go", {"size": "5"})
    player.prepare(match.params)
    choice = player.choose(match, None)
    assert sum(c.visits for c in choice.candidates) == 49
    assert choice.candidates[0].line[0] == choice.candidates[0].move
    reports = player.analyse(match, 0.02)
    first, second = next(reports), next(reports)
    assert second.visits > first.visits > 49
    timed = player.choose(match, 0.05)
    assert timed.value is not None


def test_pondered_visits_are_kept_and_a_complete_search_ends() -> None:
    e = engine("mcts:200,plies=0")
    assert e.handle("genmove b").startswith("=")
    assert sum(1 for _ in e.ponder(0.02)) > 1  # to the most visits that a tree may have
    assert isinstance(e.player, SearchedPlayer)
    tree = e.player._trees
    assert tree is not None
    root = tree.root(0)
    assert root.visits > 200
    answer = int(root.moves[int(root.move_visits.argmax())])
    assert e.handle(f"play w {go.vertex(answer, 5)}").startswith("=")
    tree.set_state(0, e.session.match.state)
    assert tree.root(0).visits >= int(root.move_visits.max()) - 1


def test_wrong_names_are_reported() -> None:
    with pytest.raises(ConfigError, match="did you mean c_puct"):
        resolve_player("mcts:50,cpuct=3", {})

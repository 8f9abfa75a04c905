"""Players by name: the two sides of a match have separate random numbers."""

from __future__ import annotations

import pytest

from ludus.evaluation import evaluate as module
from ludus.evaluation.evaluate import evaluate
from ludus.evaluation.players import resolve_player
from ludus.evaluation.settings import MatchSettings


def test_two_players_of_the_same_name_have_different_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []

    def note(*arguments: object, seed: int, **more: object) -> object:
        seeds.append(seed)
        return resolve_player(*arguments, seed=seed, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "resolve_player", note)
    first = evaluate("mcts:4", "mcts:4", MatchSettings(matches=2, seed=1), game="tic_tac_toe")
    assert evaluate("mcts:4", "mcts:4", MatchSettings(matches=2, seed=1), game="tic_tac_toe") == first
    evaluate("mcts:4", "mcts:4", MatchSettings(matches=2, seed=2), game="tic_tac_toe")
    assert seeds[:2] == seeds[2:4]
    assert len(set(seeds)) == 4

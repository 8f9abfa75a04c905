"""Matches with a random start, for players that repeat one line of play."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.cli import __main__ as cli
from ludus.evaluation.evaluate import evaluate
from ludus.evaluation.play import MatchPlayer, play_matches
from ludus.evaluation.settings import MatchSettings
from ludus.flow import MatchResult
from ludus.games import spec as game_spec
from ludus.presets.errors import ConfigError
from ludus.rollouts.scripted import Scene, ScriptedActor

SPEC = game_spec("tic_tac_toe", {})


class ByHeart:
    """Bot that always takes the first legal cell, so that matches from the first position are equal."""

    def decide(self, scene: Scene) -> str:
        return scene.legal()[0]


def matches(random_start: int, seed: int = 3) -> list[MatchResult]:
    return play_matches(
        SPEC,
        {},
        MatchPlayer("one", actor=ScriptedActor(ByHeart, SPEC)),
        MatchPlayer("other", actor=ScriptedActor(ByHeart, SPEC)),
        MatchSettings(matches=200, seed=seed, random_start=random_start),
    )


def test_random_starts_differ_between_matches_and_repeat_with_the_seed() -> None:
    by_heart = matches(0)
    assert {(r.ticks, r.decisions) for r in by_heart} == {(7, 7)}
    drawn = matches(4)
    assert len({(r.ticks, r.outcome) for r in drawn}) > 4
    assert [(r.ticks, r.outcome) for r in drawn] == [(r.ticks, r.outcome) for r in matches(4)]
    assert [(r.ticks, r.outcome) for r in drawn] != [(r.ticks, r.outcome) for r in matches(4, seed=4)]
    # ticks 0 to 3 are the only ones that may be random: the first two for each of the two seats
    made = [r.ticks - r.decisions for r in drawn]
    assert min(made) == 0
    assert max(made) == 4
    # k is drawn evenly from 0..4 for each seat; a seat's own ticks before k are 0, 1, 1, 2, 2 at the first
    # seat and 0, 0, 1, 1, 2 at the second
    assert np.mean(made) == pytest.approx((0 + 1 + 1 + 2 + 2) / 5 + (0 + 0 + 1 + 1 + 2) / 5, abs=0.25)


def test_random_starts_work_from_python_and_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    lengths: list[int] = []
    result = evaluate(
        "mcts:2",
        "mcts:2",
        MatchSettings(matches=20, random_start=8),
        game="connect_four",
        keep=lambda r: lengths.append(r.ticks - r.decisions),
    )
    assert result.matches == 20
    assert len(set(lengths)) > 3
    for command in (["eval", "mcts:2", "--against", "mcts:2"], ["rate", "mcts:2", "mcts:3"]):
        asked = [*command, "--game", "tic_tac_toe", "--matches", "10", "--random-start"]
        assert cli.main([*asked, "3"]) == 0
    for command in (["eval", "mcts:2", "--against", "perfect"], ["rate", "mcts:2", "perfect"]):
        asked = [*command, "--game", "tic_tac_toe", "--matches", "10", "--random-start"]
        assert cli.main([*asked, "0"]) == 0
        capsys.readouterr()
        assert cli.main([*asked, "3"]) != 0
        assert "perfect plays from the first tick" in capsys.readouterr().err


def test_wrong_random_starts_are_refused() -> None:
    with pytest.raises(ConfigError, match="random_start = -1"):
        evaluate("mcts:2", "mcts:2", MatchSettings(matches=2, random_start=-1), game="tic_tac_toe")
    with pytest.raises(ConfigError, match="perfect plays from the first tick"):
        evaluate("mcts:2", "perfect", MatchSettings(matches=2, random_start=2), game="tic_tac_toe")
    with pytest.raises(ConfigError, match="has no bot random"):
        evaluate("random", settings=MatchSettings(matches=2, random_start=2), game="gymnasium/CartPole-v1")

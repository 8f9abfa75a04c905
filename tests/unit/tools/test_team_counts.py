"""Deeds of the members of a team are counted by matches that pay for one deed alone."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from benchmarks.strength.team_counts import MEMBERS, REWARDS, UNIFORM, counted
from ludus.evaluation.settings import MatchSettings
from ludus.presets.config import ParamValue

RULEBOOK = Path(__file__).parents[3] / "src/ludus/games/rulebooks/moba.toml"
PARAMS: dict[str, dict[str, ParamValue]] = {"pommerman": {"mode": "team"}, "moba": {"heroes": 3}}


def test_every_reward_of_the_rulebook_is_switched_off_but_one() -> None:
    keys = msgspec.toml.decode(RULEBOOK.read_bytes())["reward"].keys() - {"decay", "decay_ticks"}
    assert keys == set(REWARDS)


@pytest.mark.parametrize("game", ["pommerman", "moba"])
def test_deeds_are_whole_numbers_for_each_member(game: str) -> None:
    settings = MatchSettings(matches=4)
    lines = list(counted("x", UNIFORM, None, game, PARAMS[game], settings))
    deeds = {line.label.split(", ")[1] for line in lines}
    assert len(lines) == len(deeds) * len(MEMBERS[game])
    for line in lines:
        assert line.value is not None
        assert line.value * settings.matches == pytest.approx(round(line.value * settings.matches), abs=1e-3)
        assert line.value >= 0
    assert any(line.value for line in lines)

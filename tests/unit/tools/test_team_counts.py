"""Deeds of the members of a team are counted by matches that pay for only one deed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from benchmarks.strength.team_counts import MEMBERS, REWARDS, settings_of
from tools.play_lines import again, play

RULEBOOK = Path(__file__).parents[3] / "src/ludus/games/rulebooks/moba.toml"
PARAMS = {"pommerman": {"mode": "team"}, "moba": {"heroes": "3"}}


def test_every_reward_of_the_rulebook_is_switched_off_but_one() -> None:
    keys = msgspec.toml.decode(RULEBOOK.read_bytes())["reward"].keys() - {"decay", "decay_ticks"}
    assert keys == set(REWARDS)


@pytest.mark.parametrize("game", ["pommerman", "moba"])
def test_deeds_are_whole_numbers_for_each_member(game: str) -> None:
    settings = list(settings_of(game, PARAMS[game], 4))
    deeds = {setting.returned.split(", ")[0] for setting in settings}
    assert len(settings) == len(deeds) * len(MEMBERS[game])
    lines = [play(setting.returned, setting, 1, player="uniform") for setting in settings]
    for line in lines:
        assert len(line.samples) == 4
        assert all(s == pytest.approx(round(s), abs=1e-3) and s >= -1e-6 for s in line.samples)
    assert any(sum(line.samples) for line in lines)
    assert again(lines[0]).samples == lines[0].samples

"""The demo shows a match that its policy won, or names the one that it shows instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.games import replays
from tools.pick_replay import pick


def files(tmp_path: Path, count: int) -> list[Path]:
    found = []
    for match in range(count):
        path = tmp_path / f"{match}.ludus"
        path.write_bytes(replays.record("tic_tac_toe", seed=3, match=match, bots=("random", "random")))
        found.append(path)
    return found


def test_the_longest_match_is_shown_where_no_policy_won(tmp_path: Path) -> None:
    recorded = files(tmp_path, 6)
    longest = max(replays.info(f.read_bytes()).ticks for f in recorded)
    assert replays.info(pick(recorded).read_bytes()).ticks == longest


@pytest.mark.parametrize("player", ["policy:0", "version 12", "runs/demo@best"])
def test_the_middle_won_match_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, player: str) -> None:
    recorded = files(tmp_path, 4)
    printed = replays.info(recorded[0].read_bytes())
    won, lost = (1.0, -1.0), (-1.0, 1.0)
    story = {
        f.read_bytes(): (ticks, outcome)
        for f, ticks, outcome in zip(recorded, (900, 500, 700, 9000), (won, won, won, lost))
    }

    def info(data: bytes) -> replays.ReplayInfo:
        ticks, outcome = story[data]
        fields = {name: getattr(printed, name) for name in printed.__struct_fields__}
        fields |= {"players": (player, "simple"), "ticks": ticks, "outcome": outcome}
        return replays.ReplayInfo(**fields)

    monkeypatch.setattr(replays, "info", info)
    assert pick(recorded) == recorded[2]

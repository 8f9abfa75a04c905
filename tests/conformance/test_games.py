"""Every built-in game keeps the contract that ``ludus games check`` holds third-party games to."""

from __future__ import annotations

import pytest

from ludus.games import check_game, list_games


@pytest.mark.parametrize("game", list_games())
def test_a_built_in_game_conforms(game: str) -> None:
    report = check_game(game, matches=6)
    assert [f for f in report.findings if not f.passed] == []
    assert len(report.findings) >= 14
    # Capture the Flag keeps what its path searches have learned (docs/games/capture_the_flag.md).
    kib = 64 if game == "capture_the_flag" else 12
    assert report.state_bytes < kib * 1024

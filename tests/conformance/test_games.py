"""Every built-in game keeps the contract that ``ludus games check`` holds third-party games to."""

from __future__ import annotations

import pytest

from ludus.games import check_game, list_games


@pytest.mark.parametrize("game", list_games())
def test_a_built_in_game_conforms(game: str) -> None:
    report = check_game(game, matches=6)
    assert [f for f in report.findings if not f.passed] == []
    assert len(report.findings) >= 14
    assert report.state_bytes < 12 * 1024

"""Every built-in game keeps the contract that ``ludus games check`` holds third-party games to."""

from __future__ import annotations

import pytest

from ludus.games import check_game
from ludus.games.registry import BUILT_IN


@pytest.mark.parametrize("game", BUILT_IN)
def test_a_built_in_game_conforms(game: str) -> None:
    report = check_game(game, matches=6)
    assert [f for f in report.findings if not f.passed] == []
    assert len(report.findings) >= 14
    # These keep what their path searches have learned, tables of it, and routes (docs/decisions/0008).
    kib = {"capture_the_flag": 88, "tower_defense": 64, "minirts": 36, "rts": 36}.get(game, 12)
    assert report.state_bytes < kib * 1024

"""A hero learns its lane from self-play: it beats random play, and the scripted bot in some matches."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.presets.file import load_preset
from ludus.training.runs import start_run


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_one_hero_learns_to_win_its_lane(tmp_path: Path) -> None:
    overrides = {
        "run.max_minutes": "0",
        "run.max_steps": "500000",
        "evaluation.every_steps": "0",
        "evaluation.final_matches": "200",
    }
    preset = load_preset("presets/moba-1v1.toml", overrides).preset
    final = start_run(preset, tmp_path / "run").final
    won = {e.against: e.win_rate or 0.0 for e in final}
    assert won["random"] >= 0.95
    assert won["simple"] > 0.3

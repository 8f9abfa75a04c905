"""A policy learns where to build: most matches are survived; random choices survive one in a hundred."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.train.api import start_run
from ludus.train.preset_file import load_preset


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_tower_defense_is_survived(tmp_path: Path) -> None:
    overrides = {
        "run.max_minutes": "0",
        "run.max_steps": "110000",
        "evaluation.every_steps": "0",
        "evaluation.final_matches": "200",
    }
    preset = load_preset("presets/tower-defense.toml", overrides).preset
    result = start_run(preset, tmp_path / "run")
    assert result.final[0].ci_low > 0.6

"""A policy learns MiniRTS against SIMPLE: clearly more than random choices win (24.2% in the ELF paper)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.train.api import start_run
from ludus.train.preset_file import load_preset


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_minirts_against_simple(tmp_path: Path) -> None:
    overrides = {
        "run.max_minutes": "0",
        "run.max_steps": "400000",
        "evaluation.every_steps": "200000",
        "evaluation.final_matches": "300",
    }
    preset = load_preset("presets/minirts.toml", overrides).preset
    result = start_run(preset, tmp_path / "run")
    final = {r.against: r for r in result.final}["simple"]
    assert final.ci_low > 0.32

"""A policy learns MiniRTS against SIMPLE: clearly more than random choices win (20%; ELF paper: 24%)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.train.api import start_run
from ludus.train.preset_file import load_preset


@pytest.mark.timeout(300)
def test_minirts_against_simple(tmp_path: Path) -> None:
    overrides = {
        "run.max_minutes": "0",
        "run.max_steps": "200000",
        "algorithm.epochs": "3",
        "evaluation.every_steps": "1000000",
        "evaluation.final_matches": "300",
    }
    preset = load_preset("presets/minirts.toml", overrides).preset
    result = start_run(preset, tmp_path / "run")
    final = {r.against: r for r in result.final}["simple"]
    assert final.ci_low > 0.28

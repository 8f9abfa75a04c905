"""CartPole through Gymnasium and the process pool: solved by the shipped preset."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.presets.file import load_preset
from ludus.training.runs import start_run


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_cartpole_is_balanced(tmp_path: Path, seed: int) -> None:
    pytest.importorskip("gymnasium")
    preset = load_preset("cartpole", {"run.seed": str(seed), "run.max-steps": "200000"}).preset
    result = start_run(preset, tmp_path / "run")
    assert result.final[0].mean_return >= 475
    assert result.reason.startswith("target = 475")


@pytest.mark.slow
def test_cartpole_is_balanced_by_dqn(tmp_path: Path) -> None:
    pytest.importorskip("gymnasium")
    result = start_run(load_preset("cartpole-dqn", {"run.max-steps": "120000"}).preset, tmp_path / "run")
    assert result.final[0].mean_return >= 475
    assert result.reason.startswith("target = 475")

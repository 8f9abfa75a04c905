"""A clone of a search plays nearly as well, without searching."""

from __future__ import annotations

from pathlib import Path

from ludus.presets.file import load_preset
from ludus.train.api import start_run


def test_tic_tac_toe_from_a_search(tmp_path: Path) -> None:
    settings = {"run.max_steps": "50000", "evaluation.every_steps": "0", "evaluation.against": "random"}
    final = start_run(load_preset("tic_tac_toe-imitation", settings).preset, tmp_path / "run").final[0]
    assert final.ci_low > 0.7  # two random players: 44% over both seats
    assert final.losses < 0.15 * final.matches

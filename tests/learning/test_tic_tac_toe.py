"""A policy learns tic-tac-toe against its random bot, in under a minute of one processor."""

from __future__ import annotations

from pathlib import Path

from ludus.evaluation.evaluate import evaluate
from ludus.evaluation.settings import MatchSettings
from ludus.presets.file import load_preset
from ludus.training.runs import start_run


def test_training_beats_random_at_tic_tac_toe(tmp_path: Path) -> None:
    overrides = {"run.max_steps": "250000", "evaluation.every_steps": "0", "pool.rollout_length": "16"}
    preset = load_preset("presets/tic_tac_toe.toml", overrides).preset
    result = start_run(preset, tmp_path / "run")
    before = evaluate("random", "random", MatchSettings(matches=1000), game="tic_tac_toe")
    final = result.final[0]
    # Two random players: the one that opens wins 58%, the other 29%. A perfect player never loses.
    assert before.won[2] < 0.5
    assert final.won[1] > 0.75
    assert final.counts[2] < final.matches * 0.2

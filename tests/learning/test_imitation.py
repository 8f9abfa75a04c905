"""Clones play nearly as well as their teachers."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.datasets.play import BotMatches, record_matches
from ludus.presets.file import load_preset
from ludus.reporting.run_view import RunView
from ludus.training.runs import start_run


def test_imitation_learns_tic_tac_toe_from_a_search(tmp_path: Path) -> None:
    settings = {"run.max_steps": "50000", "evaluation.every_steps": "0", "evaluation.against": "random"}
    final = start_run(load_preset("tic_tac_toe-imitation", settings).preset, tmp_path / "run").final[0]
    assert final.won[1] > 0.7  # two random players: 44% over both seats
    assert final.counts[2] < 0.15 * final.matches


@pytest.mark.slow
def test_imitation_learns_minirts_from_its_bot(tmp_path: Path) -> None:
    """SIMPLE against itself wins half of its matches; so does its clone."""
    settings = {"run.max_steps": "150000", "evaluation.every_steps": "0", "evaluation.final_matches": "500"}
    final = start_run(load_preset("minirts-imitation", settings).preset, tmp_path / "run").final[0]
    assert final.won[0] > 0.35  # untrained: 19.8% of 500, with drawn choices as here


@pytest.mark.slow
def test_a_clone_of_recorded_matches_decides_and_wins_as_its_bot(tmp_path: Path) -> None:
    """SIMPLE against itself wins half of its matches."""
    bots = BotMatches(
        "minirts",
        tmp_path / "bots",
        params={"commands": "combined"},
        bots=("simple",),
        matches=1000,
        frame_skip=(50,),
    )
    record_matches(bots)
    settings = {
        "algorithm.data": str(bots.to),
        "run.max_steps": "600000",
        "evaluation.every_steps": "0",
        "evaluation.matches": "2",
        "evaluation.final_matches": "1000",
    }
    start_run(load_preset("minirts-records", settings).preset, tmp_path / "run")
    evaluations = RunView.open(tmp_path / "run").metrics().evaluations
    initial, final = evaluations[0], evaluations[-1]
    assert initial.version == 0
    assert initial.held_out["imitation/top1"] < 0.7
    assert final.held_out["imitation/top1"] >= 0.99
    assert final.held_out["imitation/decisions"] > 4000
    result = final.results[0]
    assert result.ci_low is not None
    assert result.ci_high is not None
    assert result.ci_low <= 0.5 <= result.ci_high

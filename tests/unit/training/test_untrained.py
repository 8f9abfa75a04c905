"""A run that ends without a gradient step reports the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.training.runs import start_run

from . import test_alphazero, test_dqn_runs
from .runs import Recorder, small_preset

NOTHING = "nothing was learned, the weights are the initial ones"


@pytest.mark.usefixtures("stepped_self_play")
def test_self_play_with_too_few_matches_for_the_window_is_reported(tmp_path: Path) -> None:
    recorder = Recorder()
    changes = {"run.max_steps": "60", "evaluation.final_matches": "0", "algorithm.window_matches_min": "5000"}
    result = start_run(test_alphazero.preset(**changes), tmp_path / "run", sinks=[recorder])
    (message,) = (m for m in recorder.messages if NOTHING in m)
    assert result.version == 0
    assert "matches were played to their end, algorithm.window_matches_min = 5000" in message


def test_dqn_with_too_few_decisions_to_start_is_reported(tmp_path: Path) -> None:
    recorder = Recorder()
    changes = {"run__max_steps": 400, "evaluation__every_steps": 0, "algorithm__learning_starts": 9000}
    start_run(test_dqn_runs.preset_of(**changes), tmp_path / "run", sinks=[recorder])
    (message,) = (m for m in recorder.messages if NOTHING in m)
    assert "decisions were played, algorithm.learning_starts = 9000" in message


def test_a_run_that_learns_reports_no_problem(tmp_path: Path) -> None:
    recorder = Recorder()
    start_run(small_preset(run__max_steps=300), tmp_path / "run", sinks=[recorder])
    assert not [m for m in recorder.messages if NOTHING in m]

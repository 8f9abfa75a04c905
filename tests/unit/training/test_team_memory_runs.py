"""Runs whose critic joins the memories of a team: resumed bit by bit, alone and in a league."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.presets.config import Preset
from ludus.presets.errors import Interrupted
from ludus.presets.file import parse_preset
from ludus.training.runs import start_run

from .league.test_league_runs import LEAGUE
from .runs import Recorder, reproducible_rows, resume_run, small_preset
from .test_runs import InterruptAt, last_weights, same_weights
from .test_team_spirit import SQUADS

TEAM: dict[str, object] = {
    **SQUADS,
    "game__params__fog": 1,
    "policy__inputs": "board,about",
    "policy__channels": "8",
    "policy__strides": "2",
    "policy__gather": "middle",
    "policy__norm": "none",
    "policy__dense": "8",
    "policy__hidden": "12",
    "policy__memory": "lstm",
    "policy__memory_size": 8,
    "policy__critic": "own",
    "policy__critic_sees": "team",
}


def league(lag: str) -> Preset:
    changes = {name.replace("__", "."): str(value) for name, value in TEAM.items()}
    return parse_preset(
        LEAGUE.format(game="pommerman", steps=1200, lag=lag).encode(), "league", overrides=changes
    ).preset


@pytest.mark.parametrize(
    ("kind", "lag"),
    [
        ("run", "sync"),
        ("league", "pipelined"),
        pytest.param("run", "pipelined", marks=pytest.mark.slow),
        pytest.param("league", "sync", marks=pytest.mark.slow),
    ],
)
def test_a_run_with_team_memories_resumes_bit_equal(tmp_path: Path, kind: str, lag: str) -> None:
    preset = small_preset(**TEAM, run__lag=lag) if kind == "run" else league(lag)
    recorder = Recorder()
    start_run(preset, tmp_path / "whole", sinks=[recorder])
    assert all(update.numbers["learner/grad_norm"] > 0.0 for update in recorder.updates)
    with pytest.raises(Interrupted):
        start_run(preset, tmp_path / "run", sinks=[InterruptAt(4)])
    resume_run(tmp_path / "run")
    rows = reproducible_rows(tmp_path / "run" / "metrics.jsonl")
    assert rows == reproducible_rows(tmp_path / "whole" / "metrics.jsonl")
    if kind == "run":
        assert same_weights(last_weights(tmp_path / "run"), last_weights(tmp_path / "whole"))

"""Whole runs by each method: killed ones resume bit-equal, and settings that train nothing end a run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ludus.cli import __main__ as cli
from ludus.policies.weights import save_weights
from ludus.presets.errors import ConfigError
from ludus.training.actor_learner.build import build_learner
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run

from .runs import Recorder, reproducible_rows, small_preset
from .test_runs import last_weights, same_weights, start_and_kill

SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("method", "lag", "memory"),
    [
        pytest.param("a2c", "pipelined", "gru", marks=SLOW),
        ("policy_gradient", "sync", "none"),
        pytest.param("trpo", "pipelined", "none", marks=SLOW),
        pytest.param("trpo", "sync", "recall", marks=SLOW),
        pytest.param("a2c", "sync", "none", marks=SLOW),
        pytest.param("impala", "sync", "none", marks=SLOW),
        pytest.param("impala", "pipelined", "lstm", marks=SLOW),
        pytest.param("policy_gradient", "pipelined", "recall", marks=SLOW),
    ],
)
def test_killed_runs_resume_bit_equal(tmp_path: Path, method: str, lag: str, memory: str) -> None:
    overrides: dict[str, object] = {"algorithm__name": method, "run__lag": lag, "run__max_steps": 900}
    if memory == "recall":  # remembers vectors, which tic-tac-toe has none of
        overrides |= {"game__name": "minirts", "opponents__0__name": "simple", "policy__inputs": "globals"}
    overrides |= {"policy__memory": memory, "policy__memory_size": 8, "evaluation__every_steps": 0}
    if method == "trpo":
        overrides |= {"policy__critic": "own"}
    if method == "policy_gradient" and memory == "none":
        overrides |= {"algorithm__baseline": "mean"}
    overrides |= {"evaluation__final_matches": 4, "run__checkpoint_every_minutes": 0.0000001}
    preset = small_preset(**overrides)
    start_run(preset, tmp_path / "whole" / "run")
    start_and_kill(preset, tmp_path / "killed" / "run", update=7)
    recorder = Recorder()
    resume_run(tmp_path / "killed" / "run", sinks=[recorder])
    assert 4 <= recorder.updates[0].version <= 7
    whole, killed = tmp_path / "whole" / "run", tmp_path / "killed" / "run"
    assert reproducible_rows(killed / "metrics.jsonl") == reproducible_rows(whole / "metrics.jsonl")
    assert same_weights(last_weights(killed), last_weights(whole))


def test_a_run_whose_matches_end_in_no_slab_names_the_settings_that_help(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """MiniRTS matches have about a hundred decisions, slabs four: exit code 2, and the run stays whole."""
    preset = tmp_path / "short.toml"
    preset.write_text(
        '[game]\nname = "minirts"\n[[opponents]]\nname = "simple"\n[pool]\nslots = 8\nrollout_length = 4\n'
        '[policy]\ninputs = ["globals"]\ndense = [8]\nhidden = [8]\n'
        '[algorithm]\nname = "policy_gradient"\nbaseline = "none"\nminibatches = 1\n'
        '[run]\nmax_steps = 100_000\nthreads = 1\nlag = "sync"\n'
    )
    assert cli.main(["train", str(preset), "--run-dir", str(tmp_path / "run"), "--quiet"]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert lines[-1].startswith('algorithm.baseline = "none": ')
    assert 'raise pool.rollout_length, which is 4, or set algorithm.baseline = "value"' in lines[-1]
    assert (tmp_path / "run" / "metrics.jsonl").exists()


@pytest.mark.slow
def test_a_killed_run_resumes_with_its_own_copy_of_the_teacher(tmp_path: Path) -> None:
    """The teacher's run is removed, and its memory of every row is kept."""
    recurrent = {"policy__memory": "gru", "policy__memory_size": 8, "evaluation__every_steps": 0}
    start_run(
        small_preset(**recurrent, evaluation__final_matches=0, run__max_steps=300), tmp_path / "teacher"
    )
    overrides: dict[str, object] = recurrent | {"run__max_steps": 900, "evaluation__final_matches": 0}
    overrides |= {"algorithm__teacher": f"{tmp_path / 'teacher'}@last", "run__seed": 4}
    overrides |= {"algorithm__kl_coefficient": 0.1, "run__checkpoint_every_minutes": 0.0000001}
    preset = small_preset(**overrides)
    whole, killed = tmp_path / "whole" / "run", tmp_path / "killed" / "run"
    start_run(preset, whole)
    start_and_kill(preset, killed, update=7)
    shutil.rmtree(tmp_path / "teacher")
    resume_run(killed)
    assert reproducible_rows(killed / "metrics.jsonl") == reproducible_rows(whole / "metrics.jsonl")
    assert same_weights(last_weights(killed), last_weights(whole))


def test_an_impossible_teacher_leaves_no_run(tmp_path: Path) -> None:
    teacher = tmp_path / "teacher.safetensors"
    save_weights(build_learner(small_preset()).weights(), teacher)
    for changes, message in (
        ({"algorithm__teacher": "nowhere@best"}, r'algorithm\.teacher = "nowhere@best": '),
        (
            {"algorithm__teacher": teacher, "run__lag": "async", "run__over_lag": "drop"},
            r'run\.over_lag = "drop": expected "wait" where a teacher sees every slab',
        ),
        (
            {"algorithm__teacher": teacher, "run__topology": "one_to_one"},
            r'run\.topology = "one_to_one": expected "many_to_one" where there is a teacher',
        ),
    ):
        with pytest.raises(ConfigError, match=message):
            start_run(small_preset(**changes), tmp_path / "run")
        assert not (tmp_path / "run").exists()

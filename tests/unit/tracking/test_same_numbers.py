"""W&B, TensorBoard, MLflow and CSV of a run hold the numbers of ``metrics.jsonl``."""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from ludus.cli.__main__ import main
from ludus.reporting.metrics_table import COLUMNS, metrics_table
from ludus.reporting.run_view import RunView
from ludus.reporting.tracking import process
from ludus.storage import RunDirectory, read_jsonl
from ludus.training.runs import start_run
from tests.unit.tracking import wandb_file
from tests.unit.training.runs import resume_run, small_preset


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "small", ignore=shutil.ignore_patterns("tensorboard")))


def logged(run: Path) -> list[dict[str, float]]:
    """Return the numbers of ``metrics.jsonl`` by name, with the steps."""
    rows = read_jsonl(RunDirectory(run).metrics_path)
    return [{n: v for n, v in row.items() if "/" in n or n == "steps"} for row in rows]  # type: ignore[misc]


def track(run: Path, to: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Run ``ludus track`` without a login, as a newcomer does."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("WANDB_")}
    env |= {"HOME": str(run.parent), "NETRC": str(run.parent / "none")}
    command = [sys.executable, "-m", "ludus", "track", str(run), "--to", to, *more]
    return subprocess.run(
        command, env=env, cwd=run.parent, capture_output=True, text=True, timeout=500, check=False
    )


def curves(rows: list[dict[str, float]]) -> dict[str, list[tuple[float, float]]]:
    """Return name -> (steps, value), without the results at the end."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        for name, value in row.items():
            if name != "steps" and not name.startswith(("_", "final/", "playoff/")):
                found.setdefault(name, []).append((row["steps"], value))
    return {name: sorted(points) for name, points in found.items()}


def test_wandb_holds_the_same_numbers(run: Path) -> None:
    pytest.importorskip("wandb")
    done = track(run, "wandb", "--tags", "a,b")
    assert done.returncode == 0, done.stderr
    assert "no login" in done.stderr
    assert "wandb sync " in done.stderr
    assert done.stderr.count("\n") == 1
    kept = wandb_file.read(run / "tracking" / "wandb")
    rows = logged(run)
    assert curves(kept.history) == curves(rows)
    assert len(curves(rows)) > 20
    final = next(row for row in reversed(rows) if "final/random/win_rate" in row)
    for name in (n for n in final if n.startswith("final/")):
        assert kept.summary[name] == final[name]
    assert kept.summary["state"] == "finished"
    assert kept.config["run.max_steps"] == 1600
    assert kept.config["policy.hidden"] == "16"
    assert {"report.html", "config.toml"} <= set(kept.files)
    assert any(name.endswith(".ludus") for name in kept.files)


@pytest.mark.slow  # MLflow takes seconds to make its database
def test_mlflow_holds_the_same_numbers(run: Path) -> None:
    pytest.importorskip("mlflow")
    from mlflow.tracking import MlflowClient

    os.environ["MLFLOW_TRACKING_URI"] = store = f"sqlite:///{run.parent / 'mlflow.db'}"
    try:
        done = track(run, "mlflow", "--project", "small games", "--tags", "a")
        again = track(run, "mlflow", "--project", "small games")
    finally:
        del os.environ["MLFLOW_TRACKING_URI"]
    assert done.returncode == 0, done.stderr
    assert "0 new rows" in again.stdout, again.stderr
    client = MlflowClient(store)
    experiment = client.get_experiment_by_name("small games")
    assert experiment is not None
    (found,) = client.search_runs([experiment.experiment_id])
    expected = curves(logged(run))
    final = next(row for row in reversed(logged(run)) if "final/random/win_rate" in row)
    results = {name: value for name, value in final.items() if name.startswith("final/")}
    assert set(found.data.metrics) == set(expected) | set(results)
    for name in expected:
        points = [(m.step, m.value) for m in client.get_metric_history(found.info.run_id, name)]
        assert sorted(points) == expected[name]
    assert {name: found.data.metrics[name] for name in results} == results
    assert found.data.params["run.max_steps"] == "1600"
    assert found.data.tags["a"] == "true"
    assert found.info.status == "FINISHED"
    assert {"report.html", "replays"} <= {file.path for file in client.list_artifacts(found.info.run_id)}


def test_tensorboard_holds_the_same_numbers(run: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams import plugin_data_pb2

    assert track(run, "tensorboard").returncode == 0
    reader = EventAccumulator(str(run / "tensorboard"), size_guidance={"scalars": 0, "tensors": 0})
    reader.Reload()
    rows = logged(run)
    expected = curves(rows)
    found = {tag: [(s.step, s.value) for s in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]}
    finals = {tag for tag in found if tag.startswith("final/")}
    assert set(found) - finals == set(expected)
    for tag, points in expected.items():
        np.testing.assert_array_equal(np.array(found[tag], np.float32), np.array(points, np.float32))
    final = next(row for row in reversed(rows) if "final/random/win_rate" in row)
    assert {tag: np.float32(points[-1][1]) for tag, points in found.items() if tag in finals} == {
        name: np.float32(value) for name, value in final.items() if name.startswith("final/")
    }
    about = reader.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    hparams = plugin_data_pb2.HParamsPluginData.FromString(about).session_start_info.hparams
    assert hparams["run.max_steps"].number_value == 1600
    assert b"Win rate while training" in reader.Tensors("report")[0].tensor_proto.string_val[0]


def test_csv_holds_the_same_numbers(trained: Path) -> None:
    table = list(csv.DictReader(io.StringIO(metrics_table([RunView(RunDirectory(trained))]))))
    found = [
        {n: float(v) for n, v in row.items() if v and (n == "steps" or n not in COLUMNS)} for row in table
    ]
    key = lambda row: sorted(row.items())  # noqa: E731
    assert sorted(found, key=key) == sorted(logged(trained), key=key)
    kinds = [row["kind"] for row in table]
    assert kinds[0] == "initial"
    assert kinds[-1] == "final"
    assert {"update", "evaluation"} <= set(kinds)
    assert {row["run"] for row in table} == {"small"}


@pytest.mark.slow
def test_a_resume_continues_the_same_run_of_wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after kill -9: the newest checkpoint is older than the last rows, which were sent."""
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setattr(process, "CLOSE_S", 500.0)  # on a busy machine
    path = tmp_path / "run"
    preset = small_preset(tracking__sinks="wandb", run__checkpoint_every_minutes=0, run__keep_checkpoints=9)
    start_run(preset, path)
    run = RunDirectory.open(path)
    sent = curves(wandb_file.read(path / "tracking" / "wandb").history)
    for version in run.checkpoints.versions()[2:]:
        shutil.rmtree(run.checkpoints.path(version))
    resume_run(path, more=lambda p: replace(p, run=replace(p.run, max_steps=3200)))
    kept = wandb_file.read(path / "tracking" / "wandb")  # asserts one id
    found = curves(kept.history)
    for name, points in found.items():
        steps = [step for step, _ in points]
        assert len(steps) == len(set(steps)), name
        assert points[: len(sent.get(name, []))] == sent.get(name, []), name
    logged_steps = {row["steps"] for row in logged(path) if "loss/value" in row}
    assert {step for step, _ in found["loss/value"]} == logged_steps
    assert max(logged_steps) >= 3200
    steps_of_wandb = [row["_step"] for row in kept.history if "_step" in row]
    assert steps_of_wandb == sorted(set(steps_of_wandb))


def test_wrong_commands_are_answered(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(trained)
    for words, message in (
        (["track"], "missing RUN"),
        (["track", run], "missing --to SINK; expected one of mlflow, tensorboard, wandb"),
        (["track", run, "--to", "wandbb"], '--to = "wandbb": no such sink (did you mean wandb?)'),
        (["track", run, run + "/replays", "--to", "tensorboard"], "not a run"),
        (["track", str(trained.parent / "nowhere"), "--to", "tensorboard"], "not a run directory"),
        (["report", run, "--csv", "--json"], "--csv and --json: expected one of them"),
    ):
        assert main(words) == 2, words
        assert message in capsys.readouterr().err

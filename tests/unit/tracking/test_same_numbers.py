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

from ludus.reporting.metrics_table import COLUMNS, metrics_table
from ludus.reporting.run_view import RunView
from ludus.storage import RunDirectory, read_jsonl
from tests.unit.tracking import wandb_file


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
        command, env=env, cwd=run.parent, capture_output=True, text=True, timeout=120, check=False
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

"""A sink of an installed package receives a run's rows; a broken, hanging or unknown one costs nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ludus.presets.errors import ConfigError
from ludus.reporting.sinks import Sink
from ludus.reporting.tracking import process, registry
from ludus.storage import RunDirectory, read_jsonl
from ludus.training.runs import start_run
from tests.unit.training.runs import small_preset

CODE = """
import json, os, pathlib, time
from ludus import Sink

class Kept(Sink):
    def start(self, run):
        self.file = (run.path / "kept.jsonl").open("a")
        self.put("start", run.preset.tracking.project)
        run.say("kept: started")
    def put(self, *row):
        print(json.dumps(row), file=self.file, flush=True)
    def update(self, metrics):
        self.put("update", metrics.steps, metrics.numbers["loss/value"])
    def evaluation(self, evaluation):
        self.put("evaluation", evaluation.steps, evaluation.score)
    def close(self):
        self.put("close", os.path.exists("report.html"))

class Raising(Kept):
    def start(self, run):
        raise RuntimeError("no such server")

class Dying(Kept):
    def start(self, run):
        os.abort()

class Hanging(Kept):
    def start(self, run):
        time.sleep(1000)

class Partial:
    def start(self, run): ...
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a distribution that declares sinks."""
    about = tmp_path / "site" / "trackers-1.5.dist-info"
    about.mkdir(parents=True)
    (about.parent / "my_trackers.py").write_text(CODE)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: trackers\nVersion: 1.5\n")
    names = ("kept", "raising", "dying", "hanging", "partial")
    entries = [f"{name} = my_trackers:{name.title()}" for name in names]
    (about / "entry_points.txt").write_text("\n".join(["[ludus.sinks]", *entries, "gone = nowhere:Sink", ""]))
    monkeypatch.syspath_prepend(str(about.parent))
    monkeypatch.setattr(registry.SINKS, "_found", {})
    monkeypatch.setattr(process, "CLOSE_S", 500.0)  # on a busy machine


class Messages(Sink):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def message(self, text: str) -> None:
        self.lines.append(text)


def trained(path: Path, sink: str) -> list[str]:
    """Train a run that reports to ``sink``, and return its messages."""
    said = Messages()
    result = start_run(small_preset(tracking__sinks=sink, tracking__project="mine"), path, sinks=[said])
    assert result.steps >= 1600
    assert Path(result.report).is_file()
    return said.lines


def test_a_package_brings_a_sink(tmp_path: Path) -> None:
    path = tmp_path / "run"
    said = trained(path, "kept")
    rows = [json.loads(line) for line in (path / "kept.jsonl").read_text().splitlines()]
    logged = list(read_jsonl(RunDirectory(path).metrics_path))
    assert rows[0] == ["start", "mine"]
    assert rows[-1][0] == "close"
    assert [row[1:] for row in rows if row[0] == "update"] == [
        [row["steps"], row["loss/value"]] for row in logged if row["kind"] == "update"
    ]
    assert [row[1:] for row in rows if row[0] == "evaluation"] == [
        [row["steps"], row["score"]] for row in logged if row["kind"] == "evaluation"
    ]
    assert said.count("kept: started") == 1
    assert "kept: started" in (path / "log.txt").read_text()


@pytest.mark.parametrize(
    ("sink", "said"),
    [
        ("raising", "problem: raising: RuntimeError: no such server"),
        pytest.param(
            "dying", "problem: dying: tracking ended (signal 6, see ", marks=pytest.mark.slow, id="dying"
        ),
    ],
)
def test_a_broken_sink_costs_the_run_nothing(tmp_path: Path, sink: str, said: str) -> None:
    lines = trained(tmp_path / "run", sink)
    assert any(line.startswith(said) for line in lines), lines
    assert any(f"ludus track {tmp_path / 'run'} --to {sink}" in line for line in lines)


def test_a_hanging_sink_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "CLOSE_S", 0.5)
    lines = trained(tmp_path / "run", "hanging")
    assert any("hanging: no end within" in line for line in lines), lines


@pytest.mark.parametrize(
    ("sink", "message"),
    [
        ("kepd", r'tracking.sinks = "kepd": no such sink \(did you mean kept\?\)'),
        ("partial", r"sink 'partial': .* has no update\(\); expected a class that extends ludus.Sink"),
        ("gone", r"the entry point nowhere:Sink of trackers 1.5 cannot be loaded"),
    ],
)
def test_a_sink_that_cannot_be_used_is_refused_before_the_run(
    tmp_path: Path, sink: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        start_run(small_preset(tracking__sinks=sink), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"wandb is not installed; pip install '.\[wandb\]'"):
        registry.sink_class("wandb")
    assert registry.sink_classes(["tensorboard"]) == {}

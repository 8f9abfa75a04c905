"""Rows of ``metrics.jsonl``: written and read again; sinks that fail."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ludus.reporting.metrics import UpdateMetrics, metrics_of, metrics_row
from ludus.reporting.run_view import RunView
from ludus.reporting.sinks import Sink
from ludus.storage import CorruptFile, RunDirectory, read_jsonl
from ludus.training.runs import start_run

from .runs import Recorder, small_preset


def update(**numbers: float) -> UpdateMetrics:
    named = {name.replace("__", "/"): value for name, value in numbers.items()}
    return UpdateMetrics(3, 96, 128, 200, 16, 0.5, named, {0: 64, 1: 32}, {"random": (2, 0, 5)})


def test_a_row_has_namespaced_scalars_and_is_read_again() -> None:
    row = metrics_row(update(loss__value=0.25, lag__mean=0.5))
    assert row["schema"] == 2
    assert (row["kind"], row["version"], row["loss/value"], row["lag/mean"]) == ("update", 3, 0.25, 0.5)
    assert "numbers" not in row
    stored = msgspec.json.decode(msgspec.json.encode(row), type=dict[str, object])
    assert metrics_of(stored) == update(loss__value=0.25, lag__mean=0.5)


def test_a_number_that_is_not_finite_is_left_out_when_it_is_read() -> None:
    row = metrics_row(update(loss__value=float("nan"), loss__policy=1.0))
    stored = msgspec.json.decode(msgspec.json.encode(row), type=dict[str, object])
    assert metrics_of(stored) == update(loss__policy=1.0)


def test_a_run_has_the_scalars_of_its_evaluations(tmp_path: Path) -> None:
    start_run(small_preset(run__max_steps=800), tmp_path / "run")
    rows = [r for r in read_jsonl(tmp_path / "run" / "metrics.jsonl") if r["kind"] == "evaluation"]
    assert {key.split("/")[0] for row in rows for key in row if "/" in key} >= {"eval", "final"}
    for row in rows:
        (result,) = msgspec.convert(row["results"], list[dict[str, object]])
        namespace = "final" if row["final"] else "playoff" if row["playoff"] else "eval"
        assert row[f"{namespace}/random/win_rate"] == result["win_rate"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ('{"schema":3,"kind":"update"}', "schema 3, this version of ludus reads 2"),
        ('{"schema":2,"kind":"update","version":"x"}', "version"),
        ('{"schema":2,"kind":"evaluation"}', "version"),
        ('{"kind":"update","version":3}', "schema None, this version of ludus reads 2"),
    ],
)
def test_a_bad_row_is_named(row: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    start_run(small_preset(evaluation__every_steps=0, run__max_steps=200), path)
    run = RunDirectory.open(path)
    good = len(run.metrics_path.read_text().splitlines())
    with run.metrics_path.open("a") as file:
        file.write(row + "\n")
    with pytest.raises(CorruptFile, match=rf"metrics\.jsonl:{good + 1}: .*{reason}"):
        RunView(run).metrics()


def test_a_run_with_a_bad_row_ends_without_a_report(tmp_path: Path) -> None:
    class Spoils(Recorder):
        def message(self, text: str) -> None:
            super().message(text)
            if text.startswith("training ends"):
                with (tmp_path / "run" / "metrics.jsonl").open("a") as file:
                    file.write('{"schema":3}\n')

    recorder = Spoils()
    short = small_preset(evaluation__every_steps=0, run__max_steps=200)
    result = start_run(short, tmp_path / "run", sinks=[recorder])
    assert result.steps >= 200
    assert any("report.md was not written" in m and "schema 3" in m for m in recorder.messages)


class Broken(Sink):
    """Sink that fails at the second update."""

    def __init__(self) -> None:
        self.seen = 0

    def update(self, metrics: UpdateMetrics) -> None:
        self.seen += 1
        if self.seen == 2:
            raise ValueError("no connection")

    def close(self) -> None:
        raise AssertionError("it was left out")


def test_a_sink_that_fails_is_left_out_and_the_run_continues(tmp_path: Path) -> None:
    broken, recorder = Broken(), Recorder()
    run = tmp_path / "run"
    result = start_run(
        small_preset(evaluation__every_steps=0, run__max_steps=800), run, sinks=[broken, recorder]
    )
    assert result.version > 2
    assert broken.seen == 2
    assert len(recorder.updates) == result.version
    problem = "problem: Broken is left out: no connection"
    assert recorder.messages.count(problem) == 1
    assert problem in (run / "log.txt").read_text()
    problems = [e["text"] for e in read_jsonl(run / "events.jsonl") if e["event"] == "problem"]
    assert problems == ["Broken is left out: no connection"]

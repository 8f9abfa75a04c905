"""Finished sweeps as a record of the published results."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import msgspec
import pytest

from benchmarks.strength import sweep_record
from ludus.ratings.compare import Summary
from ludus.train.sweep.comparison import TOGETHER, CellBudget, CellResult, Play
from ludus.train.sweep.report import SweepReport
from tools.results import Record, faults


def result(cell: str, against: str, play: Play, centre: float, low: float, high: float) -> CellResult:
    summary = Summary((centre, centre), centre, low, high, "mean", centre, 0.01)
    return CellResult(cell, against, play, False, 100, (1, 2), summary)


def sweep(
    folder: Path,
    results: list[CellResult],
    missing: tuple[str, ...] = (),
    presets: tuple[str, ...] = ("minirts-a2c",),
) -> Path:
    budgets = (CellBudget("a", 2, 1e6, 10, 1960, 1.0, 0.7), CellBudget("b", 2, 2e6, 20, 3920, 2.0, 1.5))
    report = SweepReport("", "0", "", tuple(results), budgets, {}, (), {}, missing)
    folder.mkdir()
    (folder / "results.json").write_bytes(msgspec.json.encode(report))
    kept = {"started": "2026-11-25T04:12:29Z", "config": {"source": f"sweeps/{folder.name}.toml"}}
    (folder / "sweep.json").write_text(json.dumps(kept | {"presets": dict.fromkeys(presets, "")}))
    return folder


def test_a_record_of_two_sweeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = sweep(
        tmp_path / "first",
        [
            result("a", "simple", "drawn", 0.7694, 0.737, 0.778),
            result("a", "simple", "greedy", 0.4, 0.3, 0.5),
            result("a", TOGETHER, "drawn", 0.5, 0.4, 0.6),
            result("b", "simple", "drawn", 0.2, -math.inf, math.inf),
        ],
    )
    second = sweep(tmp_path / "second", [result("c", "random", "drawn", 0.9, 0.7, 1.1)], ("c,seed=3",))
    monkeypatch.setattr(sweep_record, "RECORDS", tmp_path)
    command = ["sweep_record", "made", str(first), str(second), "--title", "T", "--commit", "4a911c7"]
    monkeypatch.setattr(sys, "argv", [*command, "--machine", "M", "--cells", "a", "c"])
    sweep_record.main()
    made = msgspec.json.decode((tmp_path / "made.json").read_bytes(), type=Record)
    assert [f.text() for f in made.figures] == [
        "a, against simple, drawn: 76.9% [73.7, 77.8] of 2",
        "c, against random, drawn: 90% [70, 100] of 2",
    ]
    assert made.commands == ("ludus sweep sweeps/first.toml", "ludus sweep sweeps/second.toml")
    assert made.budget == "a run: 1.0 M decisions, 1,960 gradient steps, 0.7 processor minutes"
    assert "1 runs of sweeps/second.toml are missing." in made.notes
    assert made.preset == "minirts-a2c"
    assert not faults({"made": made})


def test_several_presets_are_named_by_the_sweep_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = sweep(
        tmp_path / "one",
        [result("a", "simple", "drawn", 0.2, 0.1, 0.3)],
        presets=("minirts-a2c", "minirts-ppo"),
    )
    monkeypatch.setattr(sweep_record, "RECORDS", tmp_path)
    command = ["sweep_record", "made", str(one), "--title", "T", "--commit", "4a911c7", "--machine", "M"]
    monkeypatch.setattr(sys, "argv", command)
    sweep_record.main()
    made = msgspec.json.decode((tmp_path / "made.json").read_bytes(), type=Record)
    assert made.preset == made.preset_sha256 == ""
    assert not faults({"made": made})


def test_an_interval_that_is_not_known_is_left_out(tmp_path: Path) -> None:
    one = sweep(tmp_path / "one", [result("b", "simple", "greedy", 0.2, -math.inf, math.inf)])
    report = msgspec.json.decode((one / "results.json").read_bytes(), type=sweep_record.Results)
    [figure] = sweep_record.figures(report, (), (), ("greedy",))
    assert (figure.value, figure.low, figure.high) == (20.0, None, None)

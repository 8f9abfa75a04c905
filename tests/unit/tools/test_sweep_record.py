"""Finished sweeps as a record of the published results."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pytest

from benchmarks.strength import sweep_record
from ludus.evaluation.results import EvalResult
from ludus.ratings.compare import summarise_runs
from ludus.train.sweep.comparison import CellBudget
from ludus.train.sweep.report import SweepReport
from ludus.train.sweep.results import RunRecord
from tools.raw_lines import read_lines
from tools.record_faults import faults
from tools.records import Record, load

MATCHES = 1000


def result(against: str, won: int) -> EvalResult:
    return EvalResult(
        player="run@9",
        against=against,
        game="minirts",
        matches=MATCHES,
        win_rate=won / MATCHES,
        ci_low=0.0,
        ci_high=1.0,
        wins=won,
        draws=MATCHES - won,
        losses=0,
        score=0.0,
        mean_ticks=1.0,
        mean_return=0.0,
        errors=0,
        seed=1,
    )


def run(
    cell: str, seed: int, final: tuple[EvalResult, ...], greedy: tuple[EvalResult, ...] = ()
) -> RunRecord:
    return RunRecord(
        name=f"{cell}-{seed}",
        cell=cell,
        seed=seed,
        path="",
        finished=True,
        final=final,
        greedy=greedy,
        steps=1,
        ticks=1,
        updates=1,
        gradient_steps=1,
        minutes=1.0,
        cpu_minutes=1.0,
        settings={},
    )


def sweep(
    folder: Path,
    runs: list[RunRecord],
    missing: tuple[str, ...] = (),
    presets: tuple[str, ...] = ("minirts-a2c",),
    begins_with: str = "",
) -> Path:
    """A sweep whose runs measured their floors: 30.0% and 20.0%."""
    budgets = (CellBudget("a", 2, 1e6, 10, 1960, 1.0, 0.7), CellBudget("b", 2, 2e6, 20, 3920, 2.0, 1.5))
    report = SweepReport("", "0", "", (), budgets, {}, tuple(runs), {}, missing)
    folder.mkdir()
    (folder / "results.json").write_bytes(msgspec.json.encode(report))
    kept = {"started": "2026-11-25T04:12:29Z", "config": {"source": "sweeps/elf-table4.toml"}}
    (folder / "sweep.json").write_text(json.dumps(kept | {"presets": dict.fromkeys(presets, "")}))
    for one in runs:
        rows: list[dict[str, object]] = [
            {
                "kind": "evaluation",
                "initial": True,
                "begins_with": begins_with,
                "results": [result("simple", 300)],
            },
            {"kind": "update", "learner/loss": 1.0},
            {"kind": "evaluation", "final": True, "results": [], "uniform": [result("simple", 200)]},
        ]
        metrics = folder / "runs" / one.name / "metrics.jsonl"
        metrics.parent.mkdir(parents=True)
        metrics.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return folder


def make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folders: list[Path], *more: str
) -> tuple[Record, list[str]]:
    """The record ``made`` and its faults."""
    monkeypatch.setattr(sweep_record, "RECORDS", tmp_path)
    command = ["sweep_record", "made", *map(str, folders), "--title", "T", "--commit", "4a911c7"]
    monkeypatch.setattr(sys, "argv", [*command, "--machine", "M", *more])
    sweep_record.main()
    records = load(tmp_path)
    return records["made"], faults(records, tmp_path)


def test_a_record_of_two_sweeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = sweep(
        tmp_path / "first",
        [
            run("a", 1, (result("simple", 730), result("hit_and_run", 5)), (result("simple", 390),)),
            run("a", 2, (result("simple", 810), result("hit_and_run", 6)), (result("simple", 410),)),
            run("b", 1, (result("simple", 200),)),
        ],
    )
    second = sweep(tmp_path / "second", [run("c", 1, (result("simple", 900),))], ("c,seed=3",))
    chosen = ("--cells", "a", "c", "--against", "simple")
    made, wrong = make(tmp_path, monkeypatch, [first, second], *chosen)
    student = summarise_runs([73.0, 81.0])
    greedy = summarise_runs([39.0, 41.0])
    assert [f.text() for f in made.figures] == [
        f"a, against simple, greedy: 40% [{greedy.low:.1f}, {greedy.high:.1f}] of 2 seeds",
        f"a, against simple, drawn: 77% [{student.low:.1f}, 100] of 2 seeds",
        "c, against simple, drawn: 90% of 1 seed",
    ]
    assert [f.text() for f in made.floors][:2] == [
        "initial weights, a, against simple, drawn: 30% [30, 30] of 2 seeds",
        "uniform, a, against simple, drawn: 20% [18.3, 21.8] of 2,000",
    ]
    assert made.commands == ("ludus sweep sweeps/elf-table4.toml",) * 2
    assert made.budget == "a run: 1.0 M decisions, 1,960 gradient steps, 0.7 processor minutes"
    assert "1 runs of sweeps/elf-table4.toml are missing." in made.notes
    assert made.preset == "minirts-a2c"
    lines = read_lines(tmp_path / "data" / "made.jsonl")
    assert [line.won for line in lines if line.label == "a, against simple, drawn"] == [730, 810]
    assert wrong == []


def test_several_presets_are_named_by_the_sweep_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = ("minirts-a2c", "minirts-ppo")
    one = sweep(tmp_path / "one", [run("a", 1, (result("simple", 200),))], presets=both)
    made, wrong = make(tmp_path, monkeypatch, [one])
    assert made.preset == made.preset_sha256 == ""
    assert wrong == []


def test_weights_of_another_run_are_no_floor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = sweep(tmp_path / "one", [run("a", 1, (result("simple", 200),))], begins_with="RUN@best")
    made, wrong = make(tmp_path, monkeypatch, [one])
    assert [f.label.partition(",")[0] for f in made.floors] == ["uniform"]
    assert wrong == ["made: no floor 'initial weights': expected the same measure of it"]

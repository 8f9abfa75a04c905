"""Finished sweeps as a record of the published results: raw lines, both ways to play, floors."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pytest

from benchmarks.strength import sweep_record
from ludus.evaluation.results import EvalResult
from ludus.training.reporting.floors import Floors
from ludus.training.sweep.comparison import CellBudget
from ludus.training.sweep.report import SweepReport
from ludus.training.sweep.results import RunSummary
from tools.raw_lines import read_lines
from tools.results import Record, faults


def result(player: str, against: str, won: int, alone: bool = False) -> EvalResult:
    return EvalResult(
        player=player,
        against="alone" if alone else against,
        game="g",
        matches=100,
        win_rate=won / 100,
        ci_low=won / 100,
        ci_high=won / 100,
        wins=won,
        draws=0,
        losses=100 - won,
        score=won / 100,
        mean_ticks=1.0,
        mean_return=float(won),
        errors=0,
        seed=1,
        alone=alone,
        return_low=won - 1.0,
        return_high=won + 1.0,
    )


def run(
    cell: str, seed: int, drawn: int, greedy: int | None = None, alone: bool = False, **settings: object
) -> RunSummary:
    """Return a run against two opponents; its floors are 15 + seed and 20."""
    names = ["alone"] if alone else ["simple", "hit_and_run"]
    who = f"{cell},seed={seed}"
    return RunSummary(
        name=who,
        cell=cell,
        seed=seed,
        path="",
        finished=True,
        final=tuple(result(f"{who}@9", n, drawn, alone) for n in names),
        greedy=() if greedy is None else tuple(result(f"{who}@9", n, greedy, alone) for n in names),
        steps=1,
        ticks=1,
        updates=1,
        gradient_steps=1,
        minutes=1.0,
        cpu_minutes=1.0,
        settings=dict(settings),
        floors=Floors(
            tuple(result(f"{who}@0", n, 15 + seed, alone) for n in names),
            tuple(result("uniform", n, 20, alone) for n in names),
        ),
    )


def sweep(
    folder: Path,
    runs: list[RunSummary],
    missing: tuple[str, ...] = (),
    presets: tuple[str, ...] = ("minirts-a2c",),
) -> Path:
    budgets = (CellBudget("a", 2, 1e6, 10, 1960, 1.0, 0.7), CellBudget("b", 2, 2e6, 20, 3920, 2.0, 1.5))
    report = SweepReport("", "0", "", (), budgets, {}, tuple(runs), {}, missing)
    folder.mkdir()
    (folder / "results.json").write_bytes(msgspec.json.encode(report))
    kept = {"started": "2026-11-25T04:12:29Z", "config": {"source": f"sweeps/{folder.name}.toml"}}
    (folder / "sweep.json").write_text(json.dumps(kept | {"presets": dict.fromkeys(presets, "")}))
    return folder


def recorded(
    folder: Path, monkeypatch: pytest.MonkeyPatch, sweeps: list[Path], *more: str
) -> tuple[int, Path]:
    monkeypatch.setattr(sweep_record, "RECORDS", folder)
    command = ["sweep_record", "made", *map(str, sweeps), "--title", "T", "--commit", "4a911c7"]
    monkeypatch.setattr(sys, "argv", [*command, "--machine", "M", *more])
    return sweep_record.main(), folder / "made.json"


def read(path: Path) -> Record:
    return msgspec.json.decode(path.read_bytes(), type=Record)


def test_a_record_joins_two_sweeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = sweep(tmp_path / "first", [run("a", s, 70 + s, 40) for s in (1, 2)] + [run("b", 1, 5)])
    second = sweep(tmp_path / "second", [run("c", 1, 90)], ("c,seed=3",))
    code, path = recorded(tmp_path, monkeypatch, [first, second], "--cells", "a", "c", "--against", "simple")
    assert code == 0
    made = read(path)
    assert [(f.label, f.value, f.count) for f in made.figures] == [
        ("a, against simple, greedy", 40.0, 2),  # ELF's protocol first
        ("a, against simple, drawn", 71.5, 2),
        ("c, against simple, drawn", 90.0, 1),
    ]
    assert (made.figures[2].low, made.figures[2].high) == (None, None), "one seed has no interval"
    assert [(f.label, f.value, f.count, f.interval) for f in made.floors] == [
        ("initial weights, a, against simple, drawn", 16.5, 2, "seeds"),
        ("uniform, a, against simple", 20.0, 200, "wilson"),
        ("initial weights, c, against simple, drawn", 16.0, 1, "seeds"),
        ("uniform, c, against simple", 20.0, 100, "wilson"),
    ]
    assert made.commands == ("ludus sweep sweeps/first.toml", "ludus sweep sweeps/second.toml")
    assert made.budget == "a run: 1.0 M decisions, 1,960 gradient steps, 0.7 processor minutes"
    assert "1 runs of sweeps/second.toml are missing." in made.notes
    assert (made.schema, made.preset, made.transcribed) == (2, "minirts-a2c", False)


def test_raw_lines_name_their_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = sweep(tmp_path / "one", [run("a", s, 70, 40) for s in (1, 2, 3)])
    _, path = recorded(tmp_path, monkeypatch, [one])
    made = read(path)
    assert made.data == ("data/made.jsonl",)
    lines = read_lines(tmp_path / "data" / "made.jsonl")
    greedy = [x for x in lines if x.label == "a, against hit_and_run, greedy"]
    assert [(x.seed, x.player, x.won, x.matches, x.play) for x in greedy] == [
        (s, f"a,seed={s}@9", 40, 100, "greedy") for s in (1, 2, 3)
    ]
    assert len(lines) == 3 * 2 * 4  # seeds, opponents; greedy, drawn, two floors
    assert not [f for f in faults({"made": made}, tmp_path) if "sweeps/one.toml" not in f]


def test_a_record_may_hold_returns_and_greedy_evaluations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [run("a", s, 70, alone=True, **{"evaluation.greedy": True}) for s in (1, 2)]
    _, path = recorded(tmp_path, monkeypatch, [sweep(tmp_path / "one", runs)])
    made = read(path)
    assert [(f.label, f.value, f.unit) for f in made.figures] == [("a, greedy", 70.0, "return")]
    assert [(f.label, f.value, f.count) for f in made.floors] == [
        ("initial weights, a, greedy", 16.5, 2),
        ("uniform, a", 20.0, 2),
    ]


def test_several_presets_are_named_by_the_sweep_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = sweep(tmp_path / "one", [run("a", 1, 20)], presets=("minirts-a2c", "minirts-ppo"))
    made = read(recorded(tmp_path, monkeypatch, [one])[1])
    assert made.preset == made.preset_sha256 == ""


@pytest.mark.parametrize("more", [["--cells", "d"], ["--against", "nobody"], ["--plays", "greedy"]])
def test_a_choice_without_a_result_writes_nothing(
    more: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, path = recorded(tmp_path, monkeypatch, [sweep(tmp_path / "one", [run("a", 1, 20)])], *more)
    assert code == 2
    assert "no finished run" in capsys.readouterr().err
    assert not path.exists()

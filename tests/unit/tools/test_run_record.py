"""Finished runs of one preset against bots: lines, floors, kept weights, and the record of them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("torch")

from benchmarks.strength import run_record, sweep_record
from ludus.presets.file import load_preset
from ludus.training.runs import start_run
from tools.figures import figures_of
from tools.raw_lines import Line, read_lines
from tools.record_faults import faults
from tools.records import load

TINY = {
    "evaluation.every_steps": "0",
    "evaluation.matches": "4",
    "evaluation.final_matches": "4",
    "evaluation.floor_matches": "6",
    "pool.slots": "8",
    "pool.groups": "1",
    "pool.rollout_length": "8",
    "policy.dense": "[8]",
    "policy.hidden": "[8]",
    "algorithm.minibatches": "1",
    "run.max_minutes": "0",
    "run.max_steps": "200",
    "run.threads": "1",
}
COMMAND = "ludus train tic_tac_toe --run.seed S"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the directories of two short runs, seeds 1 and 2."""
    folders = [tmp_path_factory.mktemp("runs") / f"run-{seed}" for seed in (1, 2)]
    for seed, folder in enumerate(folders, start=1):
        start_run(load_preset("tic_tac_toe", {**TINY, "run.seed": str(seed)}).preset, folder)
    return [str(folder) for folder in folders]


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that records are written to, in place of the repository's."""
    folder = tmp_path / "results"
    for module in (run_record, sweep_record):
        monkeypatch.setattr(module, "published", partial(module.published, folder=folder))
    monkeypatch.setattr("benchmarks.strength.evaluated.FOLDER", folder / "weights")
    monkeypatch.setattr("tools.new_record.commit_of", lambda: "29e5284")
    return folder


def run_program(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr("sys.argv", ["x", *words])
    run_record.main()


FIXED = ("--against", "random", "--matches", "6", "--command", COMMAND)


def test_the_record_of_two_seeds_has_no_fault(
    runs: list[str], results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "lines.jsonl"
    words = [*runs, *FIXED, "--lines", str(kept), "--record", "made", "--title", "T"]
    run_program(monkeypatch, *words)
    records = load(results)
    assert faults(records, results) == []
    made = records["made"]
    assert [f.label for f in made.figures] == ["against random, drawn", "against random, greedy"]
    assert all(f.count == 2 and f.kind == "seeds" and len(f.values) == 2 for f in made.figures)
    assert {f.floor for f in made.floors} == {"initial weights", "uniform", "bot random", "bot perfect"}
    assert made.seeds == (1, 2)
    assert made.commands[:2] == tuple(COMMAND.replace("S", s) for s in ("1", "2"))
    assert "--record" not in made.commands[2]
    assert list(made.files) == ["presets/tic_tac_toe.toml"]
    lines = read_lines(results / "data" / "made.jsonl")
    assert [(x.seed, x.setting.play, x.matches) for x in lines[:4] if x.setting] == [
        (1, "drawn", 6),
        (2, "drawn", 6),
        (1, "greedy", 6),
        (2, "greedy", 6),
    ]
    assert len({x.weights for x in lines[:4]}) == 2

    monkeypatch.setattr("benchmarks.strength.evaluated.play", lambda *_, **__: pytest.fail("played again"))
    run_program(monkeypatch, *words)
    assert read_lines(results / "data" / "made.jsonl")[:4] == lines[:4]


def test_without_a_record_it_measures_and_writes_nothing(
    runs: list[str], results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_program(monkeypatch, *runs, *FIXED, "--plays", "drawn")
    assert "against random, drawn:" in capsys.readouterr().out
    assert not results.exists()


def test_initial_weights_are_those_of_the_run_itself(
    runs: list[str], results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_program(monkeypatch, *runs, *FIXED, "--record", "made", "--title", "T")
    made = load(results)["made"]
    assert len({run.initial for run in made.runs}) == 2
    exchanged = [
        msgspec.structs.replace(a, initial=b.initial) for a, b in zip(made.runs, made.runs[::-1], strict=True)
    ]
    found = faults({"made": msgspec.structs.replace(made, runs=tuple(exchanged))}, results)
    assert any("the run's initial weights are" in fault for fault in found)


@pytest.mark.parametrize(
    ("twice", "more", "fault"),
    [
        (True, [], "seeds [1, 1], expected runs"),
        (False, ["--against", "rando"], "rando"),
        (False, ["--record", "made"], "expected --title too"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(
    twice: bool,
    more: list[str],
    fault: str,
    runs: list[str],
    results: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        run_program(monkeypatch, *([runs[0]] * (2 if twice else 1)), *FIXED, *more)
    assert ended.value.code == 2
    assert fault in capsys.readouterr().err.splitlines()[-1]
    assert not results.exists() or not list(results.glob("*.json"))


def test_a_run_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run_program(monkeypatch, str(tmp_path / "none"), *FIXED)
    assert ended.value.code == 2
    assert str(tmp_path / "none") in capsys.readouterr().err


@pytest.mark.slow
def test_a_game_of_one_seat_has_returns(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {**TINY, "run.max_steps": "64"}
    for seed in ("1", "2"):
        start_run(load_preset("cartpole", {**settings, "run.seed": seed}).preset, tmp_path / seed)
    words = [str(tmp_path / seed) for seed in ("1", "2")]
    command = "ludus train cartpole --run.seed S"
    run_program(
        monkeypatch, *words, "--matches", "3", "--command", command, "--record", "made", "--title", "T"
    )
    records = load(results)
    assert faults(records, results) == []
    assert [f.unit for f in records["made"].figures] == ["return", "return"]
    lines: list[Line] = read_lines(results / "data" / "made.jsonl")
    assert len(lines[0].samples) == 3
    assert figures_of(lines[:2], "return", "seeds")[0] == records["made"].figures[0]


@pytest.mark.slow
def test_a_sweeps_record_has_its_cells_and_no_fault(
    tmp_path: Path, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ludus.cli.__main__ import dispatch

    settings = "\n".join(f"{k} = {v}" for k, v in TINY.items())
    file = tmp_path / "x.toml"
    file.write_text(
        f'title = "T"\npreset = "tic_tac_toe"\nseeds = 2\nworkers = 1\n[settings]\n{settings}\n'
        "[grid]\nalgorithm.discount = [0.9, 1.0]\n"
    )
    assert dispatch(["sweep", str(file), "--run-dir", str(tmp_path / "sweep"), "--quiet"]) == 0
    words = [str(tmp_path / "sweep"), "--against", "random", "--matches", "6", "--plays", "drawn"]
    monkeypatch.setattr("sys.argv", ["x", *words, "--record", "made", "--title", "T"])
    sweep_record.main()
    made = load(results)["made"]
    assert len({run.cell for run in made.runs}) == 2
    assert len(made.runs) == 4
    assert len(made.figures) == 2
    found = faults({"made": made}, results)
    assert [f for f in found if "not in the repository" not in f and "files:" not in f] == []

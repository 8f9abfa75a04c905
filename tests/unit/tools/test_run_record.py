"""The record of finished runs of one preset against bots."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("torch")

from benchmarks.strength import run_record
from ludus.presets.file import load_preset
from ludus.training.runs import start_run
from tools.raw_lines import read_lines, write_record
from tools.records import Record

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


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the directories of two short runs, seeds 1 and 2."""
    folders = [tmp_path_factory.mktemp("runs") / f"run-{seed}" for seed in (1, 2)]
    for seed, folder in enumerate(folders, start=1):
        start_run(load_preset("tic_tac_toe", {**TINY, "run.seed": str(seed)}).preset, folder)
    return [str(folder) for folder in folders]


def command(*runs: str, against: str = "random") -> list[str]:
    fixed = ["--title", "T", "--train", "ludus train tic_tac_toe", "--commit", "717411e", "--machine", "M"]
    return ["x", "tic_tac_toe", *runs, "--against", against, "--matches", "6", *fixed]


def test_the_record_has_both_plays_of_every_seed_and_the_runs_own_floors(
    runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        run_record, "write_record", lambda *three: write_record(three[0], three[1], three[2], tmp_path)
    )
    kept = tmp_path / "lines.jsonl"
    monkeypatch.setattr(sys, "argv", [*command(*runs), "--lines", str(kept)])
    run_record.main()
    made = msgspec.json.decode((tmp_path / "tic_tac_toe.json").read_bytes(), type=Record)
    lines = read_lines(tmp_path / "data" / "tic_tac_toe.jsonl")
    assert [f.label for f in made.figures] == ["against random, drawn", "against random, greedy"]
    assert all(f.count == 2 and f.interval == "seeds" for f in made.figures)
    assert {f.label for f in made.floors} == {
        "initial weights, against random, drawn",
        "uniform, against random, drawn",
    }
    assert [(line.seed, line.play, line.matches) for line in lines[:4]] == [
        (1, "drawn", 6),
        (2, "drawn", 6),
        (1, "greedy", 6),
        (2, "greedy", 6),
    ]
    assert not any(line.player.endswith("@0") for line in lines[:4])
    assert int(made.budget.split()[0]) >= 200

    monkeypatch.setattr(run_record, "evaluate", lambda *_: pytest.fail("played a kept evaluation"))
    run_record.main()
    assert read_lines(tmp_path / "data" / "tic_tac_toe.jsonl") == lines

    monkeypatch.setattr(sys, "argv", [*command(*runs), "--lines", str(kept), "--floors", runs[1]])
    run_record.main()
    floors = read_lines(tmp_path / "data" / "tic_tac_toe.jsonl")[4:]
    assert floors == [line for line in lines[4:] if line.seed == 2]


@pytest.mark.parametrize(
    ("twice", "against", "fault"),
    [
        (True, "random", "seeds [1, 1], expected runs"),
        (False, "rando", "rando"),
        (False, "", "expected an opponent"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(
    twice: bool,
    against: str,
    fault: str,
    runs: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(run_record, "write_record", lambda *_: pytest.fail("wrote a record"))
    monkeypatch.setattr(sys, "argv", command(*([runs[0]] * (2 if twice else 1)), against=against))
    with pytest.raises(SystemExit) as ended:
        run_record.main()
    assert ended.value.code == 2
    assert fault in capsys.readouterr().err.splitlines()[-1]


def test_a_run_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", command(str(tmp_path / "none")))
    with pytest.raises(SystemExit) as ended:
        run_record.main()
    assert ended.value.code == 2
    assert str(tmp_path / "none") in capsys.readouterr().err

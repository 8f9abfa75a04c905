"""The record of a league on MiniRTS beside naive self-play."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("torch")

from benchmarks.strength import league_minirts
from ludus.presets.file import load_preset
from ludus.training.runs import start_run
from tools.raw_lines import Line, read_lines, write_record
from tools.records import Record

TINY = {
    "evaluation.every_steps": "0",
    "evaluation.final_matches": "0",
    "pool.slots": "8",
    "pool.groups": "1",
    "pool.rollout_length": "8",
    "policy.dense": "[8]",
    "policy.hidden": "[8]",
    "algorithm.minibatches": "1",
    "run.max_steps": "400",
    "run.threads": "1",
}


FIXED = ("--commit", "717411e", "--machine", "M", "--train", "ludus train alphastar")
RUNS = ["run-1", "run-2"]


@pytest.fixture
def facts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the facts that the program reads from the directories of runs."""
    monkeypatch.setattr(league_minirts, "seed_of", lambda name: int(name.partition("@")[0][-1]))
    monkeypatch.setattr(league_minirts, "decisions", lambda name: 13_000_000)


def command(name: str, league: list[str], naive: list[str], *more: str) -> list[str]:
    return ["x", "--name", name, "--league", *league, "--naive", *naive, *FIXED, *more]


def test_the_record_has_every_seed_both_plays_and_floors(
    facts: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def play(job: league_minirts.Job, seed: int, threads: int) -> Line:
        asked.append(job)
        won = job.matches // 2 if "exploiter" in job.player else job.matches // 4
        return Line(
            job.label, job.seed, job.player, job.against, job.play, won, 0, job.matches - won, job.matches
        )

    monkeypatch.setattr(
        league_minirts, "write_record", lambda *three: write_record(three[0], three[1], three[2], tmp_path)
    )
    monkeypatch.setattr(league_minirts, "measure", play)
    league = [f"{run}@main" for run in RUNS]
    exploiters = [f"{run}@main-exploiter" for run in RUNS]
    lines = tmp_path / "lines.jsonl"
    again = command("made", league, league, "--against-naive", *exploiters, "--lines", str(lines))
    monkeypatch.setattr(sys, "argv", again)
    league_minirts.main()
    assert len(asked) == 8 + 8 + 2 + 8 + 2
    assert [(j.player, j.against) for j in asked if "exploiter" in j.player] == list(
        zip(exploiters, league, strict=True)
    )
    made = msgspec.json.decode((tmp_path / "made.json").read_bytes(), type=Record)
    assert [f.text() for f in made.figures[-1:]] == [
        "a new exploiter against naive self-play, drawn: 50% [50, 50] of 2 seeds"
    ]
    assert {f.label.split(",")[0] for f in made.floors} == {"initial weights", "uniform"}
    assert {f.label.split(", ")[2] for f in made.figures[:4]} == {"drawn", "greedy"}
    assert len(read_lines(tmp_path / "data" / "made.jsonl")) == len(asked)
    asked.clear()
    league_minirts.main()
    assert not asked  # all of them are in --lines


@pytest.mark.slow
def test_weights_that_never_learned_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    start_run(load_preset("alphastar", TINY).preset, tmp_path / "run")
    first = [f"{tmp_path / 'run'}@main:0"]
    monkeypatch.setattr(sys, "argv", command("no", first, first, "--matches", "2"))
    with pytest.raises(SystemExit) as ended:
        league_minirts.main()
    assert ended.value.code == 2
    assert "untrained weights" in capsys.readouterr().err


def test_two_runs_of_one_seed_are_refused(
    facts: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    twice = ["run-2@main"] * 2
    monkeypatch.setattr(sys, "argv", command("no", twice, twice))
    with pytest.raises(SystemExit) as ended:
        league_minirts.main()
    assert ended.value.code == 2
    assert "seeds [2, 2]" in capsys.readouterr().err

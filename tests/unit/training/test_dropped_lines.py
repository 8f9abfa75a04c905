"""Lines that a resume removes from the record of a run: one line of the output counts them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ludus.presets.file import parse_preset
from ludus.storage import RunDirectory, read_jsonl
from ludus.training.runs import start_run
from tests.unit.training.league.test_league_runs import LEAGUE
from tests.unit.training.runs import Recorder, resume_run, small_preset

DROPPED = "dropped from the record: "


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("dropped") / "run"
    start_run(small_preset(run__max_steps=200, evaluation__every_steps=0, evaluation__initial=False), run)
    return run


def dropped(run: Path) -> list[str]:
    """Resume a run and return its lines about lines that were dropped."""
    sink = Recorder()
    resume_run(run, sinks=[sink])
    return [m for m in sink.messages if DROPPED in m]


@pytest.mark.parametrize("what", ["nothing", "a broken line", "torn lines"])
def test_a_resume_counts_the_lines_that_it_drops(finished: Path, tmp_path: Path, what: str) -> None:
    run = RunDirectory(tmp_path / "run")
    shutil.copytree(finished, run.path)
    rows = list(read_jsonl(run.metrics_path))
    updates = sum(row["kind"] == "update" for row in rows)
    after, matches = len(rows) - updates, len(list(read_jsonl(run.matches)))
    if what == "a broken line":
        with run.metrics_path.open("ab") as file:
            file.write(b'{"schema": broken\n')
        after, damaged = after + 1, " (1 damaged)"
    else:
        damaged = ""
    torn = ""
    if what == "torn lines":
        for path in (run.metrics_path, run.events_path, run.matches):
            with path.open("ab") as file:
                file.write(b'{"torn')
            torn += f"an unfinished line of {path.name} (6 bytes), "
    assert dropped(run.path) == [
        f"{DROPPED}{torn}{after} lines of metrics.jsonl from line {updates + 1} on{damaged}, "
        f"{matches} lines of matches.jsonl from line 1 on; the run continues from there"
    ]
    assert len(list(read_jsonl(run.metrics_path))) == len(rows)


def test_a_run_without_a_checkpoint_counts_what_it_starts_again(finished: Path, tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    shutil.copytree(finished, run.path)
    shutil.rmtree(run.checkpoints.directory)
    run.checkpoints.directory.mkdir()
    rows, matches = (len(list(read_jsonl(path))) for path in (run.metrics_path, run.matches))
    assert dropped(run.path) == [
        f"no checkpoint was saved yet: starting from the beginning; {DROPPED}{rows} lines of metrics.jsonl "
        f"from line 1 on, {matches} lines of matches.jsonl from line 1 on"
    ]


def test_a_league_counts_the_events_that_it_drops(tmp_path: Path) -> None:
    text = LEAGUE.format(game="matrix", lag="sync", steps=1000)
    run = tmp_path / "run"
    start_run(parse_preset(text.encode(), "league").preset, run)
    store = RunDirectory(run).checkpoints
    newest = store.versions()[-1]
    shutil.rmtree(store.path(newest))
    (line,) = dropped(run)
    assert "events of league.sqlite from event " in line
    assert store.versions()[-1] == newest

"""Progress of a sweep: lines, the board, and what is read from the runs' metrics."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest

from ludus.cli.sweep_view import SweepBoard, SweepLines
from ludus.reporting.metrics import UpdateMetrics, metrics_row
from ludus.reporting.run_view import RunView
from ludus.storage.rundir import RunDirectory
from ludus.sweep.loop import Active, Outcome, SweepLoop
from ludus.sweep.plan import PlannedRun
from ludus.sweep.processes import ProcessCommand, What


def written(folder: Path, name: str, progress: float) -> None:
    numbers = {"rollout/win_rate/simple": 0.25, "time/minutes_left": 2.0}
    row = metrics_row(UpdateMetrics(3, 5000, 5000, 0, 0, progress, numbers))
    (folder / name).mkdir(parents=True)
    data = msgspec.json.encode(row) + b"\n"
    (folder / name / "metrics.jsonl").write_bytes(data * 400 + b'{"torn')


def active(name: str, what: What, process: object) -> Active:
    return Active(PlannedRun(name, "c", 1, "p", {}), process, ProcessCommand(what, ()))  # type: ignore[arg-type]


def loop(folder: Path, rows: list[Active], outcomes: list[Outcome], total: int) -> SweepLoop:
    made: object = SimpleNamespace(
        active={a.run.name: a for a in rows},
        outcomes={o.run.name: o for o in outcomes},
        total=total,
        config=SimpleNamespace(title="[T]itle", source="s.toml"),
        directory=SimpleNamespace(path=folder, run=lambda name: RunDirectory(folder / name)),
    )
    return cast(SweepLoop, made)


def some(folder: Path) -> SweepLoop:
    written(folder, "half", 0.5)
    rows = [
        active("half", "train", object()),
        active("new", "train", object()),
        active("other", "train", None),
        active("last", "greedy", object()),
    ]
    failed = Outcome(PlannedRun("bad", "c", 1, "p", {}), "failed", "no GPU [here]")
    return loop(folder, rows, [failed], 8)


def test_the_newest_update_is_read_from_the_end(tmp_path: Path) -> None:
    written(tmp_path, "half", 0.5)
    found = RunView(RunDirectory(tmp_path / "half")).newest_update()
    assert found is not None
    assert (found.steps, found.progress) == (5000, 0.5)
    assert RunView(RunDirectory(tmp_path / "none")).newest_update() is None
    (tmp_path / "half" / "metrics.jsonl").write_text("x\n")
    assert RunView(RunDirectory(tmp_path / "half")).newest_update() is None


def test_lines_show_every_active_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    view, shown = SweepLines(every_s=0.0), some(tmp_path)
    view.show(shown)
    line = capsys.readouterr().err
    assert line.startswith("[1 of 8 runs, 1 failed, 0:00 min")
    assert "half 50.0%, 5 k decisions, won simple 25.0%" in line
    assert "new starts; other waits for a process that trains it; last greedy matches" in line
    view.ended(shown, next(iter(shown.outcomes.values())))
    assert capsys.readouterr().err == "bad: failed: no GPU [here]\n"
    rare = SweepLines(every_s=1e9)
    rare.shown_at = 1.0
    rare.show(shown)
    assert capsys.readouterr().err == ""


def test_the_time_left_is_that_of_this_process_alone(tmp_path: Path) -> None:
    view, shown = SweepLines(), some(tmp_path)
    assert "left" not in view.summary(shown, view.progress(shown))
    view.started -= 60.0
    shown.outcomes["more"] = Outcome(PlannedRun("more", "c", 1, "p", {}), "finished")
    text = view.summary(shown, view.progress(shown))
    # An eighth of the work in a minute; 5.5 of 8 runs are left.
    assert text == "2 of 8 runs, 1 failed, 1:00 min, about 5:30 min left"


@pytest.mark.parametrize("height", [6, 12, 40])
def test_the_board_fits_the_terminal(tmp_path: Path, height: int) -> None:
    from rich.console import Console

    view, shown = SweepBoard(), some(tmp_path)
    out = io.StringIO()
    view.console = Console(file=out, width=100, height=height, force_terminal=False)
    view.messages.append("bad: failed: no GPU [here]")
    view.console.print(view.render(shown))
    lines = out.getvalue().splitlines()
    assert len(lines) < height
    assert "[T]itle" in lines[0]
    if height == 40:
        text = out.getvalue()
        assert "1 of 8 runs, 1 failed" in text
        assert "no GPU [here]" in text
        assert "won simple 25.0% 2:00 min left" in text
        assert "waits for a process" in text

"""TensorBoard's files: TensorBoard reads them, and their errors do not end a run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec
import pytest

from ludus.games import spec
from ludus.reporting.metrics import UpdateMetrics, metrics_row
from ludus.reporting.sinks import RunStart
from ludus.reporting.tensorboard import TensorBoardSink
from ludus.storage import RunDirectory, read_jsonl
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run, small_preset

pytest.importorskip("tensorboard")


def metrics(step: int) -> UpdateMetrics:
    return UpdateMetrics(
        version=1,
        steps=step,
        received=step,
        ticks=10,
        matches=1,
        progress=0.0,
        numbers={"policy/entropy": 1.5, "rollout/win_rate/random": 0.25},
    )


def started(run: Path) -> TensorBoardSink:
    sink = TensorBoardSink()
    run.mkdir()
    sink.start(RunStart(run, small_preset(), spec("tic_tac_toe")))
    return sink


def scalars(directory: Path, tag: str) -> list[tuple[int, float]]:
    """Return the scalars that TensorBoard reads."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    reader = EventAccumulator(str(directory))
    reader.Reload()
    return [(s.step, s.value) for s in reader.Scalars(tag)]


def test_tensorboard_reads_what_is_written(tmp_path: Path) -> None:
    sink = started(tmp_path / "run")
    for step in (100, 200):
        sink.update(metrics(step))
    sink.close()
    assert scalars(tmp_path / "run" / "tensorboard", "policy/entropy") == [(100, 1.5), (200, 1.5)]
    assert scalars(tmp_path / "run" / "tensorboard", "rollout/win_rate/random") == [(100, 0.25), (200, 0.25)]


def test_a_full_disk_costs_only_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = started(tmp_path / "run")
    sink.update(metrics(100))
    real_open = os.fdopen

    class Short:
        """File that writes ten bytes of any data, as on a disk with ten bytes left."""

        def __init__(self, fd: int) -> None:
            self.file = real_open(fd, "ab", buffering=0)

        def __enter__(self) -> Short:
            return self

        def __exit__(self, *error: object) -> None:
            self.file.close()

        def tell(self) -> int:
            return self.file.tell()

        def write(self, data: bytes) -> int:
            return self.file.write(data[:10]) or 0

        def truncate(self, size: int) -> None:
            self.file.truncate(size)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdopen", lambda fd, *_, **__: Short(fd))
        sink.update(metrics(200))
    sink.update(metrics(300))
    assert [step for step, _ in scalars(tmp_path / "run" / "tensorboard", "policy/entropy")] == [100, 300]


def logged(run: Path, *steps: int, player: str = "") -> None:
    """Return ``metrics.jsonl`` as a checkpoint left it."""
    with (run / "metrics.jsonl").open("ab") as file:
        for step in steps:
            row = metrics_row(msgspec.structs.replace(metrics(step), player=player))
            file.write(msgspec.json.encode(row) + b"\n")


def resumed(run: Path) -> TensorBoardSink:
    sink = TensorBoardSink()
    sink.start(RunStart(run, small_preset(), spec("tic_tac_toe")))
    return sink


@pytest.mark.parametrize("saved", [(), (100,), (100, 200), (100, 200, 300, 400)])
def test_steps_of_curves_never_fall_after_a_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, saved: tuple[int, ...]
) -> None:
    """Killed after step 400, resumed from a checkpoint, twice within one second, with a clock set back."""
    now = [1_700_000_000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    run = tmp_path / "run"
    first = started(run)
    for step in (100, 200, 300, 400):
        first.update(metrics(step))
    logged(run, *saved)
    assert resumed(run) is not None  # killed before its first update
    now[0] -= 3600.0
    second = resumed(run)
    for step in (saved[-1] + 100 if saved else 100, 700):
        second.update(metrics(step))
    steps = [step for step, _ in scalars(run / "tensorboard", "policy/entropy")]
    assert steps == [*saved, saved[-1] + 100 if saved else 100, 700]


def test_members_of_a_league_have_curves_of_their_own(tmp_path: Path) -> None:
    run = tmp_path / "run"
    first = started(run)
    rows = {"main": (100, 200, 300), "exploiter": (50, 60, 70)}
    for player, steps in rows.items():
        for step in steps:
            first.update(msgspec.structs.replace(metrics(step), player=player))
    logged(run, 100, 200, player="main")
    logged(run, 50, 60, player="exploiter")
    second = resumed(run)
    second.update(msgspec.structs.replace(metrics(250), player="main"))
    for player, drawn in (("main", [100, 200, 250]), ("exploiter", [50, 60])):
        assert [s for s, _ in scalars(run / "tensorboard", f"{player}/policy/entropy")] == drawn


def test_a_resumed_run_draws_each_step_once(tmp_path: Path) -> None:
    """As after kill -9: the newest checkpoint is older than the last rows."""
    preset = small_preset(run__checkpoint_every_minutes=0, run__keep_checkpoints=9, run__max_steps=800)
    start_run(preset, tmp_path / "run")
    run = RunDirectory.open(tmp_path / "run")
    versions = run.checkpoints.versions()
    for version in versions[2:]:
        shutil.rmtree(run.checkpoints.path(version))
    resume_run(tmp_path / "run")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    reader = EventAccumulator(str(tmp_path / "run" / "tensorboard"), size_guidance={"scalars": 0})
    reader.Reload()
    tags = reader.Tags()["scalars"]
    assert {"policy/entropy", "eval/random/win_rate"} <= set(tags)
    logged_rows = [row for row in read_jsonl(run.metrics_path) if not row.get("playoff")]
    for tag in tags:
        drawn = [s.step for s in reader.Scalars(tag)]
        assert drawn == [row["steps"] for row in logged_rows if tag in row]

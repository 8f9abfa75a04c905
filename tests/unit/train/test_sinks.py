"""TensorBoard's files: readable by TensorBoard, and never in the way of a run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ludus.games import spec
from ludus.train.reporting.metrics import UpdateMetrics
from ludus.train.reporting.sinks import RunStart
from ludus.train.reporting.tensorboard import TensorBoardSink
from tests.unit.train.runs import small_preset

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
    """What TensorBoard reads."""
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


def test_a_disk_that_fills_costs_records_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = started(tmp_path / "run")
    sink.update(metrics(100))
    real_open = os.fdopen

    class Short:
        """A file that takes ten bytes of whatever it is given, as a disk with ten bytes left does."""

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

"""TensorBoard: the scalars of ``metrics.jsonl`` under the same names, over trained steps."""

from __future__ import annotations

import io
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ludus.storage.errors import StorageError
from ludus.storage.files import open_own, own_folder
from ludus.train.reporting.metrics import EvaluationMetrics, UpdateMetrics
from ludus.train.reporting.sinks import RunStart, Sink

if TYPE_CHECKING:
    from tensorboard.compat.proto.event_pb2 import Event


class TensorBoardSink(Sink):
    """Scalars over trained steps, in ``RUN/tensorboard``.

    One record an update, written at once and whole: what a full disk cuts off is taken back, later
    records are tried again, and the run never hears of it. (TensorBoard's own writer has a thread that
    dies of a full disk and takes the run along.)
    """

    def __init__(self) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._summary, self._writer = Event, Summary, RecordWriter
        self._path = Path()

    def start(self, run: RunStart) -> None:
        name = f"events.out.tfevents.{int(time.time()):010d}.{os.getpid()}"
        self._path = run.path / "tensorboard" / name
        self._write(self._event(wall_time=time.time(), file_version="brain.Event:2"))

    def update(self, metrics: UpdateMetrics) -> None:
        self._scalars(metrics.numbers, metrics.steps)

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        if not evaluation.playoff:  # of several versions at one moment: no point of a curve
            self._scalars(evaluation.numbers, evaluation.steps)

    def _scalars(self, scalars: dict[str, float], step: int) -> None:
        values = [self._summary.Value(tag=tag, simple_value=value) for tag, value in scalars.items()]
        self._write(self._event(wall_time=time.time(), step=step, summary=self._summary(value=values)))

    def _write(self, event: Event) -> None:
        record = io.BytesIO()
        self._writer(record).write(event.SerializeToString())
        # metrics.jsonl is the truth, and says what is wrong with the disk
        with suppress(OSError, StorageError):
            own_folder(self._path.parent, make=True)
            with os.fdopen(open_own(self._path, os.O_WRONLY | os.O_APPEND), "ab", buffering=0) as file:
                good, data = file.tell(), record.getvalue()
                try:
                    whole = file.write(data) == len(data)
                except OSError:
                    whole = False
                if not whole:
                    file.truncate(good)


def default_sinks() -> tuple[Sink, ...]:
    """TensorBoard, where its package is installed."""
    try:
        return (TensorBoardSink(),)
    except ImportError:
        return ()

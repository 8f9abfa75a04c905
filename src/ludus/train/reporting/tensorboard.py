"""TensorBoard: the scalars of ``metrics.jsonl`` under the same names, over trained steps."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ludus.storage.errors import StorageError
from ludus.storage.files import open_own, own_folder
from ludus.train.reporting.metrics import EvaluationMetrics, Metrics, UpdateMetrics
from ludus.train.reporting.sinks import RunStart, Sink

if TYPE_CHECKING:
    from tensorboard.compat.proto.event_pb2 import Event


class TensorBoardSink(Sink):
    """Scalars over trained steps, in ``RUN/tensorboard``; those of a league in a folder for each player.

    A resumed run starts at its checkpoint: the points behind it are those of the run as it continues.

    One record an update, written at once and whole: what a full disk cuts off is taken back, later
    records are tried again, and the run never hears of it. (TensorBoard's own writer has a thread that
    dies of a full disk and takes the run along.)
    """

    def __init__(self) -> None:
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._summary, self._writer = Event, Summary, RecordWriter
        self._session = SessionLog
        self._folder, self._name = Path(), ""
        self._last: Mapping[str, Sequence[Metrics]] = {}
        self._players: set[str] = set()

    def start(self, run: RunStart) -> None:
        self._folder = run.path / "tensorboard"
        self._name = f"events.out.tfevents.{int(time.time()):010d}.{os.getpid()}"
        self._last, self._players = run.last, set()
        # A league's players start when they report: the names in the files of a run may be anybody's.
        if run.preset.league is None:
            self._start("")

    def _start(self, player: str) -> None:
        """Starts a player's file. TensorBoard drops what its earlier files have at this step and beyond."""
        last = self._last.get(player, ())
        self._players.add(player)
        self._write(player, self._event(wall_time=time.time(), file_version="brain.Event:2"))
        start, step = self._session(status=self._session.START), last[0].steps if last else 0
        self._write(player, self._event(wall_time=time.time(), step=step, session_log=start))
        for row in last:
            self._report(row)

    def update(self, metrics: UpdateMetrics) -> None:
        self._report(metrics)

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        self._report(evaluation)

    def _report(self, metrics: Metrics) -> None:
        if isinstance(metrics, EvaluationMetrics) and metrics.playoff:
            return  # of several versions at one moment: no point of a curve
        if metrics.player not in self._players:
            self._start(metrics.player)
        values = [self._summary.Value(tag=tag, simple_value=value) for tag, value in metrics.numbers.items()]
        summary = self._summary(value=values)
        self._write(metrics.player, self._event(wall_time=time.time(), step=metrics.steps, summary=summary))

    def _write(self, player: str, event: Event) -> None:
        path = self._folder / player / self._name
        record = io.BytesIO()
        self._writer(record).write(event.SerializeToString())
        # metrics.jsonl is the truth, and says what is wrong with the disk
        with suppress(OSError, StorageError):
            own_folder(self._folder, make=True)
            own_folder(path.parent, make=True)
            with os.fdopen(open_own(path, os.O_WRONLY | os.O_APPEND), "ab", buffering=0) as file:
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

"""TensorBoard: the scalars of ``metrics.jsonl`` under the same names, over trained steps."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ludus.reporting.metrics import EvaluationMetrics, Metrics, UpdateMetrics
from ludus.reporting.run_view import RunView
from ludus.reporting.sinks import RunStart, Sink
from ludus.storage.errors import StorageError
from ludus.storage.files import open_own, own_folder
from ludus.storage.rundir import RunDirectory

if TYPE_CHECKING:
    from tensorboard.compat.proto.event_pb2 import Event


_PREFIX = "events.out.tfevents."


class TensorBoardSink(Sink):
    """Scalars over trained steps, in ``RUN/tensorboard``.

    One record an update, written at once and whole: what a full disk cuts off is taken back, later
    records are tried again, and the run never hears of it. (TensorBoard's own writer has a thread that
    dies of a full disk and takes the run along.)
    """

    def __init__(self) -> None:
        """Import the package. Raises ``ImportError`` if it is not installed."""
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._summary, self._writer = Event, Summary, RecordWriter
        self._session = SessionLog
        self._path = Path()

    def start(self, run: RunStart) -> None:
        """Open a new file in the run's folder; after a resume, drop the points that follow the checkpoint."""
        folder = run.path / "tensorboard"
        earlier = sorted(folder.glob(f"{_PREFIX}*"))
        self._path = folder / f"{_PREFIX}{_after(earlier, int(time.time())):010d}.{os.getpid()}"
        self._write(self._event(wall_time=time.time(), file_version="brain.Event:2"))
        if earlier:
            with suppress(StorageError):  # the report names the damaged file
                self._resume(*RunView(RunDirectory(run.path)).metrics())

    def _resume(self, updates: Sequence[UpdateMetrics], evaluations: Sequence[EvaluationMetrics]) -> None:
        """Withdraw points of earlier files that lie beyond the rows of ``metrics.jsonl``, which is the truth.

        TensorBoard drops the points from the step of ``START`` on. Rows of that step may be in the earlier
        files, or be lost: they are written again. In a league the step is the least of all members.
        """
        newest: dict[str, int] = {}
        for update in updates:
            newest[update.player] = update.steps
        step = min(newest.values(), default=0)
        log = self._session(status=self._session.START)
        self._write(self._event(wall_time=time.time(), step=step, session_log=log))
        every: list[Metrics] = [*updates, *evaluations]
        rows = [row for row in every if row.steps >= step]
        for point in sorted(rows, key=lambda row: row.steps):
            if isinstance(point, UpdateMetrics):
                self.update(point)
            else:
                self.evaluation(point)

    def update(self, metrics: UpdateMetrics) -> None:
        """Write the numbers of an update."""
        self._scalars(metrics.numbers, metrics.steps, metrics.player)

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        """Write the numbers of an evaluation."""
        if not evaluation.playoff:  # of several versions at one moment: no point of a curve
            self._scalars(evaluation.numbers, evaluation.steps, evaluation.player)

    def _scalars(self, scalars: dict[str, float], step: int, player: str) -> None:
        """Write scalars. Members of a league have separate curves: each counts its own steps."""
        prefix = f"{player}/" if player else ""
        values = [self._summary.Value(tag=prefix + tag, simple_value=value) for tag, value in scalars.items()]
        self._write(self._event(wall_time=time.time(), step=step, summary=self._summary(value=values)))

    def _write(self, event: Event) -> None:
        record = io.BytesIO()
        self._writer(record).write(event.SerializeToString())
        # metrics.jsonl is the truth, and its sink reports a full disk
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


def _after(earlier: Sequence[Path], now: int) -> int:
    """Return a time in seconds after those in the names of ``earlier``: TensorBoard reads files in order."""
    times = (path.name.removeprefix(_PREFIX).partition(".")[0] for path in earlier)
    return max([now, *(int(text) + 1 for text in times if text.isdecimal())])


def default_sinks() -> tuple[Sink, ...]:
    """Return TensorBoard's sink, where its package is installed."""
    try:
        return (TensorBoardSink(),)
    except ImportError:
        return ()

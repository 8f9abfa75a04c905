"""TensorBoard: the scalars of ``metrics.jsonl`` under the same names, over trained steps.

Settings of the run are hyper-parameters of the page HPARAMS, beside the final results; its report is a text.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ludus.reporting.metrics import EvaluationMetrics, Metrics, UpdateMetrics
from ludus.reporting.run_view import RunView
from ludus.reporting.sinks import RunStart, Sink
from ludus.reporting.tracking.facts import facts_of, hyper_parameters
from ludus.storage.errors import StorageError
from ludus.storage.files import open_own, own_folder, read_bounded
from ludus.storage.rundir import RunDirectory

if TYPE_CHECKING:
    from tensorboard.compat.proto.event_pb2 import Event


_MOST_TEXT = 1 << 20
_PREFIX = "events.out.tfevents."


class TensorBoardSink(Sink):
    """Scalars over trained steps, in ``RUN/tensorboard``.

    One record an update, written at once and whole: what a full disk cuts off is taken back, later
    records are tried again, and the run never hears of it. (TensorBoard's own writer has a thread that
    dies of a full disk and takes the run along.)
    """

    package, extra = "tensorboard", "train"
    in_process = True

    def __init__(self) -> None:
        """Import the package. Raises ``ImportError`` if it is not installed."""
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._summary, self._writer = Event, Summary, RecordWriter
        self._session = SessionLog
        self._path, self._run, self._steps = Path(), Path(), 0

    def start(self, run: RunStart) -> None:
        """Open a new file in the run's folder; after a resume, drop the points that follow the checkpoint."""
        folder = run.path / "tensorboard"
        earlier = sorted(folder.glob(f"{_PREFIX}*"))
        self._path = folder / f"{_PREFIX}{_after(earlier, int(time.time())):010d}.{os.getpid()}"
        self._write(self._event(wall_time=time.time(), file_version="brain.Event:2"))
        if run.received is None and earlier:
            with suppress(StorageError):  # the report names the damaged file
                self._resume(*RunView(RunDirectory(run.path)).metrics())
        elif run.received == 0 and earlier:  # all rows follow
            self._withdraw(0)
        self._run = run.path
        with suppress(StorageError, OSError, ValueError):
            self._hyper_parameters(RunDirectory(run.path))

    def _resume(self, updates: Sequence[UpdateMetrics], evaluations: Sequence[EvaluationMetrics]) -> None:
        """Withdraw points of earlier files that lie beyond the rows of ``metrics.jsonl``, which is the truth.

        TensorBoard drops the points from the step of ``START`` on. Rows of that step may be in the earlier
        files, or be lost: they are written again. In a league the step is the least of all members.
        """
        newest: dict[str, int] = {}
        for update in updates:
            newest[update.player] = update.steps
        step = min(newest.values(), default=0)
        self._withdraw(step)
        every: list[Metrics] = [*updates, *evaluations]
        rows = [row for row in every if row.steps >= step]
        for point in sorted(rows, key=lambda row: row.steps):
            if isinstance(point, UpdateMetrics):
                self.update(point)
            else:
                self.evaluation(point)

    def _withdraw(self, step: int) -> None:
        log = self._session(status=self._session.START)
        self._write(self._event(wall_time=time.time(), step=step, session_log=log))

    def update(self, metrics: UpdateMetrics) -> None:
        """Write the numbers of an update."""
        self._scalars(metrics.numbers, metrics.steps, metrics.player)

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        """Write the numbers of an evaluation."""
        if not evaluation.playoff:  # of several versions at one moment: no point of a curve
            self._scalars(evaluation.numbers, evaluation.steps, evaluation.player)

    def close(self) -> None:
        """Write the end of the session, and the report as a text. Replays are files of the run."""
        from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2
        from tensorboard.plugins.text.summary_v2 import text_pb

        if not self._run.name:
            return
        facts = facts_of(self._run)
        failed = facts.state in ("failed", "lost")
        status = api_pb2.STATUS_FAILURE if failed else api_pb2.STATUS_SUCCESS
        end = plugin_data_pb2.SessionEndInfo(status=status, end_time_secs=time.time())
        about = metadata.create_summary_metadata(plugin_data_pb2.HParamsPluginData(session_end_info=end))
        value = {"tag": metadata.SESSION_END_INFO_TAG, "metadata": about, "tensor": metadata.NULL_TENSOR}
        self._write(self._event(wall_time=time.time(), summary=self._summary(value=[value])))
        for file in facts.files:
            if file.suffix == ".md":
                with suppress(OSError, StorageError):
                    text = text_pb("report", _shown(read_bounded(file, _MOST_TEXT).decode(errors="replace")))
                    self._write(self._event(wall_time=time.time(), step=self._steps, summary=text))

    def _hyper_parameters(self, run: RunDirectory) -> None:
        from tensorboard.plugins.hparams.summary_v2 import hparams_pb

        info = run.info()
        started = datetime.fromisoformat(info.started.replace("Z", "+00:00")).timestamp()
        found = hparams_pb(
            hyper_parameters(run), trial_id=info.run_id or run.path.name, start_time_secs=started
        )
        self._write(self._event(wall_time=time.time(), summary=found))

    def _scalars(self, scalars: dict[str, float], step: int, player: str) -> None:
        """Write scalars. Members of a league have separate curves: each counts its own steps."""
        self._steps = max(self._steps, step)
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


def _shown(report: str) -> str:
    """Return a report without its pictures, which are other files."""
    return "\n".join(line for line in report.split("\n") if not line.startswith("!["))


def _after(earlier: Sequence[Path], now: int) -> int:
    """Return a time in seconds after those in the names of ``earlier``: TensorBoard reads files in order."""
    times = (path.name.removeprefix(_PREFIX).partition(".")[0] for path in earlier)
    return max([now, *(int(text) + 1 for text in times if text.isdecimal())])

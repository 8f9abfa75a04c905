"""Feeder: gives a sink the rows of a run's log that it has not received yet, of a live run and of an old one.

``RUN/tracking/NAME.json`` records the rows that the sink ``NAME`` has received. So a resume of the run, or of
the tracking, continues: no row is given twice.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from ludus.flow.errors import RunFailed
from ludus.flow.inputs.bounds import Count
from ludus.flow.inputs.decode import from_json, to_json
from ludus.flow.inputs.shown import visible
from ludus.presets.config import TrackingConfig
from ludus.reporting.metrics import EvaluationMetrics, Metrics, metrics_row
from ludus.reporting.run_view import LogPlace, RunView
from ludus.reporting.sinks import RunStart, Sink
from ludus.reporting.tracking.facts import preset_of_run
from ludus.storage.errors import StorageError
from ludus.storage.files import file_part, open_own, own_folder, read_bounded, write_atomic
from ludus.storage.lock import RunBusy, try_lock
from ludus.storage.rundir import RunDirectory

MAX_BYTES = 4 << 20
MOST_WORDS = 400  # of an error of a sink
MOST_RESULTS = 1000  # final matches and play-offs that are remembered

T = TypeVar("T")


class Received(msgspec.Struct, frozen=True):
    """Rows that a sink has received for one project of its tracker.

    ``versions``: newest one by kind of row and player; ``results``: checksums of final matches and play-offs.
    """

    place: LogPlace = LogPlace()
    rows: Count = 0
    versions: dict[str, int] = {}
    results: tuple[int, ...] = ()


class ReceivedByProject(msgspec.Struct, frozen=True):
    """Content of ``RUN/tracking/NAME.json``."""

    projects: dict[str, Received] = {}


class SinkFailed(RunFailed):
    """A sink raised an error."""


class Feeder:
    """Feeds one sink with one run. The run is only read."""

    def __init__(
        self,
        run: RunDirectory,
        name: str,
        kind: type[Sink],
        tracking: TrackingConfig,
        say: Callable[[str], None],
    ) -> None:
        """Take the place of the feeder of the sink ``name``; ``say`` shows a line to the user.

        Raises:
            SinkFailed: The sink cannot be made.
            RunBusy: Another process feeds this sink with this run.
            StorageError: A file of the tracking is a link or damaged.
            OSError: A file cannot be written.
        """
        self.view = RunView(run)
        self._run, self._name, self._tracking = run, name, tracking
        self._say = say
        self._sink = self._called(kind)
        own_folder(run.tracking, make=True)
        self._state = run.tracking / f"{file_part(name)}.json"
        self._lock = _locked(run.tracking / f"{file_part(name)}.lock", f"{run.path}: {name}")
        self._saved = self._earlier()
        self.received = self._saved.get(tracking.project, Received())
        self.given = 0  #: rows that this feeder has given

    def _earlier(self) -> dict[str, Received]:
        """Return what the sink has received, by project."""
        try:
            return from_json(read_bounded(self._state, MAX_BYTES), ReceivedByProject).projects
        except FileNotFoundError:
            return {}
        except (msgspec.DecodeError, UnicodeDecodeError, StorageError) as error:
            self._say(f"{self._state}: {visible(str(error))}; all rows are sent again")
            return {}

    def _save(self) -> None:
        """Write what the sink has received, if that is more than before."""
        project = self._tracking.project
        if self.received != self._saved.get(project):
            self._saved = {**self._saved, project: self.received}
            write_atomic(self._state, to_json(ReceivedByProject(self._saved)) + b"\n")

    def start(self) -> None:
        """Start the sink."""
        preset = preset_of_run(self._run, self._tracking)
        start = RunStart(self._run.path, preset, received=self.received.rows, say=self._say)
        self._called(lambda: self._sink.start(start))

    def feed(self) -> int:
        """Give the sink the rows that are new, and return their number."""
        before = self.given
        try:
            self._feed()
        finally:
            self._save()
        return self.given - before

    def _feed(self) -> None:
        for place, metrics in self.view.metrics_from(self.received.place):
            new = self._noted(metrics)
            if new is not None:
                self._called(partial(_give, self._sink, metrics))
                self.given += 1
                self.received = new
            self.received = msgspec.structs.replace(self.received, place=place)

    def finish(self) -> None:
        """End the sink, which reads results and files of the run by itself."""
        self._called(self._sink.close)

    def _called(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except Exception as error:  # code of any package
            why = visible(str(error).partition("\n")[0][:MOST_WORDS])
            raise SinkFailed(f"{self._name}: {type(error).__name__}: {why}") from error

    def close(self) -> None:
        """Let another process feed the sink."""
        os.close(self._lock)

    def _noted(self, metrics: Metrics) -> Received | None:
        """Return what the sink will have received with this row; None for a row that it has already.

        A run that was killed repeats rows after its checkpoint: their versions identify them.
        """
        seen = self.received
        rows = seen.rows + 1
        if isinstance(metrics, EvaluationMetrics) and (metrics.final or metrics.playoff):
            digest = zlib.crc32(to_json(metrics_row(metrics)))
            if digest in seen.results:
                return None
            results = (*seen.results, digest)[-MOST_RESULTS:]
            return msgspec.structs.replace(seen, rows=rows, results=results)
        key = f"{metrics.kind} {metrics.player}".rstrip()
        if metrics.version <= seen.versions.get(key, -1):
            return None
        versions = {**seen.versions, key: metrics.version}
        return msgspec.structs.replace(seen, rows=rows, versions=versions)


def _give(sink: Sink, metrics: Metrics) -> None:
    if isinstance(metrics, EvaluationMetrics):
        sink.evaluation(metrics)
    else:
        sink.update(metrics)


def _locked(path: Path, what: str) -> int:
    """Return the descriptor of a lock, which the end of the process releases. Raises ``RunBusy``."""
    import fcntl

    fd = open_own(path, os.O_RDWR)
    if not try_lock(fd, fcntl.LOCK_EX):
        os.close(fd)
        raise RunBusy(f"{what} receives the rows of this run from another process already; wait for its end")
    return fd

"""Context that the loop of a run shares with its trainer: settings, files, reports, time and Ctrl-C."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from ludus.flow.process.interrupts import on_stop
from ludus.presets.config import Preset
from ludus.presets.errors import Interrupted
from ludus.reporting.provenance import provenance_of
from ludus.reporting.run_view import RunView
from ludus.reporting.sinks import Reporter, Sink, Sinks
from ludus.storage import RunDirectory, RunLog
from ludus.training.stopping import Budget

if TYPE_CHECKING:
    from ludus.training.machines import MachineEvent


class Interrupt:
    """Ctrl-C, SIGTERM and SIGHUP, kept until the run can end in order."""

    def __init__(self) -> None:
        """Start without a signal; :meth:`signals` installs the handlers."""
        self.came = False

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Handle signals in the body: the first ends the run after its round, a second Ctrl-C at once."""

        def stop(number: int, frame: FrameType | None) -> None:
            if self.came and number == signal.SIGINT:
                raise KeyboardInterrupt
            self.came = True

        with on_stop(stop):
            yield


class TrainingClock:
    """Minutes of training, of wall and processor time."""

    def __init__(self) -> None:
        """Start the first lap."""
        self._mark, self._cpu_mark = time.perf_counter(), time.process_time()

    def minutes(self) -> float:
        """Return the minutes of wall time since the lap started."""
        return (time.perf_counter() - self._mark) / 60.0

    def lap(self, budget: Budget | None = None) -> None:
        """Start the next lap; the minutes of the last one are added to ``budget``."""
        now, cpu = time.perf_counter(), time.process_time()
        if budget is not None:
            budget.minutes += (now - self._mark) / 60.0
            budget.cpu_minutes += (cpu - self._cpu_mark) / 60.0
        self._mark, self._cpu_mark = now, cpu


class NeededFiles:
    """Files that a run's state refers to. No checkpoint is written while the disk refuses one of them."""

    def __init__(self, report: Sinks) -> None:
        """Start without files. ``report`` receives failures."""
        self._report = report
        self._refused: dict[Path, Callable[[], object]] = {}

    def write(self, path: Path, write: Callable[[], object]) -> None:
        """Write a file with ``write``; a failure is reported, and tried again before the next checkpoint."""
        try:
            write()
        except OSError as error:
            self._refused[path] = write
            self._report.problem(
                f"{path} was not written ({error.strerror or error}); "
                "it is tried again before the next checkpoint"
            )
        else:
            self._refused.pop(path, None)

    def write_refused(self, needed: set[Path]) -> None:
        """Write refused files of ``needed``. Raises ``OSError`` where one still cannot be written."""
        for path, write in list(self._refused.items()):
            if path in needed:
                try:
                    write()
                except OSError as error:
                    raise OSError(error.errno, f"it needs {path}: {error.strerror or error}") from error
            del self._refused[path]


class RunContext:
    """Context of one run, from its first message to its last; see :mod:`ludus.training.runs`."""

    def __init__(self, preset: Preset, directory: RunDirectory, sinks: Iterable[Sink] = ()) -> None:
        """Open the log of the run and start its clock.

        Args:
            preset: The settings of the run.
            directory: Its directory, which this process has locked.
            sinks: Receive its reports.
        """
        self.preset, self.directory = preset, directory
        self.log = RunLog(directory)
        self.report = Reporter(self.log, sinks)
        self.interrupt = Interrupt()
        self.clock = TrainingClock()
        self.needed = NeededFiles(self.report)
        #: In a league, the members that evaluations rate in turn; the best of them is the run's best.
        self.contenders: tuple[str, ...] = ("",)
        self.evaluated = ""  #: the member whose weights are evaluated now
        #: Returns what happened to the run's machines since the last call.
        self.take_events: Callable[[], Sequence[MachineEvent]] = tuple
        self.initial_weights = ""  #: in a league, the initial weights of this member; empty for random ones

    def describe_weights(self) -> None:
        """Let weights files say from now on what the run is, with the floors that were measured so far."""
        floors = RunView(self.directory).floors()
        self.directory.write_provenance(provenance_of(self.preset, floors))

    def interrupted(self) -> bool:
        """Return whether the run should end as soon as it can be saved."""
        return self.interrupt.came

    def stop_if_interrupted(self, version: int) -> None:
        """End the run where a signal came; ``version`` of its weights was saved.

        Raises:
            Interrupted: A signal came.
        """
        if self.interrupt.came:
            self.report.event("interrupted", version=version)
            raise Interrupted(self.directory.path, version)

    def rewind_log(self, sizes: dict[str, int]) -> None:
        """Cut the log to the rows of a checkpoint; missing rows are reported."""
        for lost in self.log.rewind(sizes):
            self.report.problem(lost)

    def report_machines(self) -> None:
        """Report what happened to the run's machines: an event each, and a message where it is news."""
        for event in self.take_events():
            self.report.event(event.kind, **event.detail)
            if event.text:
                self.report.message(event.text)

    def report_removed(self) -> None:
        """Report in one line what was removed from the ends of the run's files when it was resumed."""
        removed, self.log.removed = self.log.removed, []
        if removed:
            self.report.message(
                f"dropped from the record: {', '.join(removed)}; the run continues from there"
            )

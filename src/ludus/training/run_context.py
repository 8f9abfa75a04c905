"""What the loop of a run and its trainer share: settings, files, reports, time, and Ctrl-C."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

from ludus.flow.interrupts import on_stop
from ludus.presets.config import Preset
from ludus.presets.errors import Interrupted
from ludus.storage import RunDirectory, RunLog
from ludus.training.reporting.sinks import Reporter, Sink
from ludus.training.saving import NeededFiles
from ludus.training.stopping import Budget


class Interrupt:
    """Ctrl-C, SIGTERM and SIGHUP, remembered until the run can end in order."""

    def __init__(self) -> None:
        self.came = False

    @contextmanager
    def signals(self) -> Iterator[None]:
        """While it is open, they end the run after the present round; a second Ctrl-C ends it at once."""

        def stop(number: int, frame: FrameType | None) -> None:
            if self.came and number == signal.SIGINT:
                raise KeyboardInterrupt
            self.came = True

        with on_stop(stop):
            yield


class TrainingClock:
    """Minutes of training, of wall and processor time."""

    def __init__(self) -> None:
        self._mark, self._cpu_mark = time.perf_counter(), time.process_time()

    def minutes(self) -> float:
        """Of wall time since the last lap."""
        return (time.perf_counter() - self._mark) / 60.0

    def lap(self, budget: Budget | None = None) -> None:
        """The next lap begins; ``budget`` has used what the last one took."""
        now, cpu = time.perf_counter(), time.process_time()
        if budget is not None:
            budget.minutes += (now - self._mark) / 60.0
            budget.cpu_minutes += (cpu - self._cpu_mark) / 60.0
        self._mark, self._cpu_mark = now, cpu


class RunContext:
    """Owned by a run from its first message to its last. Made by :func:`ludus.training.runs.start_run`."""

    def __init__(self, preset: Preset, directory: RunDirectory, sinks: Iterable[Sink] = ()) -> None:
        self.preset, self.directory = preset, directory
        self.log = RunLog(directory)
        self.report = Reporter(self.log, sinks)
        self.interrupt = Interrupt()
        self.clock = TrainingClock()
        self.needed = NeededFiles(self.report)
        #: Of a league: the members that evaluations rate in turn; the best of them is the run's.
        self.contenders: tuple[str, ...] = ("",)
        self.evaluated = ""  #: the one of them whose weights are evaluated now
        self.begins_with = ""  #: of a league: the weights that this member begins with, empty for new ones

    def interrupted(self) -> bool:
        """Whether the run should end as soon as it can be saved."""
        return self.interrupt.came

    def stop_if_interrupted(self, version: int) -> None:
        """Raises ``Interrupted``."""
        if self.interrupt.came:
            self.report.event("interrupted", version=version)
            raise Interrupted(self.directory.path, version)

    def rewind_log(self, sizes: dict[str, int]) -> None:
        """Back to the rows of a checkpoint; rows that are not there are reported."""
        for lost in self.log.rewind(sizes):
            self.report.problem(lost)

"""Sinks: where a run reports to. The log files, the live view and TensorBoard are sinks of one protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ludus.flow import GameSpec
from ludus.presets.config import Preset
from ludus.storage import RunLog
from ludus.training.reporting.metrics import EvaluationMetrics, Metrics, UpdateMetrics, metrics_row

#: Returns False to end the run, anything else to continue.
Callback = Callable[[Metrics], object]


@dataclass(frozen=True, slots=True)
class RunStart:
    """The run that begins, or goes on."""

    path: Path
    preset: Preset
    spec: GameSpec
    doing: Callable[[], str] = lambda: "starting"  #: what the run does now, in words; any thread may ask


class Sink:
    """Receives what a run reports; subclasses override what they need.

    Called from the thread that runs the training, so every method returns soon. A sink that raises is left
    out from then on, and the run continues.
    """

    #: A sink may set a reason here: the run then ends after the present round, saved and evaluated.
    stop: str = ""

    def start(self, run: RunStart) -> None:
        """Called before the first update."""

    def update(self, metrics: UpdateMetrics) -> None:
        """Called after each update of the weights."""

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        """Called after each evaluation."""

    def checkpoint(self, path: Path, version: int) -> None:
        """Called after each checkpoint that was written."""

    def message(self, text: str) -> None:
        """A line for people: what was decided, what went wrong and how the run continues."""

    def close(self) -> None:
        """Called once, when the run has ended in whatever way."""


class Sinks(Sink):
    """Several sinks as one: a sink that raises is left out, and the others go on."""

    def __init__(self, members: Iterable[Sink] = ()) -> None:
        self.members = tuple(members)

    @property
    def wants_to_stop(self) -> str:
        """The first member's reason to end the run, empty for none."""
        return next((sink.stop for sink in self.members if sink.stop), "")

    def start(self, run: RunStart) -> None:
        self._feed(lambda sink: sink.start(run))

    def update(self, metrics: UpdateMetrics) -> None:
        self._feed(lambda sink: sink.update(metrics))

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        self._feed(lambda sink: sink.evaluation(evaluation))

    def checkpoint(self, path: Path, version: int) -> None:
        self._feed(lambda sink: sink.checkpoint(path, version))

    def message(self, text: str) -> None:
        self._feed(lambda sink: sink.message(text))

    def problem(self, text: str) -> None:
        """Something that went wrong, while the run goes on."""
        self.message(f"problem: {text}")

    def close(self) -> None:
        self._feed(lambda sink: sink.close())

    def _feed(self, give: Callable[[Sink], None]) -> None:
        for sink in self.members:
            try:
                give(sink)
            except Exception as error:
                self.members = tuple(s for s in self.members if s is not sink)
                self.problem(f"{type(sink).__name__} is left out from now on: {error}")


class CallbackSink(Sink):
    """A function of the user's: it is called with each update's and each evaluation's metrics.

    It ends the run by returning False. If it raises, the run ends in order too, and ``error`` holds what it
    raised.
    """

    def __init__(self, callback: Callback) -> None:
        self._callback = callback
        self.error: Exception | None = None

    def update(self, metrics: UpdateMetrics) -> None:
        self._call(metrics)

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        self._call(evaluation)

    def _call(self, metrics: Metrics) -> None:
        if self.stop:
            return
        try:
            answer = self._callback(metrics)
        except Exception as error:
            self.error = error
            self.stop = f"the callback raised {type(error).__name__}: {error}"
            return
        if answer is False:
            self.stop = "stopped by the callback"


class LogSink(Sink):
    """The files of a run: ``metrics.jsonl`` and ``log.txt``. A full disk costs lines, never the run."""

    def __init__(self, log: RunLog, report: Callable[[str], None]) -> None:
        """``report``: receives what is wrong with the disk, once."""
        self._log, self._report = log, report
        self._reported = ""

    def update(self, metrics: UpdateMetrics) -> None:
        self._write(metrics)

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        self._write(evaluation)

    def message(self, text: str) -> None:
        self._log.message(text)

    def close(self) -> None:
        self._log.close()

    def _write(self, metrics: Metrics) -> None:
        self._log.metrics(metrics_row(metrics))
        if self._log.problem and self._log.problem != self._reported:
            self._reported = self._log.problem
            self._report(f"problem: {self._reported}; the run goes on without these lines")


class Reporter(Sinks):
    """What a run reports through: its log, then every other sink. Events go to the log alone."""

    def __init__(self, log: RunLog, sinks: Iterable[Sink]) -> None:
        super().__init__((LogSink(log, self.message), *sinks))
        self._log = log

    def event(self, kind: str, **detail: object) -> None:
        """A line of ``events.jsonl``."""
        self._log.event(kind, **detail)

    def problem(self, text: str) -> None:
        self.event("problem", text=text)
        super().problem(text)

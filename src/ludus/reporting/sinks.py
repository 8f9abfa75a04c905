"""Sinks: where a run reports to. The log files, the live view and trackers are sinks of one protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ludus.flow import GameSpec
from ludus.flow.problem import PRESET, PYTHON, Problem, Words, message
from ludus.presets.config import Preset
from ludus.reporting.metrics import EvaluationMetrics, Metrics, UpdateMetrics, metrics_row
from ludus.storage import RunLog

PROBLEM = "problem: "  # starts a message about what does not end the run

#: Returns False to end the run, anything else to continue.
Callback = Callable[[Metrics], object]


@dataclass(frozen=True, slots=True)
class RunStart:
    """The run that starts or resumes."""

    path: Path
    preset: Preset
    spec: GameSpec | None = None  #: None where the rows come from the run's files and no game is loaded
    doing: Callable[[], str] = lambda: "starting"  #: what the run does now, in words; any thread may ask
    share: Callable[[], float | None] = lambda: None  #: the share of it that is done, 0..1; None: unknown
    #: Rows that the sink received from earlier processes; None in the process that trains.
    received: int | None = None
    say: Callable[[str], None] = lambda text: None  #: shows a line to the user

    @property
    def title(self) -> str:
        """Title of the run, or of its game."""
        return self.preset.title or (self.spec.title if self.spec is not None else self.preset.game.name)


class Sink:
    """Receives what a run reports; subclasses override what they need.

    Called from the thread that runs the training, so every method returns soon. A sink that raises is left
    out from then on, and the run continues. A sink that a preset names has a process, in which it may take
    its time (:mod:`ludus.reporting.tracking`): it receives updates and evaluations, no checkpoints and
    messages, and cannot end the run.
    """

    #: The package that the sink needs, and the extra of Ludus that installs it, if one does.
    package, extra = "", ""
    #: Whether a preset's sink is called by the process that trains: its methods never wait.
    in_process = False
    #: A sink may set a reason here: the run then ends after the present round, saved and evaluated.
    stop: str = ""
    #: How messages write settings: as Python, a preset's file or the command line does.
    words: Words = PYTHON

    def start(self, run: RunStart) -> None:
        """Receive the run before its first update; again where it continues after a learner was lost."""

    def update(self, metrics: UpdateMetrics) -> None:
        """Receive each update of the weights."""

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        """Receive each evaluation."""

    def checkpoint(self, path: Path, version: int) -> None:
        """Receive each checkpoint that was written."""

    def message(self, text: str) -> None:
        """Receive a line for people: decisions, problems, and how the run continues after them."""

    def close(self) -> None:
        """End. Called once, when the run has ended in whatever way."""


class Sinks(Sink):
    """Several sinks as one: a sink that raises is left out, and the rest continues."""

    def __init__(self, members: Iterable[Sink] = ()) -> None:
        """Feed ``members`` in their order."""
        self.members = tuple(members)

    @property
    def stop_reason(self) -> str:
        """The first member's reason to end the run, empty for none."""
        return next((sink.stop for sink in self.members if sink.stop), "")

    def start(self, run: RunStart) -> None:
        """Pass the run on."""
        self._feed(lambda sink: sink.start(run))

    def update(self, metrics: UpdateMetrics) -> None:
        """Pass an update on."""
        self._feed(lambda sink: sink.update(metrics))

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        """Pass an evaluation on."""
        self._feed(lambda sink: sink.evaluation(evaluation))

    def checkpoint(self, path: Path, version: int) -> None:
        """Pass a checkpoint on."""
        self._feed(lambda sink: sink.checkpoint(path, version))

    def message(self, text: str | Problem) -> None:
        """Pass a line on, in each sink's words."""
        self._feed(lambda sink: sink.message(message(text, sink.words)))

    def problem(self, text: str | Problem) -> None:
        """Report a problem that does not end the run."""
        self.message(text.within(PROBLEM.rstrip(": ")) if isinstance(text, Problem) else f"{PROBLEM}{text}")

    def close(self) -> None:
        """Close every sink that still works."""
        self._feed(lambda sink: sink.close())

    def _feed(self, give: Callable[[Sink], None]) -> None:
        for sink in self.members:
            try:
                give(sink)
            except Exception as error:
                self.members = tuple(s for s in self.members if s is not sink)
                self.problem(f"{type(sink).__name__} is left out: {error}")


class CallbackSink(Sink):
    """A function of the user's: it is called with each update's and each evaluation's metrics.

    It ends the run by returning False. If it raises, the run ends in order too, and ``error`` holds what it
    raised.
    """

    def __init__(self, callback: Callback) -> None:
        """Call ``callback`` with each update and each evaluation."""
        self._callback = callback
        self.error: Exception | None = None

    def update(self, metrics: UpdateMetrics) -> None:
        """Call the function."""
        self._call(metrics)

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        """Call the function."""
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

    words = PRESET

    def __init__(self, log: RunLog, report: Callable[[str], None]) -> None:
        """Write into ``log``; ``report`` receives the first failure of the disk."""
        self._log, self._report = log, report
        self._reported = ""

    def update(self, metrics: UpdateMetrics) -> None:
        """Append a row to ``metrics.jsonl``."""
        self._write(metrics)

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        """Append a row to ``metrics.jsonl``."""
        self._write(evaluation)

    def message(self, text: str) -> None:
        """Append a line to ``log.txt``."""
        self._log.message(text)

    def close(self) -> None:
        """Close the files."""
        self._log.close()

    def _write(self, metrics: Metrics) -> None:
        self._log.metrics(metrics_row(metrics))
        if self._log.problem and self._log.problem != self._reported:
            self._reported = self._log.problem
            self._report(f"{PROBLEM}{self._reported}; the run continues without these lines")


class Reporter(Sinks):
    """Log and sinks of a run. Reports go to the log, then to every other sink; events only to the log."""

    def __init__(self, log: RunLog, sinks: Iterable[Sink]) -> None:
        """Feed ``log``, then ``sinks``."""
        super().__init__((LogSink(log, self.message), *sinks))
        self._log = log

    def close(self) -> None:
        """Close the sinks, and then the log: it keeps what they say at their end."""
        log, *others = self.members
        self.members = (*others, log)
        super().close()

    def event(self, kind: str, **detail: object) -> None:
        """Append a line to ``events.jsonl``."""
        self._log.event(kind, **detail)

    def problem(self, text: str | Problem) -> None:
        """Report a problem: in ``events.jsonl``, and as a message."""
        self.event("problem", text=message(text, PRESET))
        super().problem(text)

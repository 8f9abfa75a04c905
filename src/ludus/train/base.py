"""What every kind of run has: its files, its messages, its signals, the judgement of evaluations."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import msgspec

from ludus.storage import Pointer, RunDirectory, RunLog
from ludus.train.config import Preset
from ludus.train.errors import Interrupted
from ludus.train.evaluation import EvalResult
from ludus.train.observer import EvaluationMetrics, Observer, UpdateMetrics
from ludus.train.referee import FINAL
from ludus.train.report import write_report
from ludus.train.sinks import Sink
from ludus.train.stopping import Budget


class RunBase:
    """Owns a run's files while it runs. Made, run once, closed."""

    def __init__(
        self, preset: Preset, run: RunDirectory, observer: Observer, sinks: tuple[Sink, ...]
    ) -> None:
        self.preset, self.run_dir, self.observer, self.sinks = preset, run, observer, sinks
        self.log = RunLog(run)
        self.reason = ""
        self._interrupted = False
        self._reported_problem = ""

    @property
    def version(self) -> int:
        """Of the newest weights."""
        raise NotImplementedError

    def judged(
        self,
        version: int,
        results: tuple[EvalResult, ...],
        number: int,
        budget: Budget,
        best_score: float | None,
    ) -> float | None:
        """Tells an evaluation; its score where it is the best so far, which ``best.json`` then says."""
        score = sum(r.measure_low for r in results) / len(results)
        best = best_score is None or score > best_score
        if best and version in self.run_dir.checkpoints.versions():
            try:
                self.run_dir.checkpoints.point("best", Pointer(version, score))
            except OSError as error:
                self._problem(f"best.json was not written: {error.strerror or error}")
        lowest = min(r.measure_low for r in results)
        known = budget.best_lower_bound
        budget.best_lower_bound = lowest if known is None else max(known, lowest)
        self._tell(EvaluationMetrics(version, budget.steps, score, best, results, final=number == FINAL))
        return score if best else None

    def _record(self, metrics: UpdateMetrics) -> None:
        """One update, to whoever keeps or shows it."""
        self.log.metrics(msgspec.to_builtins(metrics, str_keys=True))
        self._report_log_problem()
        self._feed(lambda sink: sink.update(metrics))
        self.observer.on_update(metrics)

    def _tell(self, evaluation: EvaluationMetrics) -> None:
        self.log.metrics(msgspec.to_builtins(evaluation, str_keys=True))
        self._report_log_problem()
        self._feed(lambda sink: sink.evaluation(evaluation))
        self.observer.on_evaluation(evaluation)

    def _feed(self, give: Callable[[Sink], None]) -> None:
        """A sink that fails is left out from then on; ``metrics.jsonl`` has it all."""
        for sink in self.sinks:
            try:
                give(sink)
            except Exception as error:
                self.sinks = tuple(s for s in self.sinks if s is not sink)
                self._problem(f"{type(sink).__name__} is left out from now on: {error}")

    def _stop_if_interrupted(self) -> None:
        if self._interrupted:
            self.log.event("interrupted", version=self.version)
            raise Interrupted(self.run_dir.path, self.version)

    def write_report(self) -> None:
        """``report.md``; where that fails the run is as good without it."""
        try:
            write_report(self.run_dir, self.preset, self.reason)
        except OSError as error:
            self._problem(f"{self.run_dir.report} was not written: {error.strerror or error}")

    def _report_log_problem(self) -> None:
        if self.log.problem and self.log.problem != self._reported_problem:
            self._reported_problem = self.log.problem
            self.observer.on_message(f"problem: {self.log.problem}; the run goes on without these lines")

    def _problem(self, text: str) -> None:
        self.log.event("problem", text=text)
        self._say(f"problem: {text}")

    def _say(self, text: str) -> None:
        self.log.message(text)
        self.observer.on_message(text)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Ctrl-C (and SIGTERM) end the run after the round that is under way; a second Ctrl-C at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def stop(number: int, frame: FrameType | None) -> None:
            if self._interrupted and number == signal.SIGINT:
                raise KeyboardInterrupt
            self._interrupted = True

        before = {s: signal.signal(s, stop) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

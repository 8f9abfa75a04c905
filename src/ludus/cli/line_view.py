"""Progress of a run without a terminal: a line every ten seconds, and one for each event."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ludus.cli import console
from ludus.cli.console import duration, percent, si
from ludus.cli.update_texts import (
    Rates,
    doing_text,
    flow_text,
    interval_text,
    lag_text,
    remaining,
    results_text,
    version_text,
)
from ludus.cli.words import COMMAND_LINE
from ludus.flow.inputs.shown import visible
from ludus.reporting.sinks import RunStart, Sink

if TYPE_CHECKING:
    from ludus.reporting.metrics import EvaluationMetrics, UpdateMetrics

LINE_EVERY_S = 10.0
LOOKS = 10  # times that a thread looks whether a line is due, from one line to the next


class ProgressView(Sink):
    """A sink that opens and closes with a run. This base class shows nothing."""

    words = COMMAND_LINE

    def __enter__(self) -> ProgressView:
        """Open the view."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the view."""


class LineView(ProgressView):
    """View of one plain line every ten seconds, and one per event.

    A line has the numbers of the newest update. If none came for twice as long, it names the run's present
    work and repeats the last numbers; before the first update, it names the work every ten seconds. All lines
    have one clock: the time since the command started.
    """

    def __init__(self, every_s: float = LINE_EVERY_S) -> None:
        """Make a view that writes a line every ``every_s`` seconds."""
        self.every_s = every_s
        self.rates = Rates()
        self.doing: Callable[[], str] = lambda: "starting"
        self._opened_at = time.monotonic()
        self._numbers_at = self._updated_at = -math.inf  # when an update was written, and when one came
        self._shown_at = self._opened_at  # when a line was written
        self._newest: UpdateMetrics | None = None
        self._rated = ""  # what the last evaluation has measured
        self._waits = False  # the newest update was not written yet
        self._lock = threading.Lock()  # of everything above: updates come from the training thread
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._write_lines, daemon=True, name="progress")

    def __enter__(self) -> LineView:
        """Start the thread that writes lines where no update does."""
        self._opened_at = self._shown_at = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop that thread."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()

    def _write_lines(self) -> None:
        while not self._closed.wait(self.every_s / LOOKS):  # an update may move the next line forward
            with self._lock:
                now = time.monotonic()
                if now >= self._due():
                    self._write(now)

    def _due(self) -> float:
        """Return when the next line is due."""
        if self._waits:
            return self._numbers_at + self.every_s
        return max(self._shown_at + self.every_s, self._updated_at + 2 * self.every_s)

    def _write(self, now: float) -> None:
        """Write the newest numbers, or what the run does."""
        metrics, self._shown_at = self._newest, now
        numbers, self._waits = self._waits, False
        if numbers and metrics is not None:
            self._numbers_at = now
            r = self.rates
            text = (
                f"{version_text(metrics)}, {si(metrics.steps)} decisions, "
                f"{si(r.ticks_per_s)} ticks/s, {si(r.steps_per_s)} decisions/s, "
                f"{r.updates_per_s:.2f} updates/s, {lag_text(metrics)}"
                f"{f', {flow}' if (flow := flow_text(metrics)) else ''}{self._results(metrics)}"
            )
        else:
            text = doing_text(self.doing)
            if metrics is not None:
                text += f"; last update: {version_text(metrics)}{self._results(metrics)}"
        clock = [duration((now - self._opened_at) / 60.0)]
        if numbers and metrics is not None and (left := remaining(metrics)):
            clock.append(left)
        console.note(visible(f"[{', '.join(clock)}] {text}"))

    def _results(self, metrics: UpdateMetrics) -> str:
        """Return the results of training matches, in a method without any the last evaluation's."""
        return results_text(metrics) or (f", {self._rated}" if self._rated else "")

    def start(self, run: RunStart) -> None:
        """Write the run's path and title."""
        self.doing = run.doing
        console.note(visible(f"run {run.path}: {run.title}"))

    def update(self, metrics: UpdateMetrics) -> None:
        """Write the numbers of an update if the last ones are old enough; otherwise they wait until then."""
        with self._lock:
            self.rates.see(metrics)
            now = time.monotonic()
            self._newest, self._updated_at, self._waits = metrics, now, True
            if now >= self._due():
                self._write(now)

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        """Write the results of an evaluation."""
        what = "final matches" if evaluation.final else "play-off" if evaluation.playoff else "evaluation"
        results = "; ".join(
            f"{'mean return' if r.alone else r.against} {interval_text(r)}" for r in evaluation.results
        )
        rated = [
            f"mean return {r.mean_return:.1f}" if r.alone else f"won {r.against} {percent(r.won[0])}"
            for r in evaluation.results
            if not r.nothing_played
        ]
        from ludus.evaluation.ladder import brief, in_words

        rated += filter(None, [brief(evaluation.ladder)])
        results += "".join(f"; {words}" for words in filter(None, [in_words(evaluation.ladder)]))
        self._rated = f"{evaluation.whose}: {', '.join(rated)}" if rated else ""
        mark = " (best so far)" if evaluation.best and not evaluation.final else ""
        console.note(f"{what} of {evaluation.whose}: {results}{mark}")

    def message(self, text: str) -> None:
        """Write an event."""
        console.note(visible(text))

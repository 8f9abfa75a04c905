"""What a run shows while it goes on: a live board on a terminal, else a line now and then.

Both are observers (:class:`ludus.train.reporting.observer.Observer`): they are called from
the training thread and only note numbers; drawing happens in rich's own thread, twice a second.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ludus.cli import console
from ludus.cli.console import duration, percent, si
from ludus.flow.spec import GameSpec
from ludus.presets.config import Preset

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from ludus.evaluation.results import EvalResult
    from ludus.train.reporting.observer import EvaluationMetrics, UpdateMetrics

LINE_EVERY_S = 10.0
MESSAGES = 5
SMOOTHING = 0.9  # of the rates that are shown, an update


class View(Protocol):
    """An observer of a run that is opened and closed around it."""

    def __enter__(self) -> View: ...

    def __exit__(self, *error: object) -> None: ...

    def on_start(self, run: Path, preset: Preset, spec: GameSpec) -> None: ...

    def on_update(self, metrics: UpdateMetrics) -> None: ...

    def on_evaluation(self, evaluation: EvaluationMetrics) -> None: ...

    def on_checkpoint(self, path: Path, version: int) -> None: ...

    def on_message(self, text: str) -> None: ...


def make_view(quiet: bool) -> View:
    """The view that fits where stderr goes."""
    if quiet:
        return SilentView()
    if sys.stderr.isatty():
        with suppress(ImportError):  # without rich, lines have to do
            return LiveView()
    return LineView()


class SilentView:
    """Shows nothing."""

    def __enter__(self) -> SilentView:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def on_start(self, run: Path, preset: Preset, spec: GameSpec) -> None:
        pass

    def on_update(self, metrics: UpdateMetrics) -> None:
        pass

    def on_evaluation(self, evaluation: EvaluationMetrics) -> None:
        pass

    def on_checkpoint(self, path: Path, version: int) -> None:
        pass

    def on_message(self, text: str) -> None:
        pass


class Rates:
    """Running averages of an update's rates, so that they can be read."""

    def __init__(self) -> None:
        self.frames_per_s = self.steps_per_s = self.updates_per_s = 0.0

    def see(self, metrics: UpdateMetrics) -> None:
        t = metrics.time
        fresh = (t.frames_per_s, t.steps_per_s, 1.0 / t.update_s if t.update_s > 0 else 0.0)
        keep = SMOOTHING if self.frames_per_s else 0.0
        old = (self.frames_per_s, self.steps_per_s, self.updates_per_s)
        mixed = [keep * a + (1 - keep) * b for a, b in zip(old, fresh, strict=True)]
        self.frames_per_s, self.steps_per_s, self.updates_per_s = mixed


def interval_text(result: EvalResult) -> str:
    """``68.4% [65.4, 71.2] of 1000``, or the mean return alike where nobody plays against."""
    low, high = 100 * result.ci_low, 100 * result.ci_high
    won = f"{percent(result.win_rate)} [{low:.1f}, {high:.1f}]"
    if result.alone:
        bounds = f"[{result.return_low:.1f}, {result.return_high:.1f}]"
        earned = f"{result.mean_return:.1f} {bounds} of {result.matches}"
        return f"{earned}, won {won}" if result.decided else earned
    return f"{won} of {result.matches}"


def return_text(metrics: UpdateMetrics) -> str:
    """The training matches of a game without opponents."""
    mean = metrics.running_return
    return "return -" if mean is None else f"return {mean:.1f}"


class LineView(SilentView):
    """One plain line every ten seconds, and one for everything that happens."""

    def __init__(self, every_s: float = LINE_EVERY_S) -> None:
        self.every_s = every_s
        self.shown_at = 0.0
        self.rates = Rates()

    def on_start(self, run: Path, preset: Preset, spec: GameSpec) -> None:
        console.note(f"run {run}: {preset.title or spec.title}")

    def on_update(self, metrics: UpdateMetrics) -> None:
        self.rates.see(metrics)
        now = time.monotonic()
        if now - self.shown_at < self.every_s:
            return
        self.shown_at = now
        t, r = metrics.time, self.rates
        left = f", {duration(t.minutes_left)} left" if t.minutes_left is not None else ""
        wins = ", ".join(f"{name} {percent(rate)}" for name, rate in sorted(metrics.win_rate.items()))
        console.note(
            f"[{duration(t.minutes)}{left}] version {metrics.version}, {si(metrics.steps)} decisions, "
            f"{si(r.frames_per_s)} ticks/s, {si(r.steps_per_s)} decisions/s, "
            f"{r.updates_per_s:.2f} updates/s, lag {metrics.lag_mean:.2f}, "
            f"reuse {metrics.sample_reuse:.2f}, {f'won {wins}' if wins else return_text(metrics)}"
        )

    def on_evaluation(self, evaluation: EvaluationMetrics) -> None:
        what = "final matches" if evaluation.final else "play-off" if evaluation.playoff else "evaluation"
        results = "; ".join(
            f"{'mean return' if r.alone else r.against} {interval_text(r)}" for r in evaluation.results
        )
        mark = " (best so far)" if evaluation.best and not evaluation.final else ""
        console.note(f"{what} of version {evaluation.version}: {results}{mark}")

    def on_message(self, text: str) -> None:
        console.note(text)


class LiveView(SilentView):
    """A board that redraws itself in place."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self.console = Console(stderr=True, highlight=False)
        self.rates = Rates()
        self.messages: deque[str] = deque(maxlen=MESSAGES)
        self.head = "starting"
        self.metrics: UpdateMetrics | None = None
        self.evaluations: dict[str, EvalResult] = {}
        self.evaluated = self.best = -1
        self.saved = -1
        self._opened = ExitStack()
        self.live = Live(
            console=self.console,
            refresh_per_second=2,
            get_renderable=self.render,
            redirect_stdout=False,
        )

    def __enter__(self) -> LiveView:
        self._opened.enter_context(quiet_control_keys(sys.stderr.fileno()))
        self._opened.enter_context(self.live)
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def on_start(self, run: Path, preset: Preset, spec: GameSpec) -> None:
        self.head = f"{preset.title or spec.title}   {run}"

    def on_update(self, metrics: UpdateMetrics) -> None:
        self.rates.see(metrics)
        self.metrics = metrics

    def on_evaluation(self, evaluation: EvaluationMetrics) -> None:
        self.evaluations = {r.against: r for r in evaluation.results}
        self.evaluated = evaluation.version
        if evaluation.best:
            self.best = evaluation.version

    def on_checkpoint(self, path: Path, version: int) -> None:
        self.saved = version

    def on_message(self, text: str) -> None:
        self.messages.append(text)

    def render(self) -> RenderableType:
        """The board of this moment, no higher than the terminal."""
        from rich.console import Group
        from rich.panel import Panel
        from rich.text import Text

        room = max(3, self.console.size.height - 3)  # the border, and the line that the cursor is on
        if self.metrics is None:
            parts: list[RenderableType] = [Text("the first matches are being played")]
            used = 1
        else:
            numbers = self._numbers(self.metrics)
            names = sorted({*self.metrics.win_rate, *self.evaluations})
            rows = max(1, min(len(names), room - 2))
            numbers = numbers[: max(0, room - 2 - rows)]
            parts = [self._results(self.metrics, names, rows), self._progress(self.metrics)]
            parts += [Text(line, overflow="ellipsis", no_wrap=True) for line in numbers]
            used = 2 + rows + len(numbers)
        messages = list(self.messages)[-(room - used) :] if room > used else []
        parts += [Text(m, style="dim", overflow="ellipsis", no_wrap=True) for m in messages]
        return Panel(Group(*parts), title=Text(self.head), title_align="left", border_style="blue")

    def _progress(self, metrics: UpdateMetrics) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        t = metrics.time
        share = metrics.progress
        left = "Ctrl-C saves and ends"
        if t.minutes_left is not None:
            left = f"{duration(t.minutes_left)} left"
            share = max(share, t.minutes / max(1e-9, t.minutes + t.minutes_left))
        grid = Table.grid(padding=(0, 2), expand=True)
        grid.add_column()
        grid.add_column(ratio=1)
        grid.add_column(justify="right")
        grid.add_row(duration(t.minutes), ProgressBar(total=1.0, completed=min(1.0, share)), left)
        return grid

    def _numbers(self, metrics: UpdateMetrics) -> list[str]:
        """Lines of at most 56 characters, the most important first."""
        t, r = metrics.time, self.rates
        losses = ", ".join(f"{k} {v:.3g}" for k, v in metrics.loss.items() if k != "samples")
        saved = f"checkpoint {self.saved}" if self.saved >= 0 else "no checkpoint yet"
        best = f", best {self.best}" if self.best >= 0 else ""
        return [
            f"{si(metrics.steps)} decisions, {si(metrics.matches)} matches of {metrics.mean_ticks:.0f} ticks",
            f"{si(r.frames_per_s)} ticks/s, {si(r.steps_per_s)} decisions/s, {r.updates_per_s:.2f} updates/s",
            f"version {metrics.version}, {saved}{best}",
            f"lag {metrics.lag_mean:.2f} (max {metrics.lag_max}), reuse {metrics.sample_reuse:.2f}",
            f"waiting: sampler {percent(t.sampler_wait_share)}, learner {percent(t.learner_wait_share)}",
            *([losses] if losses else []),
        ]

    def _results(self, metrics: UpdateMetrics, names: list[str], rows: int) -> Table:
        """What the run is for: how often it wins, or what it earns; at most ``rows`` opponents."""
        from rich.table import Table

        table = Table(box=None, padding=(0, 2), pad_edge=False)
        alone = not metrics.win_rate and metrics.running_return is not None
        version = f" of version {self.evaluated}" if self.evaluated >= 0 else ""
        for title in ("" if alone else "against", f"evaluation{version}", "training"):
            table.add_column(title, no_wrap=True, overflow="ellipsis")
        if alone:
            results = list(self.evaluations.values())
            shown = interval_text(results[0]) if results else "not yet"
            table.add_row("mean return", shown, f"{metrics.running_return:.1f}")
            return table
        for name in names[:rows]:
            rate = percent(metrics.win_rate[name]) if name in metrics.win_rate else "-"
            result = self.evaluations.get(name)
            table.add_row(name, interval_text(result) if result else "not yet", rate)
        return table


@contextmanager
def quiet_control_keys(file: int) -> Iterator[None]:
    """A terminal that shows no ``^C``, which would move the board down a line and leave its border behind."""
    try:
        import termios

        before = termios.tcgetattr(file)
    except (ImportError, OSError, ValueError, termios.error):
        yield
        return
    silent = list(before)
    silent[3] = int(before[3]) & ~termios.ECHOCTL
    termios.tcsetattr(file, termios.TCSANOW, silent)
    try:
        yield
    finally:
        with suppress(termios.error):
            termios.tcsetattr(file, termios.TCSANOW, before)

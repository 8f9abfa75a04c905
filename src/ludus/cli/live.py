"""Progress of a run: a live board on a terminal, else a line every ten seconds.

Both are sinks (:class:`ludus.training.reporting.sinks.Sink`): they are called from the training thread and
only note numbers; drawing happens in rich's own thread, twice a second. Before the first update, and where
one takes long, they show what the run does (:attr:`ludus.training.reporting.sinks.RunStart.doing`).
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ludus.cli import console
from ludus.cli.console import duration, percent, redraws, si
from ludus.cli.member_rows import MemberRows
from ludus.cli.rollout_rows import cluster_text, rollout_table, rollouts_of
from ludus.flow.shown import visible
from ludus.training.reporting.sinks import RunStart, Sink

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from ludus.evaluation.results import EvalResult
    from ludus.training.reporting.metrics import EvaluationMetrics, UpdateMetrics

LINE_EVERY_S = 10.0
MESSAGES = 5
MESSAGES_FIRST = 2  # messages shown before the details
NUMBERS_FIRST = 4  # lines of numbers shown before the rollouts
SHOWN_ELSEWHERE = ("rollout", "lag", "time", "throughput", "cluster")  # namespaces
SMOOTHING = 0.9  # weight of the former rates in an average, per update


class RunView(Sink):
    """A sink that opens and closes with a run. This base class shows nothing."""

    def __enter__(self) -> RunView:
        """Open the view."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the view."""


def make_view(quiet: bool) -> RunView:
    """Return the view for stderr: a board on a terminal, else lines."""
    if quiet:
        return RunView()
    if redraws():
        with suppress(ImportError):  # without rich: lines
            return LiveView()
    return LineView()


class Rates:
    """Running averages of an update's rates, so that they can be read."""

    def __init__(self) -> None:
        """Start with rates of 0."""
        self.ticks_per_s = self.steps_per_s = self.updates_per_s = 0.0

    def see(self, metrics: UpdateMetrics) -> None:
        """Add the rates of an update to the averages."""
        ticks, steps, seconds = (
            metrics.numbers.get(name, 0.0)
            for name in ("throughput/ticks_per_s", "throughput/steps_per_s", "time/update_s")
        )
        fresh = (ticks, steps, 1.0 / seconds if seconds > 0 else 0.0)
        keep = SMOOTHING if self.ticks_per_s else 0.0
        old = (self.ticks_per_s, self.steps_per_s, self.updates_per_s)
        mixed = [keep * a + (1 - keep) * b for a, b in zip(old, fresh, strict=True)]
        self.ticks_per_s, self.steps_per_s, self.updates_per_s = mixed


def remaining(metrics: UpdateMetrics) -> str:
    """Return ``2:30 min left``; empty for a run without a budget."""
    left = metrics.numbers.get("time/minutes_left")
    return "" if left is None else f"{duration(left)} left"


def lag_text(metrics: UpdateMetrics) -> str:
    """Return policy lag and sample reuse of an update as text."""
    numbers = metrics.numbers
    return (
        f"lag {numbers.get('lag/mean', 0.0):.2f} (max {numbers.get('lag/max', 0.0):.0f}), "
        f"reuse {numbers.get('learner/sample_reuse', 0.0):.2f}"
    )


def interval_text(result: EvalResult) -> str:
    """Return ``68.4% [65.4, 71.2] of 1000``, or the mean return in the same form for games of one seat."""
    if result.nothing_played:
        return result.nothing_played
    rate, low, high = result.won
    won = f"{percent(rate)} [{100 * low:.1f}, {100 * high:.1f}]"
    if result.alone:
        bounds = f"[{result.return_low:.1f}, {result.return_high:.1f}]"
        earned = f"{result.mean_return:.1f} {bounds} of {result.matches}"
        return f"{earned}, won {won}" if result.decided else earned
    return f"{won} of {result.matches}"


def results_text(metrics: UpdateMetrics) -> str:
    """Return the win rate of training matches against each opponent, or the mean return without opponents.

    Matches in which a curriculum's bot plays along are marked ``with help``: they do not measure the policy.
    """
    rates, helped = metrics.training_rates
    if rates:
        won = "won with help" if helped else "won"
        return f", {won} " + ", ".join(f"{name} {percent(rate)}" for name, rate in sorted(rates.items()))
    mean = metrics.numbers.get("rollout/running_return")
    helped = metrics.numbers.get("rollout/handover_ticks", 0.0) > 0
    return "" if mean is None else f", return {'with help ' if helped else ''}{mean:.1f}"


def doing_text(doing: Callable[[], str]) -> str:
    """Return the text of ``doing``. The run changes what it reads, from another thread."""
    try:
        return doing()
    except Exception:  # a number changed meanwhile
        return "working"


class LineView(RunView):
    """View of one plain line every ten seconds, and one per event.

    A thread of its own writes what the run is doing if nothing else was written for that long: before the
    first update, which may take minutes, and between two.
    """

    def __init__(self, every_s: float = LINE_EVERY_S) -> None:
        """Make a view that writes a line every ``every_s`` seconds."""
        self.every_s = every_s
        self.shown_at = 0.0
        self.rates = Rates()
        self.doing: Callable[[], str] = lambda: "starting"
        self._updated = False  # whether an update was shown
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._write_lines, daemon=True, name="progress")

    def __enter__(self) -> LineView:
        """Start the thread that writes what the run is doing."""
        self._opened_at = self.shown_at = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop that thread."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()

    def _write_lines(self) -> None:
        wait = self.every_s
        while not self._closed.wait(wait):
            now = time.monotonic()
            wait = self.shown_at + self.every_s - now
            if wait <= 0.0:
                self.shown_at, wait = now, self.every_s
                text = doing_text(self.doing)
                console.note(visible(f"[{duration((now - self._opened_at) / 60.0)}] {text}"))

    def start(self, run: RunStart) -> None:
        """Write the run's path and title."""
        self.doing = run.doing
        console.note(visible(f"run {run.path}: {run.preset.title or run.spec.title}"))

    def update(self, metrics: UpdateMetrics) -> None:
        """Write the numbers of an update if the last line is old enough."""
        self.rates.see(metrics)
        now = time.monotonic()
        if self._updated and now - self.shown_at < self.every_s:
            return
        self.shown_at, self._updated = now, True
        r = self.rates
        left = ", ".join(
            t for t in (duration(metrics.numbers.get("time/minutes", 0.0)), remaining(metrics)) if t
        )
        who = f"{metrics.player} " if metrics.player else ""
        console.note(
            f"[{left}] {who}version {metrics.version}, {si(metrics.steps)} decisions, "
            f"{si(r.ticks_per_s)} ticks/s, {si(r.steps_per_s)} decisions/s, "
            f"{r.updates_per_s:.2f} updates/s, {lag_text(metrics)}{results_text(metrics)}"
        )

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        """Write the results of an evaluation."""
        what = "final matches" if evaluation.final else "play-off" if evaluation.playoff else "evaluation"
        results = "; ".join(
            f"{'mean return' if r.alone else r.against} {interval_text(r)}" for r in evaluation.results
        )
        mark = " (best so far)" if evaluation.best and not evaluation.final else ""
        console.note(f"{what} of {evaluation.whose}: {results}{mark}")

    def message(self, text: str) -> None:
        """Write an event."""
        console.note(visible(text))


class LiveView(RunView):
    """View that redraws a board in place."""

    def __init__(self) -> None:
        """Make a board; it is drawn from ``__enter__`` on."""
        from rich.live import Live

        self.console = console.board()
        self.rates = Rates()
        self.messages: deque[str] = deque(maxlen=MESSAGES)
        self.head = "starting"
        self.doing: Callable[[], str] = lambda: "starting"
        self.metrics: UpdateMetrics | None = None
        self.members = MemberRows()
        self.evaluations: dict[str, EvalResult] = {}
        self.evaluated = self.best = ""
        self.saved = -1
        self._opened = ExitStack()
        self.live = Live(
            console=self.console,
            refresh_per_second=2,
            get_renderable=self.render,
            redirect_stdout=False,
        )

    def __enter__(self) -> LiveView:
        """Start drawing."""
        self._opened.enter_context(quiet_control_keys(sys.stderr.fileno()))
        self._opened.enter_context(self.live)
        return self

    def __exit__(self, *error: object) -> None:
        """Stop drawing; the last board stays."""
        with suppress(OSError):  # a terminal that is gone
            self._opened.close()

    def start(self, run: RunStart) -> None:
        """Show the run's path and title."""
        self.doing = run.doing
        self.head = visible(f"{run.preset.title or run.spec.title}   {run.path}")

    def update(self, metrics: UpdateMetrics) -> None:
        """Show the numbers of an update."""
        self.rates.see(metrics)
        self.members.see(metrics)
        self.metrics = metrics

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        """Show the results of an evaluation."""
        self.evaluations = {r.against: r for r in evaluation.results}
        self.evaluated = evaluation.named
        if evaluation.best:
            self.best = evaluation.named

    def checkpoint(self, path: Path, version: int) -> None:
        """Show the version of the newest checkpoint."""
        self.saved = version

    def message(self, text: str) -> None:
        """Show an event below the numbers."""
        self.messages.append(visible(text))

    def render(self) -> RenderableType:
        """Return the current board, no higher than the terminal."""
        from rich.console import Group
        from rich.panel import Panel
        from rich.text import Text

        room = max(3, self.console.size.height - 3)  # the border, and the line that the cursor is on
        if self.metrics is None:
            parts: list[RenderableType] = [
                Text(visible(doing_text(self.doing)), overflow="ellipsis", no_wrap=True)
            ]
            used = 1
        else:
            numbers = self._numbers(self.metrics)
            names = sorted({*self.metrics.training_rates[0], *self.evaluations})
            if self.members.newest:
                names = list(self.members.newest)
            rows = max(1, min(len(names), room - 2))
            crew = min(len(rollouts_of(self.metrics)), room - 3 - rows - NUMBERS_FIRST)
            taken = 2 + rows + (crew + 1 if crew > 0 else 0)
            numbers = numbers[: max(0, room - taken)]
            spare = room - taken - len(numbers) - min(MESSAGES_FIRST, len(self.messages))
            numbers += details(self.metrics)[: max(0, spare)]
            shown = self.members.table(rows) if self.members.newest else None
            parts = [shown or self._results(self.metrics, names, rows), self._progress(self.metrics)]
            if crew > 0:
                parts.insert(1, rollout_table(self.metrics, crew))
            parts += [Text(line, overflow="ellipsis", no_wrap=True) for line in numbers]
            used = taken + len(numbers)
        messages = list(self.messages)[-(room - used) :] if room > used else []
        parts += [Text(m, style="dim", overflow="ellipsis", no_wrap=True) for m in messages]
        return Panel(Group(*parts), title=Text(self.head), title_align="left", border_style="blue")

    def _progress(self, metrics: UpdateMetrics) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        share, minutes = metrics.progress, metrics.numbers.get("time/minutes", 0.0)
        left = remaining(metrics) or "Ctrl-C saves and ends"
        if (more := metrics.numbers.get("time/minutes_left")) is not None:
            share = max(share, minutes / max(1e-9, minutes + more))
        grid = Table.grid(padding=(0, 2), expand=True)
        grid.add_column()
        grid.add_column(ratio=1)
        grid.add_column(justify="right")
        grid.add_row(duration(minutes), ProgressBar(total=1.0, completed=min(1.0, share)), left)
        return grid

    def _numbers(self, metrics: UpdateMetrics) -> list[str]:
        """Return lines of at most 56 characters, the most important first."""
        r, numbers = self.rates, metrics.numbers
        saved = f"checkpoint {self.saved}" if self.saved >= 0 else "no checkpoint yet"
        best = f", best {self.best}" if self.best else ""
        length = f" of {numbers['rollout/length']:.0f} ticks" if "rollout/length" in numbers else ""
        steps, matches = metrics.steps, metrics.matches
        lines: list[str] = []
        if self.members.newest:
            steps, matches = self.members.total("steps"), self.members.total("matches")
            lines = [f"{name} {interval_text(result)}" for name, result in sorted(self.evaluations.items())]
        lines += [
            f"{si(steps)} decisions, {si(matches)} matches{length}",
            f"{si(r.ticks_per_s)} ticks/s, {si(r.steps_per_s)} decisions/s, {r.updates_per_s:.2f} updates/s",
            f"version {metrics.version}, {saved}{best}",
            lag_text(metrics),
        ]
        waits = {
            who: numbers[name]
            for who in ("sampler", "learner")
            if (name := f"time/{who}_wait_share") in numbers
        }
        if text := cluster_text(metrics):
            lines.append(text)
        if waits:
            lines.append("waiting: " + ", ".join(f"{who} {percent(share)}" for who, share in waits.items()))
        return lines

    def _results(self, metrics: UpdateMetrics, names: list[str], rows: int) -> Table:
        """Return a table of win rates or mean returns with at most ``rows`` opponents."""
        from rich.table import Table

        table = Table(box=None, padding=(0, 2), pad_edge=False)
        rates, helped = metrics.training_rates
        earned = metrics.numbers.get("rollout/running_return")
        alone = not rates and earned is not None
        version = f" of version {self.evaluated}" if self.evaluated else ""
        training = "training, with help" if helped else "training"
        for title in ("" if alone else "against", f"evaluation{version}", training):
            table.add_column(title, no_wrap=True, overflow="ellipsis")
        if alone:
            results = list(self.evaluations.values())
            shown = interval_text(results[0]) if results else "not yet"
            table.add_row("mean return", shown, f"{earned:.1f}")
            return table
        for name in names[:rows]:
            rate = percent(rates[name]) if name in rates else "-"
            result = self.evaluations.get(name)
            table.add_row(name, interval_text(result) if result else "not yet", rate)
        return table


def details(metrics: UpdateMetrics) -> list[str]:
    """Return a line for each namespace without a place of its own: ``loss: policy 0.01, value 0.5``."""
    lines: dict[str, list[str]] = {}
    for name, value in metrics.numbers.items():
        namespace, _, rest = name.partition("/")
        if namespace not in SHOWN_ELSEWHERE:
            lines.setdefault(namespace, []).append(f"{rest} {value:.3g}")
    return [f"{namespace}: {', '.join(parts)}" for namespace, parts in lines.items()]


@contextmanager
def quiet_control_keys(file: int) -> Iterator[None]:
    """Turn off the terminal's ``^C`` echo, which would displace the board by a line."""
    try:
        import termios

        before = termios.tcgetattr(file)
        ours = os.tcgetpgrp(file) == os.getpgrp()
    except (ImportError, OSError, ValueError, termios.error):
        ours = False
    if not ours:  # in the background such a call would stop the whole process
        yield
        return
    silent = list(before)
    silent[3] = int(before[3]) & ~termios.ECHOCTL
    termios.tcsetattr(file, termios.TCSANOW, silent)
    try:
        yield
    finally:
        with suppress(termios.error, OSError):
            if os.tcgetpgrp(file) == os.getpgrp():
                termios.tcsetattr(file, termios.TCSANOW, before)

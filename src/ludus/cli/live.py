"""Progress of a run: a live board on a terminal, or a line every ten seconds.

Both are sinks (:class:`ludus.reporting.sinks.Sink`): they are called from the training thread and
only note numbers; drawing happens in rich's own thread, twice a second. Before the first update, and if
none comes for long, they show what the run does (:attr:`ludus.reporting.sinks.RunStart.doing`).
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ludus.cli import console
from ludus.cli.console import duration, percent, redraws, si
from ludus.cli.line_view import LineView, ProgressView
from ludus.cli.member_rows import MemberRows
from ludus.cli.progress import bar
from ludus.cli.rollout_rows import cluster_text, rollout_table, rollouts_of
from ludus.cli.update_texts import (
    Rates,
    doing_text,
    flow_text,
    interval_text,
    known_share,
    lag_text,
    remaining,
)
from ludus.flow.inputs.shown import visible
from ludus.reporting.sinks import PROBLEM, RunStart

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from ludus.evaluation.results import EvalResult
    from ludus.reporting.metrics import EvaluationMetrics, UpdateMetrics

QUIET_S = 5.0  # without an update, after which the board names the run's present work
MESSAGES = 5
MESSAGES_FIRST = 2  # messages shown before the details
NUMBERS_FIRST = 4  # lines of numbers shown before the rollouts
SHOWN_ELSEWHERE = ("rollout", "lag", "time", "throughput", "cluster")  # namespaces


class ProblemView(ProgressView):
    """View of problems only: without progress, a lost line must still be known."""

    def message(self, text: str) -> None:
        """Write a problem."""
        if text.startswith(PROBLEM):
            console.note(visible(text))


def make_view(quiet: bool) -> ProgressView:
    """Return the view for stderr: a board on a terminal, or lines; ``quiet``: problems only."""
    if quiet:
        return ProblemView()
    if redraws():
        with suppress(ImportError):  # without rich: lines
            return LiveView()
    return LineView()


class LiveView(ProgressView):
    """View that redraws a board in place."""

    def __init__(self) -> None:
        """Make a board; it is drawn from ``__enter__`` on."""
        from rich.live import Live

        self.console = console.board()
        self.rates = Rates()
        self.messages: deque[str] = deque(maxlen=MESSAGES)
        self.head = "starting"
        self.doing: Callable[[], str] = lambda: "starting"
        self.share: Callable[[], float | None] = lambda: None
        self.metrics: UpdateMetrics | None = None
        self._updated_at = -math.inf
        self.members = MemberRows()
        self.evaluations: dict[str, EvalResult] = {}
        self.evaluated = self.best = self.strength = ""
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
        self.doing, self.share = run.doing, run.share
        self.head = visible(f"{run.title}   {run.path}")

    def update(self, metrics: UpdateMetrics) -> None:
        """Show the numbers of an update."""
        self.rates.see(metrics)
        self.members.see(metrics)
        self.metrics, self._updated_at = metrics, time.monotonic()

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        """Show the results of an evaluation."""
        self.evaluations = {r.against: r for r in evaluation.results}
        self.evaluated = evaluation.named
        from ludus.evaluation.ladder import in_words

        self.strength = in_words(evaluation.ladder)
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
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        room = max(3, self.console.size.height - 3)  # the border, and the line that the cursor is on
        if self.metrics is None:
            parts: list[RenderableType] = [
                Text(visible(doing_text(self.doing)), overflow="ellipsis", no_wrap=True)
            ]
            used = 1
            if room > 1 and (share := known_share(self.share)) is not None:
                parts.append(ProgressBar(total=1.0, completed=share))
                used = 2
        else:
            numbers = self._numbers(self.metrics)
            if time.monotonic() - self._updated_at > QUIET_S:
                share = known_share(self.share)
                done = "" if share is None else f"{bar(share)} "
                numbers.insert(0, f"{done}{visible(doing_text(self.doing))}")
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
        lines = [self.strength] if self.strength else []
        if self.members.newest:
            steps, matches = self.members.total("steps"), self.members.total("matches")
            lines += [f"{name} {interval_text(result)}" for name, result in sorted(self.evaluations.items())]
        lines += [
            f"{si(steps)} decisions, {si(matches)} matches{length}",
            f"{si(r.ticks_per_s)} ticks/s, {si(r.steps_per_s)} decisions/s, {r.updates_per_s:.2f} updates/s",
            f"version {metrics.version}, {saved}{best}",
            lag_text(metrics),
        ]
        if text := flow_text(metrics):
            lines.append(text)
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
    """Return a line for each namespace without another place: ``loss: policy 0.01, value 0.5``."""
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

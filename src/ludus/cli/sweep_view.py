"""Progress of a sweep: a board on a terminal, or a line every ten seconds and one for each run."""

from __future__ import annotations

import sys
import time
from collections import deque
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from ludus.cli import console
from ludus.cli.console import duration, percent, si
from ludus.cli.line_view import LINE_EVERY_S
from ludus.cli.live import quiet_control_keys
from ludus.cli.update_texts import remaining, results_text
from ludus.flow.inputs.shown import visible
from ludus.reporting.metrics import UpdateMetrics
from ludus.reporting.run_view import RunView

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ludus.sweep.loop import Active, Outcome, SweepLoop

MESSAGES = 5
REFRESH_S = 1.0


class SweepView:
    """View of a sweep. This base class shows nothing; it counts how far the sweep is."""

    def __init__(self) -> None:
        """Start the clock."""
        self.started = time.monotonic()
        self.first: float | None = None  # share of the work that was done before

    def __enter__(self) -> SweepView:
        """Open the view."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the view."""

    def show(self, loop: SweepLoop) -> None:
        """Show the current state; called several times a second."""

    def ended(self, loop: SweepLoop, outcome: Outcome) -> None:
        """Show that a run has ended."""

    def progress(self, loop: SweepLoop) -> list[tuple[Active, UpdateMetrics | None]]:
        """Return every active run with its newest update."""
        return [(a, RunView(loop.directory.run(a.run.name)).newest_update()) for a in loop.active.values()]

    def summary(self, loop: SweepLoop, rows: list[tuple[Active, UpdateMetrics | None]]) -> str:
        """Return ``12 of 30 runs, 4:30 min, about 6:10 min left``."""
        over = len(loop.outcomes)
        failed = sum(o.state == "failed" for o in loop.outcomes.values())
        part = sum(u.progress for _, u in rows if u)
        minutes = (time.monotonic() - self.started) / 60.0
        share = (over + part) / max(1, loop.total)
        if self.first is None:
            self.first = share
        text = f"{over} of {loop.total} runs" + (f", {failed} failed" if failed else "")
        text += f", {duration(minutes)}"
        if share > self.first:
            text += f", about {duration(minutes * (1.0 - share) / (share - self.first))} left"
        return text


def make_sweep_view(quiet: bool) -> SweepView:
    """Return the view for stderr: a board on a terminal, or lines."""
    if quiet:
        return SweepView()
    if console.redraws():
        with suppress(ImportError):  # without rich: lines
            return SweepBoard()
    return SweepLines()


def ended_text(outcome: Outcome) -> str:
    """Return a line about a run that has ended."""
    text = f"{outcome.run.name}: {outcome.state}" + (f": {outcome.message}" if outcome.message else "")
    return visible(text)


class SweepLines(SweepView):
    """View of one line every ten seconds, and one for each run that ends."""

    def __init__(self, every_s: float = LINE_EVERY_S) -> None:
        """Make a view that writes a line every ``every_s`` seconds."""
        super().__init__()
        self.every_s = every_s
        self.shown_at = 0.0

    def show(self, loop: SweepLoop) -> None:
        """Write a line if the last one is old enough."""
        now = time.monotonic()
        if now - self.shown_at < self.every_s:
            return
        self.shown_at = now
        rows = self.progress(loop)
        under_way = "; ".join(f"{a.run.name} {_progress_text(a, u)}" for a, u in rows)
        console.note(f"[{self.summary(loop, rows)}] {under_way}")

    def ended(self, loop: SweepLoop, outcome: Outcome) -> None:
        """Write a line about the run."""
        console.note(ended_text(outcome))


def _progress_text(active: Active, update: UpdateMetrics | None) -> str:
    if active.process is None:
        return "waits for a process that trains it"
    if active.command.what == "greedy":
        return "greedy matches"
    if update is None:
        return "starts"
    return f"{percent(update.progress)}, {si(update.steps)} decisions{results_text(update)}"


class SweepBoard(SweepView):
    """View that redraws a board in place."""

    def __init__(self) -> None:
        """Make a board; it is drawn from ``__enter__`` on."""
        from rich.live import Live

        super().__init__()
        self.console = console.board()
        self.messages: deque[str] = deque(maxlen=MESSAGES)
        self.shown_at = 0.0
        self._opened = ExitStack()
        self.live = Live(console=self.console, refresh_per_second=2, redirect_stdout=False)

    def __enter__(self) -> SweepBoard:
        """Start drawing."""
        self._opened.enter_context(quiet_control_keys(sys.stderr.fileno()))
        self._opened.enter_context(self.live)
        return self

    def __exit__(self, *error: object) -> None:
        """Stop drawing; the last board stays."""
        self._opened.close()

    def show(self, loop: SweepLoop) -> None:
        """Draw the active runs if the last board is old enough."""
        now = time.monotonic()
        if now - self.shown_at >= REFRESH_S:
            self.shown_at = now
            self.live.update(self.render(loop))

    def ended(self, loop: SweepLoop, outcome: Outcome) -> None:
        """Add a line about the run."""
        self.messages.append(ended_text(outcome))
        self.live.update(self.render(loop))

    def render(self, loop: SweepLoop) -> RenderableType:
        """Return the current board, no higher than the terminal."""
        from rich.console import Group
        from rich.panel import Panel
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        room = max(3, self.console.size.height - 3)
        rows = self.progress(loop)
        table = Table(box=None, padding=(0, 2), pad_edge=False, expand=True)
        for title in ("run", "", "decisions", "training"):
            table.add_column(title, no_wrap=True, overflow="ellipsis", ratio=1 if not title else None)
        for active, update in rows[: max(1, room - 3)]:
            share = update.progress if update else 0.0
            detail = _progress_text(active, update).partition(", ")[2].partition(", ")[2] if update else ""
            left = f"{detail} {remaining(update)}" if update else _progress_text(active, update)
            steps = si(update.steps) if update else "-"
            table.add_row(active.run.name, ProgressBar(total=1.0, completed=min(1.0, share)), steps, left)
        lines = [Text(self.summary(loop, rows)), *(Text(m, style="dim") for m in self.messages)]
        shown = lines[: max(1, room - 1 - len(rows))]
        for line in shown:
            line.no_wrap, line.overflow = True, "ellipsis"
        title = visible(f"{loop.config.title or loop.config.source}   {loop.directory.path}")
        return Panel(Group(table, *shown), title=Text(title), title_align="left", border_style="blue")

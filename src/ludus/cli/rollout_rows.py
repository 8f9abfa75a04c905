"""Rollouts of a cluster on the live board: a row for each part of the matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.cli.console import percent

if TYPE_CHECKING:
    from rich.table import Table

    from ludus.reporting.metrics import UpdateMetrics

RATE = "matches_per_s/"


def rollouts_of(metrics: UpdateMetrics) -> list[str]:
    """Return the numbers of the parts that ``metrics`` have a rate of; empty without a cluster."""
    names = (name for name in metrics.under("cluster") if name.startswith(RATE))
    return sorted((name.removeprefix(RATE) for name in names), key=int)


def rollout_table(metrics: UpdateMetrics, rows: int) -> Table:
    """Return at most ``rows`` parts: matches a second, lag, share of time without a slab to play."""
    from rich.table import Table

    numbers = metrics.under("cluster")
    table = Table(box=None, padding=(0, 2), pad_edge=False)
    for title in ("part", "matches/s", "lag", "idle"):
        table.add_column(title, no_wrap=True, overflow="ellipsis")
    for name in rollouts_of(metrics)[:rows]:
        table.add_row(
            name,
            f"{numbers[RATE + name]:.2f}",
            f"{numbers.get(f'lag/{name}', 0.0):.0f}",
            percent(numbers.get(f"idle/{name}", 0.0)),
        )
    return table


def cluster_text(metrics: UpdateMetrics) -> str:
    """Return ``2 rollouts: waited 0.31 s, 2 rounds ahead, 1 died, 1 slab lost``; empty without a cluster."""
    numbers = metrics.under("cluster")
    if "rollouts" not in numbers:
        return ""
    count, deaths, lost = (int(numbers.get(n, 0)) for n in ("rollouts", "deaths", "slabs_dropped"))
    present = int(numbers.get("present", count))
    text = f"{present} of " if present < count else ""
    text += f"{count} rollout{'s' if count > 1 else ''}: waited {numbers.get('wait_s', 0.0):.2f} s"
    if ahead := int(numbers.get("ahead", 0)):
        text += f", {ahead} round{'s' if ahead > 1 else ''} ahead"
    if deaths:
        text += f", {deaths} died, {lost} slab{'' if lost == 1 else 's'} lost"
    return text

"""Members of a league on the live board: a row each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.cli.console import percent, si
from ludus.reporting.rates import CONSUMED, RECEIVED

if TYPE_CHECKING:
    from rich.table import Table

    from ludus.reporting.metrics import UpdateMetrics

SMOOTHING = 0.9  # weight of a member's former score, per update


class MemberRows:
    """The newest numbers of each member. Empty in a run without a league."""

    def __init__(self) -> None:
        """Start without members."""
        self.newest: dict[str, UpdateMetrics] = {}
        self._score: dict[str, float] = {}

    def see(self, metrics: UpdateMetrics) -> None:
        """Add an update of the run."""
        player = metrics.player
        if not player:
            return
        self.newest[player] = metrics
        won, drawn, lost = (sum(counts) for counts in zip((0, 0, 0), *metrics.outcomes.values(), strict=True))
        if won + drawn + lost and metrics.training_rates[0]:  # none yet: only short matches have ended
            fresh = (won + 0.5 * drawn) / (won + drawn + lost)
            keep = SMOOTHING if player in self._score else 0.0
            self._score[player] = keep * self._score.get(player, 0.0) + (1.0 - keep) * fresh

    def total(self, name: str) -> int:
        """Return the counter ``name``, added up over the members."""
        return int(sum(getattr(metrics, name) for metrics in self.newest.values()))

    def table(self, rows: int) -> Table:
        """Return at most ``rows`` members, in the order of their first updates."""
        from rich.table import Table

        table = Table(box=None, padding=(0, 2), pad_edge=False)
        for title in ("member", "version", "decisions", "score", "return", "lag", "received", "consumed"):
            table.add_column(title, no_wrap=True, overflow="ellipsis")
        for player, metrics in list(self.newest.items())[:rows]:
            earned = metrics.numbers.get("rollout/running_return")
            table.add_row(
                player,
                str(metrics.version),
                si(metrics.steps),
                percent(self._score[player]) if player in self._score else "-",
                "-" if earned is None else f"{earned:.2f}",
                f"{metrics.numbers.get('lag/mean', 0.0):.2f}",
                *(_rate(metrics, name) for name in (RECEIVED, CONSUMED)),
            )
        return table


def _rate(metrics: UpdateMetrics, name: str) -> str:
    return f"{si(metrics.numbers[name])}/s" if name in metrics.numbers else "-"

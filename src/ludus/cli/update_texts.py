"""Texts about an update or an evaluation of a run, for every view on stderr."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ludus.cli.console import duration, percent, si
from ludus.reporting.rates import CONSUMED, RECEIVED

if TYPE_CHECKING:
    from ludus.evaluation.results import EvalResult
    from ludus.reporting.metrics import UpdateMetrics

SMOOTHING = 0.9  # weight of the former rates in an average, per update


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


def flow_text(metrics: UpdateMetrics) -> str:
    """Return the decisions that the learner received and consumed a second; empty where it does not say."""
    received, consumed = (metrics.numbers.get(name) for name in (RECEIVED, CONSUMED))
    if received is None or consumed is None:
        return ""
    return f"{si(received)}/s received, {si(consumed)}/s consumed"


def interval_text(result: EvalResult) -> str:
    """Return ``68.4% [65.4, 71.2] of 1000``, or the mean return in the same form for games of one seat.

    The first named score of the game follows: ``, frags 12.3 [10.1, 14.5]``.
    """
    if result.nothing_played:
        return result.nothing_played
    rate, low, high = result.won
    won = f"{percent(rate)} [{100 * low:.1f}, {100 * high:.1f}]"
    scored = "".join(
        f", {s.name.replace('_', ' ')} {s.mean:.1f} [{s.low:.1f}, {s.high:.1f}]"
        for s in result.named_scores[:1]
    )
    if result.alone:
        bounds = f"[{result.return_low:.1f}, {result.return_high:.1f}]"
        earned = f"{result.mean_return:.1f} {bounds} of {result.matches}"
        return (f"{earned}, won {won}" if result.decided else earned) + scored
    return f"{won} of {result.matches}{scored}"


def results_text(metrics: UpdateMetrics) -> str:
    """Return the win rate of training matches against each opponent, or the mean return without opponents.

    Matches in which a curriculum's bot plays along are marked ``with help``: they do not measure the policy.
    """
    rates, helped = metrics.training_rates
    if rates:
        won = "won with help" if helped else "won"
        return f", {won} " + ", ".join(f"{name} {percent(rate)}" for name, rate in sorted(rates.items()))
    from ludus.training.actor_learner.curriculum import TICKS

    mean = metrics.numbers.get("rollout/running_return")
    helped = metrics.numbers.get(TICKS, 0.0) > 0
    return "" if mean is None else f", return {'with help ' if helped else ''}{mean:.1f}"


def version_text(metrics: UpdateMetrics) -> str:
    """Return ``version 12``, in a league behind its member: ``main version 12``."""
    return f"{metrics.player} version {metrics.version}" if metrics.player else f"version {metrics.version}"


def doing_text(doing: Callable[[], str]) -> str:
    """Return the text of ``doing``. The run changes what it reads, from another thread."""
    try:
        return doing()
    except Exception:  # a number changed meanwhile
        return "working"


def known_share(share: Callable[[], float | None]) -> float | None:
    """Return ``share()`` in 0..1. The run changes what it reads, from another thread."""
    try:
        known = share()
    except Exception:  # a number changed meanwhile
        return None
    return None if known is None else min(max(known, 0.0), 1.0)

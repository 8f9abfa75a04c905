"""Results of finished training matches by opponent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ludus.evaluation.results import seat_of_plan
from ludus.flow import MatchResult, RolloutStats

DECAY_MATCHES = 200.0  # memory of the running averages


class RolloutSummary(msgspec.Struct):
    """Results of one slab, stored with a checkpoint while the slab waits for the learner."""

    steps: int = 0
    ticks: int = 0
    matches: int = 0
    errors: int = 0
    first_error: str = ""
    sum_ticks: int = 0
    sum_returns: float = 0.0
    outcomes: dict[str, tuple[int, int, int]] = {}
    before_steps: int = 0  # those of ``steps`` that were played under the rules of ``game.before``


def opponent_name(
    result: MatchResult, seat: int, labels: Mapping[str, str], teams: Sequence[int] = ()
) -> str:
    """Return the players against ``seat``, each once: bots by name, policies (``policy:N``) by label."""
    names = []
    for other, player in enumerate(result.players):
        if other == seat or (teams and teams[other] == teams[seat]):
            continue
        names.append(labels.get(player, player))
    return "+".join(sorted(set(names))) if names else "nobody"


def summarise_rollout(
    results: Sequence[MatchResult],
    steps: int,
    ticks: int,
    labels: Mapping[str, str],
    teams: Sequence[int] = (),
) -> RolloutSummary:
    """Count from plan 0's point of view; a game of one seat has returns and no outcomes."""
    summary = RolloutSummary(steps=steps, ticks=ticks)
    outcomes: dict[str, list[int]] = {}
    for result in results:
        if result.error:
            if not summary.errors:
                summary.first_error = error_text(result)
            summary.errors += 1
            continue
        seat = seat_of_plan(result, 0)
        summary.matches += 1
        summary.sum_ticks += result.ticks
        summary.sum_returns += result.returns[seat]
        if len(result.outcome) == 1:
            continue
        score = result.outcome[seat]
        counts = outcomes.setdefault(opponent_name(result, seat, labels, teams), [0, 0, 0])
        counts[0 if score > 0 else 2 if score < 0 else 1] += 1
    summary.outcomes = {name: (c[0], c[1], c[2]) for name, c in sorted(outcomes.items())}
    return summary


def summarise_stats(
    stats: RolloutStats, labels: Mapping[str, str], teams: Sequence[int] = ()
) -> RolloutSummary:
    """Return the summary of a slab."""
    summary = summarise_rollout(stats.results, stats.steps, stats.ticks, labels, teams)
    summary.before_steps = stats.before_steps
    return summary


def error_text(result: MatchResult) -> str:
    """Describe a failed match: its place and its error."""
    return (
        f"slot {result.slot}, match {result.match}, seed {result.seed}, tick {result.ticks}: {result.error}"
    )


def running_return(mean: float | None, summary: RolloutSummary) -> float | None:
    """Return ``mean`` after the matches of one slab, over about ``DECAY_MATCHES`` matches."""
    if summary.matches == 0:
        return mean
    fresh = summary.sum_returns / summary.matches
    if mean is None:
        return fresh
    keep = float((1.0 - 1.0 / DECAY_MATCHES) ** summary.matches)
    return keep * mean + (1.0 - keep) * fresh


def running_win_rate(rates: dict[str, float], outcomes: dict[str, tuple[int, int, int]]) -> dict[str, float]:
    """Return ``rates`` after the matches of one slab: exponential, over about ``DECAY_MATCHES`` matches."""
    out = dict(rates)
    for name, (won, drawn, lost) in outcomes.items():
        count = won + drawn + lost
        keep = float((1.0 - 1.0 / DECAY_MATCHES) ** count)
        rate = won / count
        out[name] = rate if name not in out else keep * out[name] + (1.0 - keep) * rate
    return out

"""Results of finished training matches by opponent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ludus.evaluation.results import seat_of_plan
from ludus.flow import MatchResult, RolloutStats

DECAY_MATCHES = 200.0  # memory of the running averages
SETTLED_SLOTS = 0.95  # share of the slots that have ended a match, until running averages start
SETTLED_MATCHES = 4  # matches a slot after which they start in any case: a slot may play without an end


class End(msgspec.Struct, frozen=True, array_like=True):
    """One finished match: its slot, the opponent ("" in games of one seat), its outcome and return."""

    slot: int
    opponent: str
    outcome: int  # 1 won, 0 drawn, -1 lost
    earned: float


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
    ends: list[End] = []


class Opening(msgspec.Struct, frozen=True):
    """First matches of a pool's slots, which all start at once: the first to end are the shortest ones.

    Running averages that counted them as they end would start with the results of short matches. So each
    slot's first match counts, and averages start once :data:`SETTLED_SLOTS` of the slots have ended one: a
    win rate can then be off by a twentieth at most. Later matches of quick slots do not count until then.
    """

    over: bool = False
    slots: tuple[int, ...] = ()  # that have ended a match
    matches: int = 0  # ended in all slots
    outcomes: dict[str, tuple[int, int, int]] = {}  # of first matches, as in a summary
    sum_returns: float = 0.0

    def after(self, summary: RolloutSummary, slots: int) -> Opening:
        """Return the opening after the matches of one slab of a pool with ``slots`` slots."""
        seen, earned = set(self.slots), self.sum_returns
        outcomes = {name: list(counts) for name, counts in self.outcomes.items()}
        for end in summary.ends:
            if end.slot in seen:
                continue
            seen.add(end.slot)
            earned += end.earned
            if end.opponent:
                outcomes.setdefault(end.opponent, [0, 0, 0])[1 - end.outcome] += 1
        matches = self.matches + summary.matches
        settled = len(seen) >= SETTLED_SLOTS * slots or (seen and matches >= SETTLED_MATCHES * slots)
        counts = {name: (c[0], c[1], c[2]) for name, c in outcomes.items()}
        return Opening(bool(settled), tuple(sorted(seen)), matches, counts, earned)

    def first_matches(self) -> RolloutSummary:
        """Return the summary of the slots' first matches."""
        return RolloutSummary(
            matches=len(self.slots), sum_returns=self.sum_returns, outcomes=dict(self.outcomes)
        )


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
            summary.ends.append(End(result.slot, "", 0, result.returns[seat]))
            continue
        score = (result.outcome[seat] > 0) - (result.outcome[seat] < 0)
        name = opponent_name(result, seat, labels, teams)
        outcomes.setdefault(name, [0, 0, 0])[1 - score] += 1
        summary.ends.append(End(result.slot, name, score, result.returns[seat]))
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

"""Named scores of matches: their means over an evaluation, and the table of single matches.

A game names the numbers that a finished match has for each seat (``GameSpec.scores``): frags, place. A score
that counts (frags, deaths) is a whole number in every match.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.flow import MatchResult
from ludus.flow.inputs.bounds import Count, Number
from ludus.flow.spec import BEST_BOT, PLACE
from ludus.ratings import mean_interval
from ludus.ratings.interval import MeanInterval


class NamedScore(msgspec.Struct, frozen=True):
    """Mean of a named score over the seats and matches of a player, with its interval.

    ``deviation`` is the standard deviation of single matches. A single match has no interval: both bounds are
    the mean.
    """

    name: str
    mean: Number
    low: Number
    high: Number
    deviation: Number


class ScoreRow(msgspec.Struct, frozen=True):
    """One player in a :class:`ScoreTable`.

    ``values``: its score in each match, of several seats the best one's. ``first``: matches in which its best
    seat had place 1; None if the game names no place.
    """

    player: str
    values: tuple[Number, ...]
    mean: Number
    low: Number
    high: Number
    first: Count | None = None


class ScoreTable(msgspec.Struct, frozen=True):
    """A named score of each match, a row for each player. ``matches``: their numbers."""

    score: str
    matches: tuple[Count, ...]
    rows: tuple[ScoreRow, ...]


def seats_of(result: MatchResult, plans: Sequence[int]) -> list[int]:
    """Return the seats that ``plans`` filled."""
    return [result.plan_of_seat.index(plan) for plan in plans]


def named_scores(
    results: Sequence[MatchResult], names: Sequence[str], plans: Sequence[int], confidence: float = 0.95
) -> tuple[NamedScore, ...]:
    """Return the mean of each score over the matches that did not fail.

    Args:
        results: Matches. The mean over the player's seats counts for a match: only matches are independent.
        names: Names of the scores, as in the spec of the game.
        plans: Plans of the player.
        confidence: Confidence level of the intervals, in 0..1.
    """
    whole = [r for r in results if r.scores]
    if not whole:
        return ()
    found = []
    for k, name in enumerate(names):
        values = np.array([np.mean([r.scores[s][k] for s in seats_of(r, plans)]) for r in whole])
        counts = all(r.scores[s][k].is_integer() for r in whole for s in seats_of(r, plans))
        i = _interval(name, values, confidence, counts=counts)
        found.append(NamedScore(name, i.mean, i.low, i.high, i.deviation))
    return tuple(found)


def score_table(
    results: Sequence[MatchResult],
    names: Sequence[str],
    score: str,
    players: Sequence[tuple[str, Sequence[int]]],
) -> ScoreTable:
    """Return ``score`` of each match that did not fail, for each player and the best player inside the game.

    Args:
        results: Matches in order.
        names: Names of the scores, as in the spec of the game.
        score: One of them.
        players: Name and plans of each player.
    """
    whole = [r for r in results if r.scores]
    column = names.index(score)
    place = names.index(PLACE) if PLACE in names else None
    rows = []
    for player, plans in players:
        best = [_best(r, plans, column, place) for r in whole]
        first = None if place is None else sum(b[place] == 1 for b in best)
        rows.append(_row(player, score, [b[column] for b in best], first))
    if BEST_BOT in names and score == names[0]:
        of_bots = names.index(BEST_BOT)
        rows.append(_row("best bot", score, [max(s[of_bots] for s in r.scores) for r in whole], None))
    return ScoreTable(score, tuple(r.match for r in whole), tuple(rows))


def _best(result: MatchResult, plans: Sequence[int], column: int, place: int | None) -> tuple[float, ...]:
    """Return the scores of the seat with the best place, otherwise or among equals the highest score."""
    ours = [result.scores[s] for s in seats_of(result, plans)]
    return min(ours, key=lambda scores: (0.0 if place is None else scores[place], -scores[column]))


def _row(player: str, score: str, values: Sequence[float], first: int | None) -> ScoreRow:
    counts = all(v.is_integer() for v in values)
    i = _interval(score, np.array(values, np.float64), 0.95, counts=counts)
    return ScoreRow(player, tuple(values), i.mean, i.low, i.high, first)


def _interval(name: str, values: npt.NDArray[np.float64], confidence: float, *, counts: bool) -> MeanInterval:
    """Return Student's interval of the mean of a score; of counts at least as wide as chance allows.

    Equal counts in all of n matches have no deviation. But another count, one more or one less, whose
    probability is at most 1 - (1 - confidence)^(1/n) can have stayed away by chance.
    """
    known = mean_interval(values, confidence)
    if not counts or len(values) < 2:
        return known
    unseen = 1.0 - (1.0 - confidence) ** (1.0 / len(values))
    low, high = min(known.low, known.mean - unseen), max(known.high, known.mean + unseen)
    return msgspec.structs.replace(known, low=max(low, 1.0) if name == PLACE else low, high=high)

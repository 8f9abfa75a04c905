"""Strength on a ladder: opponents of one kind and known size, such as searches of 100 and 400 visits.

In sizes, a player is as strong as the rung that it would score half against: by its own scores, between rungs
linear in Elo and the logarithm of the size. In Elo, it is rated above the lowest rung together with everyone
who met a rung (:func:`ludus.ratings.bradley_terry.bradley_terry`), since weak and strong players together
place the rungs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Annotated, Literal

import msgspec
import numpy as np

from ludus.flow.inputs.bounds import Count, Number
from ludus.ratings.bradley_terry import bradley_terry
from ludus.ratings.elo import SCALE
from ludus.ratings.interval import wilson_interval

CONFIDENCE = 0.95
MOST_PLAYERS = 200  # the newest count
NARROW = 200.0  # Elo; a wider interval around the only rung has no words
FURTHEST = 0.003  # score nearest to 0 and 1 that has an Elo: 1,000

Place = Literal["above", "within", "below", ""]
#: Points and matches against a rung, by its size.
Meetings = Mapping[int, tuple[float, int]]


class LadderRating(msgspec.Struct, frozen=True):
    """Strength of a player on a ladder.

    ``rungs``: sizes, ascending. ``elo``: rating above the lowest rung, with its 95% interval. ``place``:
    ``above`` all rungs or ``below`` them if the interval shows it, ``within`` if ``size`` is known, empty
    if the scores leave it open. ``size_low``, ``size_high``: 95% interval of ``size``; None: it ends
    beyond the ladder.
    """

    rungs: Annotated[tuple[Count, ...], msgspec.Meta(min_length=1)]
    elo: Number
    elo_low: Number
    elo_high: Number
    place: Place
    size: Count | None = None
    size_low: Count | None = None
    size_high: Count | None = None


def rate_on_ladder(players: Sequence[Meetings]) -> LadderRating | None:
    """Return the strength of the last of ``players``; None if it met no rung.

    Args:
        players: What each player achieved, against rungs of positive size.
    """
    met = [{size: meeting for size, meeting in player.items() if meeting[1]} for player in players]
    if not met or not met[-1]:
        return None
    rungs = sorted(met[-1])
    elo, error = _elo(met[-MOST_PLAYERS:], rungs[0])
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2.0)
    low, middle, high = zip(*(_scores(*met[-1][size]) for size in rungs), strict=True)
    made = LadderRating(tuple(rungs), elo, elo - z * error, elo + z * error, "")
    if low[-1] > 0.0:
        return msgspec.structs.replace(made, place="above")
    if high[0] < 0.0:
        return msgspec.structs.replace(made, place="below")
    size_low, size_high = _crossing(rungs, low), _crossing(rungs[::-1], high[::-1])
    if size_low is None and size_high is None and (len(rungs) > 1 or high[0] - low[0] > 2.0 * NARROW):
        return made
    return msgspec.structs.replace(
        made,
        place="within",
        size=_rounded(_equal(rungs, middle)),
        size_low=_rounded(size_low),
        size_high=_rounded(size_high),
    )


def _elo(players: Sequence[Meetings], base: int) -> tuple[float, float]:
    """Return the rating of the last player above the rung ``base``, and its standard error."""
    rungs = sorted({size for met in players for size in met})
    count = len(rungs) + len(players)
    points, matches = np.zeros((count, count)), np.zeros((count, count))
    for i, met in enumerate(players, len(rungs)):
        for size, (won, played) in met.items():
            j = rungs.index(size)
            points[i, j], points[j, i] = won, played - won
            matches[i, j] = matches[j, i] = played
    return bradley_terry(points, matches).difference(count - 1, rungs.index(base))


def _scores(points: float, matches: int) -> tuple[float, float, float]:
    """Return the lower bound, estimate and upper bound of a score, as differences in Elo."""
    # Rounded outwards: half points of draws make the interval wider than it has to be.
    low = wilson_interval(math.floor(points), matches, CONFIDENCE).low
    high = wilson_interval(math.ceil(points), matches, CONFIDENCE).high
    return _difference(low), _difference((points + 0.5) / (matches + 1.0)), _difference(high)


def _difference(score: float) -> float:
    bounded = min(max(score, FURTHEST), 1.0 - FURTHEST)
    return SCALE * math.log(bounded / (1.0 - bounded))


def _equal(rungs: Sequence[int], differences: Sequence[float]) -> float:
    """Return the size of equal strength, at most a rung's at either end of the ladder."""
    up = _crossing(rungs, differences)
    down = _crossing(rungs[::-1], differences[::-1])
    if up is None and down is None:  # level with the only rung, or better than small ones and worse than none
        return float(rungs[0] if differences[0] <= 0.0 else rungs[-1])
    if up is None or down is None:
        return float(rungs[0] if up is None else rungs[-1])
    return math.sqrt(up * down)  # noise may put a rung above a larger one: then there are several crossings


def _crossing(rungs: Sequence[int], differences: Sequence[float]) -> float | None:
    """Return the size at which ``differences`` first change their sign; None if the first has none to change.

    From below, the first is positive for a player that is better than the smallest rung; from above, it is
    negative for a player that is worse than the largest.
    """
    sign = 1.0 if rungs[0] <= rungs[-1] else -1.0
    if sign * differences[0] <= 0.0:
        return None
    for k in range(1, len(rungs)):
        before, after = sign * differences[k - 1], sign * differences[k]
        if after <= 0.0:
            share = before / (before - after)
            return math.exp((1.0 - share) * math.log(rungs[k - 1]) + share * math.log(rungs[k]))
    return None


def _rounded(size: float | None) -> int | None:
    """Return a size of two digits."""
    if size is None:
        return None
    unit = int(10 ** max(0, math.floor(math.log10(size)) - 1))
    return max(1, round(size / unit) * unit)

"""Payoff: results of all pairs in integers, and the rates that rules decide by.

The table has, of each pair, the matches that either won and drawn matches. Beside the integers is a
copy that decays: before each match of a pair both its counts are multiplied by ``decay`` (0.99: a window of
about 100 matches, AlphaStar and TLeague). Rates against a player whose weights change come from the
decayed copy; rates between frozen players come from the integers.

A rate is the mean of a Beta distribution: with w wins, d draws of n matches and a prior of ``PRIOR`` matches
``(w + d/2 + PRIOR m) / (n + PRIOR)``, where m is what is expected without a match: 1/2, hence ``(w + d/2 + 1)
/ (n + 2)``. A player that comes from another expects its parent's rates, with the weight of at most
``INHERITED`` further matches. That is a prior: matches of the parent are never counted as its own.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int64]

PRIOR = 2.0  # matches that a prior without a parent counts for
INHERITED = 8.0  # matches that a parent's rate adds to the prior, at most
DECAY = 0.99
GROWTH = 64


#: Matches of a pair, in the newer player's row: those that it won, that the older one won, and drawn ones.
_WON, _LOST, _DRAWN = range(3)
#: The same, decayed, and the wins that the newer and the older one are taken to have before any match.
_PRIOR, _PRIOR_AGAINST = 3, 4


class Payoff:
    """Counts by pair of players, who are indices in the order in which they came.

    A pair is there once, in the row of the newer player: what a new player inherits is one row, and a result
    is in one place. Tables grow with the square of the players, so that far places cost most.
    """

    def __init__(self, decay: float = DECAY) -> None:
        """Start without players; ``decay`` in (0, 1] weighs down a live pair's counts before each match."""
        self.decay = decay
        self.count = 0
        self.grown = 0  #: times that the tables were copied
        self.cleared = 0  #: matches of rows that were cleared, so that the sum of all stays
        self._counts = np.zeros((0, 0, 3), np.int64)
        self._recent = np.zeros((0, 0, 5))
        self._live = np.zeros(0, bool)
        self.frozen_matches = np.zeros(0, np.int64)  #: of each player, against players whose weights stay

    def add(self, live: bool, parent: int | None = None) -> int:
        """Add a player and return its index. ``live``: its weights change."""
        if self.count == len(self._live):
            self.reserve(max(GROWTH, 2 * self.count))
        index = self.count
        self.count += 1
        self._live[index] = live
        if parent is None:
            self._recent[index, : self.count, _PRIOR:] = PRIOR / 2
        else:
            self._recent[index, [parent, index], _PRIOR:] = PRIOR / 2
            self._inherit(index, parent)
        return index

    def reserve(self, size: int) -> None:
        """Make room for ``size`` players at once: each time that the tables grow, they are copied."""
        old = len(self._live)
        if size <= old:
            return
        self.grown += 1
        counts, recent = np.zeros((size, size, 3), np.int64), np.zeros((size, size, 5))
        for row in range(self.count):  # what is not there yet stays untouched
            counts[row, :row] = self._counts[row, :row]
            recent[row, : row + 1] = self._recent[row, : row + 1]
        self._counts, self._recent = counts, recent
        self._live = np.append(self._live, np.zeros(size - old, bool))
        self.frozen_matches = np.append(self.frozen_matches, np.zeros(size - old, np.int64))

    def _inherit(self, index: int, parent: int) -> None:
        """Make the parent's rates the prior of ``index`` against all players."""
        others = np.arange(self.count)
        rates = self.rates(parent, others)
        weight = PRIOR + np.minimum(self.matches(parent, others), INHERITED)
        mine, theirs = weight * rates, weight * (1.0 - rates)
        mine[[index, parent]] = theirs[[index, parent]] = PRIOR / 2
        self._recent[index, :index, _PRIOR] = mine[:index]
        self._recent[index, :index, _PRIOR_AGAINST] = theirs[:index]
        newer = slice(index + 1, self.count)
        self._recent[newer, index, _PRIOR] = theirs[newer]
        self._recent[newer, index, _PRIOR_AGAINST] = mine[newer]

    def record(self, i: int, j: int, wins: int, draws: int, losses: int) -> None:
        """Add matches of i against j, i not j. Outcomes of one call count as evenly mixed in time."""
        if i < j:
            i, j, wins, losses = j, i, losses, wins
        counts = self._counts[i, j]
        counts[_WON] += wins
        counts[_LOST] += losses
        counts[_DRAWN] += draws
        matches = wins + draws + losses
        if matches == 0:
            return
        if not (self._live[i] or self._live[j]):
            self.frozen_matches[[i, j]] += matches
        keep = self.decay**matches
        each = 1.0 if self.decay == 1.0 else (1.0 - keep) / ((1.0 - self.decay) * matches)
        recent = self._recent[i, j]
        for place, new in ((_WON, wins), (_LOST, losses), (_DRAWN, draws)):
            recent[place] = keep * recent[place] + each * new

    def clear(self, index: int, parent: int | None = None) -> None:
        """Forget the matches of the player at ``index``, because it becomes another."""
        older, newer = slice(0, index), slice(index + 1, self.count)
        self.cleared += int(self._counts[index, older].sum() + self._counts[newer, index].sum())
        self._counts[index, older] = self._counts[newer, index] = 0
        for places in ((index, slice(0, index + 1)), (newer, index)):
            self._recent[(*places, slice(0, _PRIOR))] = 0.0
            self._recent[(*places, slice(_PRIOR, None))] = PRIOR / 2
        if parent is not None and parent != index:
            self._inherit(index, parent)

    def _pairs(self, table: npt.NDArray[Any], i: int, others: Indices) -> npt.NDArray[Any]:
        """Return the entries ``[N, ...]`` of i and each of ``others: [N]``, from the newer one's row."""
        found: npt.NDArray[Any] = table[np.maximum(others, i), np.minimum(others, i)]
        return found

    def score(self, i: int, j: int) -> tuple[int, int, int]:
        """Wins, draws and losses of i against j."""
        won, lost, drawn = map(int, self._counts[max(i, j), min(i, j)])
        return (won, drawn, lost) if i > j else (lost, drawn, won)

    def counts(self, i: int, others: Indices) -> Ints:
        """Return wins, draws and losses ``[N, 3]`` of i against each of ``others: [N]``."""
        found = self._pairs(self._counts, i, others)
        later = (others < i)[:, None]
        newer, older = found[:, [_WON, _DRAWN, _LOST]], found[:, [_LOST, _DRAWN, _WON]]
        counted: Ints = np.where(later, newer, older)
        return counted

    def recent(self, i: int, others: Indices) -> npt.NDArray[np.bool_]:
        """Whether the rates of i against ``others: [N]`` count about the last matches instead of all."""
        found: npt.NDArray[np.bool_] = (self._live[others] | self._live[i]) & (self.decay < 1.0)
        return found

    def window(self) -> float:
        """How many matches a decaying rate counts, about; 0: all."""
        return 1.0 / (1.0 - self.decay) if self.decay < 1.0 else 0.0

    def matches(self, i: int, others: Indices) -> Ints:
        """Return the number of matches that i played against each of ``others: [N]``."""
        total: Ints = self._pairs(self._counts, i, others).sum(axis=1)
        return total

    def rates(self, i: int, others: Indices) -> Floats:
        """Rates ``[N]`` in 0..1 at which i scores against ``others: [N]``; 1/2 against itself."""
        alpha, beta = self._beta(i, others)
        rate: Floats = alpha / (alpha + beta)
        rate[others == i] = 0.5
        return rate

    def weights(self, i: int, others: Indices) -> Floats:
        """Return the matches ``[N]`` behind each rate of i against ``others: [N]``, with the prior."""
        alpha, beta = self._beta(i, others)
        weight: Floats = alpha + beta
        return weight

    def intervals(self, i: int, others: Indices, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Bounds ``[N]`` of :meth:`rates`: the normal approximation to the Beta distribution, cut to 0..1."""
        alpha, beta = self._beta(i, others)
        total = alpha + beta
        rate = alpha / total
        z = NormalDist().inv_cdf(0.5 + confidence / 2.0)
        half = z * np.sqrt(rate * (1.0 - rate) / (total + 1.0))
        return np.maximum(rate - half, 0.0), np.minimum(rate + half, 1.0)

    def _beta(self, i: int, others: Indices) -> tuple[Floats, Floats]:
        decayed = self._pairs(self._recent, i, others)
        recent = self._live[others] | self._live[i]
        counts = np.where(recent[:, None], decayed[:, :_PRIOR], self._pairs(self._counts, i, others))
        half = 0.5 * counts[:, _DRAWN]
        newer = decayed[:, _PRIOR] + counts[:, _WON] + half
        older = decayed[:, _PRIOR_AGAINST] + counts[:, _LOST] + half
        later = others < i
        return np.where(later, newer, older), np.where(later, older, newer)

    def rate(self, i: int, j: int) -> float:
        """Return the rate in (0, 1) at which i scores against j."""
        return float(self.rates(i, np.array([j]))[0])

    def table(self, players: Indices) -> Floats:
        """``[N, N]`` rates of ``players: [N]`` against each other."""
        return np.stack([self.rates(int(i), players) for i in players]) if len(players) else np.zeros((0, 0))

    def points(self, players: Indices) -> tuple[Floats, Floats]:
        """``points`` and ``matches: [N, N]`` as ``ludus.ratings`` takes them: integers, no prior."""
        newer, older = np.maximum.outer(players, players), np.minimum.outer(players, players)
        counts = self._counts[newer, older]
        later = players[:, None] > players[None, :]
        wins = np.where(later, counts[..., _WON], counts[..., _LOST])
        return wins + 0.5 * counts[..., _DRAWN], counts.sum(axis=-1).astype(np.float64)

    def total(self) -> int:
        """All matches ever recorded."""
        return self.cleared + sum(int(self._counts[row, :row].sum()) for row in range(self.count))

    def state(self) -> tuple[object, ...]:
        """Everything, to compare two payoffs by."""
        row = slice(0, self.count)
        return (
            self.count,
            self.cleared,
            self._live[row].tobytes(),
            self.frozen_matches[row].tobytes(),
            *(np.ascontiguousarray(t[row, row]).tobytes() for t in (self._counts, self._recent)),
        )

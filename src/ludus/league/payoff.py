"""Payoff: who beat whom how often, in integers, and the rates that rules decide by.

``wins[i, j]``: matches that i won against j; the losses of i are the wins of j. Beside the integers stands a
copy that decays: before each match of a pair both its counts are multiplied by ``decay`` (0.99: a window of
about 100 matches, AlphaStar and TLeague). Rates against a player whose weights change are those of the
decayed copy; rates between frozen players are those of the integers.

A rate is the mean of a Beta distribution: with w wins, d draws of n matches and a prior of ``PRIOR`` matches
``(w + d/2 + PRIOR m) / (n + PRIOR)``, where m is what is expected without a match: 1/2, hence ``(w + d/2 + 1)
/ (n + 2)``. A player that comes from another expects its parent's rates, with the weight of at most
``INHERITED`` further matches. That is a prior: matches of the parent are never counted as its own.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int64]

PRIOR = 2.0  # matches that a prior without a parent counts for
INHERITED = 8.0  # matches that a parent's rate adds to the prior, at most
DECAY = 0.99
GROWTH = 64


class Payoff:
    """Counts by pair of players, who are indices in the order in which they came."""

    def __init__(self, decay: float = DECAY) -> None:
        self.decay = decay
        self.count = 0
        self.cleared = 0  #: matches of rows that were cleared, so that the sum of all stays
        self._wins = np.zeros((0, 0), np.int64)
        self._draws = np.zeros((0, 0), np.int64)
        self._recent_wins = np.zeros((0, 0))
        self._recent_draws = np.zeros((0, 0))
        self._prior = np.zeros((0, 0))  # wins that i is taken to have against j before any match
        self._live = np.zeros(0, bool)
        self.frozen_matches = np.zeros(0, np.int64)  #: of each player, against others whose weights stay

    def add(self, live: bool, parent: int | None = None) -> int:
        """A new player; ``live``: its weights change. Gives its index."""
        if self.count == len(self._live):
            self._grow()
        index = self.count
        self.count += 1
        self._live[index] = live
        self._prior[index, : self.count] = self._prior[: self.count, index] = PRIOR / 2
        if parent is not None:
            self._inherit(index, parent)
        return index

    def _grow(self) -> None:
        old = len(self._live)
        size = max(GROWTH, 2 * old)
        for name in ("_wins", "_draws", "_recent_wins", "_recent_draws", "_prior"):
            table = getattr(self, name)
            larger = np.zeros((size, size), table.dtype)
            larger[:old, :old] = table
            setattr(self, name, larger)
        self._live = np.append(self._live, np.zeros(size - old, bool))
        self.frozen_matches = np.append(self.frozen_matches, np.zeros(size - old, np.int64))

    def _inherit(self, index: int, parent: int) -> None:
        """The parent's rates become the prior of ``index`` against all others."""
        others = np.arange(self.count)
        others = others[(others != index) & (others != parent)]
        rates = self.rates(parent, others)
        weight = PRIOR + np.minimum(self.matches(parent, others), INHERITED)
        self._prior[index, others] = weight * rates
        self._prior[others, index] = weight * (1.0 - rates)
        self._prior[index, parent] = self._prior[parent, index] = PRIOR / 2

    def record(self, i: int, j: int, wins: int, draws: int, losses: int) -> None:
        """Adds matches of i against j, i not j. Outcomes of one call count as evenly mixed in time."""
        self._wins[i, j] += wins
        self._wins[j, i] += losses
        self._draws[i, j] += draws
        self._draws[j, i] += draws
        matches = wins + draws + losses
        if matches == 0:
            return
        if not (self._live[i] or self._live[j]):
            self.frozen_matches[[i, j]] += matches
        keep = self.decay**matches
        each = 1.0 if self.decay == 1.0 else (1.0 - keep) / ((1.0 - self.decay) * matches)
        for table, there, back in (
            (self._recent_wins, wins, losses),
            (self._recent_draws, draws, draws),
        ):
            table[i, j] = keep * table[i, j] + each * there
            table[j, i] = keep * table[j, i] + each * back

    def clear(self, index: int, parent: int | None = None) -> None:
        """The player at ``index`` is another from now on: its matches no longer count for it."""
        row = slice(0, self.count)
        self.cleared += int(self._wins[index, row].sum() + self._wins[row, index].sum())
        self.cleared += int(self._draws[index, row].sum())
        for table in (self._wins, self._draws, self._recent_wins, self._recent_draws):
            table[index, row] = 0
            table[row, index] = 0
        self._prior[index, row] = self._prior[row, index] = PRIOR / 2
        if parent is not None and parent != index:
            self._inherit(index, parent)

    def score(self, i: int, j: int) -> tuple[int, int, int]:
        """Wins, draws and losses of i against j."""
        return int(self._wins[i, j]), int(self._draws[i, j]), int(self._wins[j, i])

    def recent(self, i: int, others: Indices) -> npt.NDArray[np.bool_]:
        """Whether the rates of i against ``others: [N]`` count about the last matches instead of all."""
        found: npt.NDArray[np.bool_] = (self._live[others] | self._live[i]) & (self.decay < 1.0)
        return found

    def window(self) -> float:
        """How many matches a decaying rate counts, about; 0: all."""
        return 1.0 / (1.0 - self.decay) if self.decay < 1.0 else 0.0

    def matches(self, i: int, others: Indices) -> Ints:
        """Matches that i played against each of ``others: [N]``."""
        total: Ints = self._wins[i, others] + self._wins[others, i] + self._draws[i, others]
        return total

    def rates(self, i: int, others: Indices) -> Floats:
        """Rates ``[N]`` in 0..1 at which i scores against ``others: [N]``; 1/2 against itself."""
        alpha, beta = self._beta(i, others)
        rate: Floats = alpha / (alpha + beta)
        rate[others == i] = 0.5
        return rate

    def intervals(self, i: int, others: Indices, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Bounds ``[N]`` of :meth:`rates`: the normal approximation to the Beta distribution, cut to 0..1."""
        alpha, beta = self._beta(i, others)
        total = alpha + beta
        rate = alpha / total
        z = NormalDist().inv_cdf(0.5 + confidence / 2.0)
        half = z * np.sqrt(rate * (1.0 - rate) / (total + 1.0))
        return np.maximum(rate - half, 0.0), np.minimum(rate + half, 1.0)

    def _beta(self, i: int, others: Indices) -> tuple[Floats, Floats]:
        prior, against = self._prior[i, others], self._prior[others, i]
        recent = self._live[others] if not self._live[i] else np.ones(len(others), bool)
        wins = np.where(recent, self._recent_wins[i, others], self._wins[i, others])
        losses = np.where(recent, self._recent_wins[others, i], self._wins[others, i])
        draws = np.where(recent, self._recent_draws[i, others], self._draws[i, others])
        return prior + wins + 0.5 * draws, against + losses + 0.5 * draws

    def rate(self, i: int, j: int) -> float:
        return float(self.rates(i, np.array([j]))[0])

    def table(self, players: Indices) -> Floats:
        """``[N, N]`` rates of ``players: [N]`` against each other."""
        return np.stack([self.rates(int(i), players) for i in players]) if len(players) else np.zeros((0, 0))

    def points(self, players: Indices) -> tuple[Floats, Floats]:
        """``points`` and ``matches: [N, N]`` as ``ludus.ratings`` takes them: integers, no prior."""
        pick = np.ix_(players, players)
        wins, draws = self._wins[pick], self._draws[pick]
        return wins + 0.5 * draws, (wins + wins.T + draws).astype(np.float64)

    def total(self) -> int:
        """All matches ever recorded."""
        row = slice(0, self.count)
        return self.cleared + int(self._wins[row, row].sum() + self._draws[row, row].sum() // 2)

    def state(self) -> tuple[object, ...]:
        """Everything, to compare two payoffs by."""
        row = slice(0, self.count)
        tables = (self._wins, self._draws, self._recent_wins, self._recent_draws, self._prior)
        return (
            self.count,
            self.cleared,
            self._live[row].tobytes(),
            self.frozen_matches[row].tobytes(),
            *(np.ascontiguousarray(t[row, row]).tobytes() for t in tables),
        )

"""Weights of a run that may become its best."""

from __future__ import annotations

from collections.abc import Sequence

from ludus.evaluation.results import EvalResult, lower_bound
from ludus.reporting.sinks import Sinks
from ludus.storage import Pointer, RunDirectory
from ludus.training.run_state import Candidate, RunState

CANDIDATES = 3  # versions whose weights are kept for the play-off at the end


def score_of(results: Sequence[EvalResult], score: str = "") -> float:
    """Return the mean lower bound over the opponents.

    Args:
        results: Results against each opponent.
        score: A named score of the game; "" = the win rate, or the mean return of a single seat.
    """
    return sum(lower_bound(r, score) for r in results) / len(results)


def best_candidates(known: Sequence[Candidate], new: Candidate) -> list[Candidate]:
    """Return the ``CANDIDATES`` best of ``known`` and ``new``, best first, every version once."""
    others = [c for c in known if (c.version, c.player) != (new.version, new.player)]
    return sorted([*others, new], key=lambda c: (c.score, c.version), reverse=True)[:CANDIDATES]


class BestWeights:
    """Files of the best weights: the candidates' checkpoints, and ``best.json``, which names the best."""

    def __init__(self, directory: RunDirectory, report: Sinks) -> None:
        """Keep the files of ``directory``. ``report`` receives failures."""
        self._checkpoints, self._report = directory.checkpoints, report
        self._refused: Pointer | None = None  # what best.json does not name yet

    def pin(self, candidates: Sequence[Candidate]) -> None:
        """Keep the candidates' checkpoints on disk."""
        holding = (self._checkpoints.holding(c.version, c.player) for c in candidates)
        self._checkpoints.pinned = frozenset(number for number in holding if number is not None)
        self._checkpoints.held = frozenset((c.player, c.version) for c in candidates if c.player)

    def consider(self, state: RunState, version: int, score: float, player: str = "") -> bool:
        """Add an evaluated version, of ``player`` in a league. Returns whether it is the best so far.

        Weights that no checkpoint has (the disk was full) cannot become the best.
        """
        if self._checkpoints.holding(version, player) is None:
            return False
        best = state.best_score is None or score > state.best_score
        state.candidates = best_candidates(state.candidates, Candidate(version, score, player))
        self.pin(state.candidates)
        if best:
            state.best_score, state.best_version, state.best_player = score, version, player
            self.point(version, score, player)
        return best

    def point(self, version: int, score: float, player: str = "") -> None:
        """Write ``best.json``; a failure is reported."""
        holding = self._checkpoints.holding(version, player)
        if holding is None:
            return
        self._refused = Pointer(holding, score, player, version if player else -1)
        if why := self.point_again():
            self._report.problem(why)

    def point_again(self) -> str:
        """Write ``best.json`` if it was refused last time; return why it is refused again, or empty."""
        if self._refused is None:
            return ""
        try:
            self._checkpoints.point("best", self._refused)
        except OSError as error:
            return f"best.json was not written: {error.strerror or error}"
        self._refused = None
        return ""

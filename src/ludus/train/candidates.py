"""Which weights of a run may become its best."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ludus.evaluation.results import EvalResult

CANDIDATES = 3  # versions whose weights are kept for the play-off at the end


class Candidate(msgspec.Struct, frozen=True):
    """A version of the weights and the score of its newest evaluation inside training."""

    version: int
    score: float


def score_of(results: Sequence[EvalResult]) -> float:
    """The mean lower bound over the opponents: of the win rate, or of the mean return of a single seat."""
    return sum(r.measure_low for r in results) / len(results)


def best_candidates(known: Sequence[Candidate], new: Candidate) -> list[Candidate]:
    """The ``CANDIDATES`` best of ``known`` and ``new``, best first, every version once."""
    others = [c for c in known if c.version != new.version]
    return sorted([*others, new], key=lambda c: (c.score, c.version), reverse=True)[:CANDIDATES]

"""Ladder of plain searches (``mcts:100``, ``mcts:400``) among the opponents of an evaluation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ludus.evaluation.results import EvalResult
from ludus.mcts.text import ROLLOUTS
from ludus.ratings.ladder import LadderRating, Meetings, rate_on_ladder

_PLAIN = re.compile(rf"{ROLLOUTS}:([1-9]\d{{0,8}})")  # other options make another kind of opponent


def rung(visits: int) -> str:
    """Return ``mcts:400``."""
    return f"{ROLLOUTS}:{visits}"


def visits_of(player: str) -> int | None:
    """Return the visits of a plain search with random playouts; None for any other player."""
    found = _PLAIN.fullmatch(player)
    return None if found is None else int(found[1])


def rate(evaluations: Sequence[Iterable[EvalResult]]) -> LadderRating | None:
    """Return the strength of the player of the last of ``evaluations``; None without a plain search in it."""
    return rate_on_ladder([_meetings(results) for results in evaluations])


def _meetings(results: Iterable[EvalResult]) -> Meetings:
    met: dict[int, tuple[float, int]] = {}
    for result in results:
        visits = visits_of(result.against)
        if visits is not None and result.score is not None and result.matches:
            met[visits] = result.score * result.matches, result.matches
    return met


def in_words(rating: LadderRating | None) -> str:
    """Return ``plays about as mcts:190 (95% interval: mcts:120 to mcts:390)``; empty if it is not known."""
    text = brief(rating)
    if rating is None or rating.place != "within":
        return text
    low, high = rating.size_low, rating.size_high
    if low is None and high is None:
        return text
    if low is None or high is None:
        ends = f"at most {rung(high)}" if high is not None else f"at least {rung(low or 0)}"
    else:
        ends = f"{rung(low)} to {rung(high)}"
    return f"{text} (95% interval: {ends})"


def brief(rating: LadderRating | None) -> str:
    """Return ``plays about as mcts:190``, ``plays above mcts:400`` or ``plays below mcts:25``, or nothing."""
    if rating is None or not rating.place:
        return ""
    if rating.place == "above":
        return f"plays above {rung(rating.rungs[-1])}"
    if rating.place == "below":
        return f"plays below {rung(rating.rungs[0])}"
    return f"plays about as {rung(rating.size or rating.rungs[0])}"


def elo_in_words(rating: LadderRating) -> str:
    """Return ``Elo 320 (250 to 390), mcts:50 = 0``."""
    ends = f"{rating.elo_low:,.0f} to {rating.elo_high:,.0f}"
    return f"Elo {rating.elo:,.0f} ({ends}), {rung(rating.rungs[0])} = 0"


def numbers(rating: LadderRating) -> dict[str, float]:
    """Return ``mcts:50/elo`` and, as far as it is known, ``mcts/visits``, each with its interval."""
    base = rung(rating.rungs[0])
    found = {"elo": rating.elo, "elo_low": rating.elo_low, "elo_high": rating.elo_high}
    sizes = {"visits": rating.size, "visits_low": rating.size_low, "visits_high": rating.size_high}
    return {
        **{f"{base}/{name}": float(value) for name, value in found.items()},
        **{f"{ROLLOUTS}/{name}": float(value) for name, value in sizes.items() if value is not None},
    }

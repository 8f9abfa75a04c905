"""Check of the named scores that a Python game writes at the end of a match."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ludus.flow.spec import GameSpec
from ludus.games.checks.spec import CheckFailure
from ludus.games.python_game import PythonGame

#: Calls a method of the game by name.
Call = Callable[[str, Callable[[], None]], None]


def check_scores(spec: GameSpec, game: PythonGame, call: Call, where: str) -> None:
    """Check that ``game`` writes a finite number for each seat and each score that its spec names.

    Args:
        spec: Spec of the game.
        game: A game whose match is over.
        call: Calls a method of the game; its errors are findings.
        where: Place of the match for a message.

    Raises:
        CheckFailure: A score is missing or not finite, or the game has no ``scores()``.
    """
    if not spec.scores:
        return
    scores = getattr(game, "scores", None)
    if not callable(scores):
        raise CheckFailure("outcomes", f"no scores(); the spec names {', '.join(spec.scores)}")
    out = np.full((spec.seats, len(spec.scores)), np.nan, np.float32)
    call("scores", lambda: scores(out))
    for seat, row in enumerate(out):
        for name, value in zip(spec.scores, row.tolist(), strict=True):
            if not np.isfinite(value):
                raise CheckFailure(
                    "outcomes", f"score {name} of seat {seat} is {value} ({where}), expected a finite number"
                )

"""How far a number of matches is: by finished matches, and by played ticks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ludus.evaluation.settings import MatchHooks

if TYPE_CHECKING:
    from collections.abc import Callable

    from ludus.flow.match import MatchResult

LENGTH_KNOWN = 0.25  # share of the matches whose mean length stands for all


class MatchProgress:
    """Progress of ``total`` matches. One thread counts, any other may read :meth:`text`.

    Matches played in lockstep end nearly together, for example with a search. So ticks are counted too:
    they move from the first slab on.
    """

    def __init__(self, total: int, turn_based: bool = False, length: float = 0.0) -> None:
        """Start the clock.

        Args:
            total: Number of matches.
            turn_based: Whether a tick is a move.
            length: Mean length of such matches in ticks, 0 if it is unknown.
        """
        self.total, self.over, self.ticks = total, 0, 0
        self._unit = "moves" if turn_based else "ticks"
        self._length, self._ended_ticks = length, 0
        self._started = time.monotonic()

    def finished(self, ended: Sequence[MatchResult]) -> None:
        """Count matches that are over."""
        self.over += len(ended)
        self._ended_ticks += sum(result.ticks for result in ended)

    def played(self, ticks: int) -> None:
        """Count ticks of matches that are over or in play."""
        self.ticks += ticks

    def hooks(self, should_stop: Callable[[], bool] | None = None) -> MatchHooks:
        """Return hooks that count."""
        return MatchHooks(should_stop, self.finished, self.played)

    @property
    def length(self) -> float:
        """Mean length of a match in ticks, 0 while it is unknown: the first to end are the shortest."""
        if self.over and self.over >= LENGTH_KNOWN * self.total:
            return self._ended_ticks / self.over
        return self._length

    def share(self) -> float:
        """Return the played share of all matches, 0..1; 0 while it is unknown."""
        by_matches = self.over / max(1, self.total)
        by_ticks = self.ticks / (self.total * self.length) if self.length > 0 else 0.0
        return max(by_matches, min(by_ticks, 0.99))

    def left_s(self) -> float | None:
        """Return an estimate of the remaining seconds; None while it is unknown."""
        share = self.share()
        return (time.monotonic() - self._started) * (1.0 - share) / share if share > 0.0 else None

    def text(self) -> str:
        """Return ``12 of 200 matches are over, 5,210 moves, about 0:40 min left``."""
        text = f"{self.over:,} of {self.total:,} matches are over, {self.ticks:,} {self._unit}"
        left = self.left_s()
        if left is None or self.over == self.total:
            return text
        return f"{text}, about {int(left) // 60}:{int(left) % 60:02d} min left"

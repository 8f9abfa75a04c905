"""How far a number of matches is: by finished matches, and by played ticks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ludus.evaluation.settings import MatchHooks

if TYPE_CHECKING:
    from collections.abc import Callable

    from ludus.flow.match import MatchResult
    from ludus.flow.spec import GameSpec

LENGTH_KNOWN = 0.25  # share of the matches whose mean length stands for all


class MatchProgress:
    """Progress of ``total`` matches. One thread counts, any other may read :meth:`text`.

    Matches played in lockstep end nearly together, for example with a search. So ticks are counted too:
    they move from the first slab on.
    """

    def __init__(self, total: int, length: float = 0.0) -> None:
        """Start the clock.

        Args:
            total: Number of matches.
            length: Mean length of such matches in ticks, 0 if it is unknown.
        """
        self.total, self.over, self.ticks = total, 0, 0
        self.unit = "ticks"  #: of what is played; moves in a game by turns
        self._length, self._ended_ticks = length, 0
        self._most = 0  # ticks of a match, 0 if they say nothing
        self._started = time.monotonic()

    def started(self, spec: GameSpec) -> None:
        """Take the game of the matches. Its limit bounds the time left if it is played by turns."""
        if spec.turn_based:
            self.unit, self._most = "moves", spec.max_ticks

    def finished(self, ended: Sequence[MatchResult]) -> None:
        """Count matches that are over."""
        self.over += len(ended)
        self._ended_ticks += sum(result.ticks for result in ended)

    def played(self, ticks: int) -> None:
        """Count ticks of matches that are over or in play."""
        self.ticks += ticks

    def hooks(self, should_stop: Callable[[], bool] | None = None) -> MatchHooks:
        """Return hooks that count."""
        return MatchHooks(should_stop, self.finished, self.played, self.started)

    @property
    def length(self) -> float:
        """Mean length of a match in ticks, 0 while it is unknown: the first to end are the shortest."""
        if self.over and self.over >= LENGTH_KNOWN * self.total:
            return self._ended_ticks / self.over
        return self._length

    def share(self) -> float:
        """Return the played share of all matches, 0..1; 0 while it is unknown.

        Until the length of a match is known, its limit stands for it in a game by turns: then it is a lower
        bound.
        """
        length = self.length or self._most
        by_ticks = self.ticks / (self.total * length) if length > 0 else 0.0
        return max(self.over / max(1, self.total), min(by_ticks, 0.99))

    def left(self) -> str:
        """Return ``about 0:40 min left``, by the limit ``at most 1:20 min left``; empty while unknown."""
        share = self.share()
        if share <= 0.0 or self.over == self.total:
            return ""
        bound = "at most" if self._most and not self.length else "about"
        left = int((time.monotonic() - self._started) * (1.0 - share) / share)
        if left >= 3600:
            return f"{bound} {left // 3600}:{left % 3600 // 60:02d} h left"
        return f"{bound} {left // 60}:{left % 60:02d} min left"

    def brief(self) -> str:
        """Return ``12 of 200 matches, about 0:40 min left``; moves in place of a time that is not known."""
        rest = self.left() or f"{self.ticks:,} {self.unit}"
        return f"{self.over:,} of {self.total:,} matches, {rest}"

    def text(self) -> str:
        """Return ``12 of 200 matches are over, 5,210 moves, about 0:40 min left``."""
        text = f"{self.over:,} of {self.total:,} matches are over, {self.ticks:,} {self.unit}"
        return ", ".join(filter(None, (text, self.left())))

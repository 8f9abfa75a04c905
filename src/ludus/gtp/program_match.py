"""A match between two programs, as it was played."""

from __future__ import annotations

from dataclasses import dataclass, field

from ludus.games import go

_LETTERS = {"resignation": "R", "time": "T"}  # of a result in SGF


@dataclass(slots=True)
class ProgramMatch:
    """A match between two programs.

    Attributes:
        moves: Pairs of seat and point.
        winner: The seat that won; None = drawn or not decided.
        points: Black's points less White's and komi, by ``counted_by``; None = not counted.
        by: End of the match: resignation, count, length, time or illegal move.
        counted_by: Name of the program that counted.
        seconds: Thinking time of each seat.
    """

    moves: list[tuple[int, int]] = field(default_factory=list)  # seat, point
    winner: int | None = None  # seat; None = drawn or not decided
    points: float | None = None
    by: str = ""  # resignation, count, length, time, illegal move
    counted_by: str = ""
    seconds: tuple[float, float] = (0.0, 0.0)  # of each seat

    @property
    def result(self) -> str:
        """The result as in SGF."""
        if self.winner is None:
            return "0" if self.points == 0 else "Void"
        if self.points is None:
            return f"{'BW'[self.winner]}+{_LETTERS.get(self.by, 'F')}"
        return go.score_text(self.points)

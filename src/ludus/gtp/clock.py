"""Time controls: from a controller's settings to the seconds of one move."""

from __future__ import annotations

from dataclasses import dataclass, field

RESERVE_S = 0.2  # reserve for communication with the controller


@dataclass(slots=True)
class Clock:
    """Canadian time: ``main`` seconds, then ``stones`` moves in every ``period`` seconds (GTP 2, 4.2).

    Attributes:
        main: Main time in seconds.
        period: Length of a byo-yomi period in seconds.
        stones: Moves in each period.
        unlimited: Whether there is no limit.
        left: For each colour the controller's last ``time_left``: seconds and stones (0 = main time).
    """

    main: float = 0.0
    period: float = 0.0
    stones: int = 0
    unlimited: bool = True
    left: dict[int, tuple[float, int]] = field(default_factory=dict)

    def settings(self, main: float, period: float, stones: int) -> None:
        """Set the time controls. ``period`` above 0 with 0 ``stones`` means no limit, as in the protocol."""
        self.main, self.period, self.stones = main, period, stones
        self.unlimited = period > 0 and stones == 0
        self.left = {}

    def seconds(self, seat: int, points: int, moves: int) -> float | None:
        """Return the seconds for the next move of ``seat``, or None without a limit.

        Args:
            seat: The seat to move.
            points: Points of the board.
            moves: Moves played so far.
        """
        if self.unlimited:
            return None
        left, stones = self.left.get(seat, (self.main, 0))
        if stones == 0 and left <= 0 and self.period > 0:
            left, stones = self.period, self.stones
        if stones > 0:
            share = left / stones
        else:
            # A match has about 0.7 moves per point; always plan for at least ten more own moves.
            expected = max(10.0, (0.7 * points - moves) / 2)
            share = left / expected
            if self.period > 0 and self.stones > 0:
                share += self.period / self.stones
        return max(0.0, min(share, left) - RESERVE_S) if left > 2 * RESERVE_S else 0.0

    def spent(self, seat: int, seconds: float) -> None:
        """Subtract the time of a move, for controllers that never send ``time_left``."""
        if self.unlimited:
            return
        left, stones = self.left.get(seat, (self.main, 0))
        left -= seconds
        if stones > 0:
            stones -= 1
            if stones == 0:
                left, stones = self.period, self.stones
        elif left <= 0 and self.period > 0 and self.stones > 0:
            left, stones = self.period, self.stones
        self.left[seat] = (max(left, 0.0), stones)

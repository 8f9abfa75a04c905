"""Time controls: from what a controller says to the seconds of one move."""

from __future__ import annotations

from dataclasses import dataclass, field

RESERVE_S = 0.2  # for the way to the controller and back


@dataclass(slots=True)
class Clock:
    """Canadian time: ``main`` seconds, then ``stones`` moves in every ``period`` seconds (GTP 2, 4.2).

    ``left`` is what the controller said last, a colour: seconds and stones (0 = main time).
    """

    main: float = 0.0
    period: float = 0.0
    stones: int = 0
    unlimited: bool = True
    left: dict[int, tuple[float, int]] = field(default_factory=dict)

    def settings(self, main: float, period: float, stones: int) -> None:
        """``period`` above 0 with no ``stones`` means no limit, as the protocol has it."""
        self.main, self.period, self.stones = main, period, stones
        self.unlimited = period > 0 and stones == 0
        self.left = {}

    def seconds(self, seat: int, points: int, moves: int) -> float | None:
        """For the next move of ``seat``, None without a limit. ``points`` of the board, ``moves`` played."""
        if self.unlimited:
            return None
        left, stones = self.left.get(seat, (self.main, 0))
        if stones == 0 and left <= 0 and self.period > 0:
            left, stones = self.period, self.stones
        if stones > 0:
            share = left / stones
        else:
            # A match has about 0.7 moves a point; never plan for fewer than ten more of one's own.
            expected = max(10.0, (0.7 * points - moves) / 2)
            share = left / expected
            if self.period > 0 and self.stones > 0:
                share += self.period / self.stones
        return max(0.0, min(share, left) - RESERVE_S) if left > 2 * RESERVE_S else 0.0

    def spent(self, seat: int, seconds: float) -> None:
        """Time of our own, for controllers that never send ``time_left``."""
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

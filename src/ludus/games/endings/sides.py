"""Names of the sides of a match in a sentence: "you", "simple (orange)"."""

from __future__ import annotations

from collections.abc import Sequence

from ludus.games.views import View

COLOURS = ("blue", "orange", "green", "pink", "violet", "olive", "teal", "grey")  #: of the seats on a page
STONES = ("black", "white")
NOUGHTS = ("crosses", "noughts")


def side_names(view: View, seats: int) -> tuple[str, ...]:
    """Return how a page shows each seat: the colour of its units or stones."""
    if view.renderer == "noughts":
        names: tuple[str, ...] = NOUGHTS
    elif view.renderer == "board" and view.lines == "crossings":
        names = STONES
    else:
        names = COLOURS
    return tuple(names[seat % len(names)] for seat in range(seats))


class Sides:
    """The sides of a match for one reader."""

    def __init__(self, names: Sequence[str], sides: Sequence[str], you: Sequence[int] = ()) -> None:
        """Name the seats.

        Args:
            names: Player of each seat.
            sides: Colour of each seat.
            you: Seats of the reader; only a single one is called "you".
        """
        self._names, self._sides = names, sides
        self.you = you[0] if len(you) == 1 else -1

    def who(self, seat: int) -> str:
        """Return the subject of a sentence."""
        if seat == self.you:
            return "you"
        if 0 <= seat < len(self._names):
            return f"{self._names[seat]} ({self._sides[seat]})"
        return f"seat {seat}"

    def whose(self, seat: int) -> str:
        """Return the owner of something."""
        return "your" if seat == self.you else f"{self.who(seat)}'s"

    def was(self, seat: int) -> str:
        """Return a subject with its verb."""
        return f"{self.who(seat)} {'were' if seat == self.you else 'was'}"

    def all_of(self, seats: Sequence[int]) -> str:
        """Return several subjects."""
        named = [self.who(seat) for seat in seats]
        return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"

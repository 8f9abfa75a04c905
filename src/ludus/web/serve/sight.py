"""Documents that the pages of a match get: of all of it, of the persons' seats, or only observations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ludus.flow.spec import GameSpec
from ludus.games.exports.match import unpack
from ludus.games.match import Match
from ludus.games.views import View
from ludus.web.serve.seat_view import SeatView

MOST_NUMBERS = 4096  # of an observation's tensor that is shown


class Sight(Protocol):
    """Makes the documents of a match for its pages.

    ``hides``: whether they show less than the whole match; ``no_document``: whether they show observations.
    """

    hides: bool
    no_document: bool

    def see(self, match: Match) -> dict[str, Any] | None:
        """Return the document of the present state."""
        ...


class Whole:
    """The whole match."""

    hides = no_document = False

    def see(self, match: Match) -> dict[str, Any]:
        """Return the game's own document."""
        return match.view()


class Cut:
    """The game's document, cut for the seats of persons."""

    hides, no_document = True, False

    def __init__(self, seats: Sequence[int], hide: str, mates: Sequence[int] = ()) -> None:
        """See as ``seats``, whose team has ``mates`` too, by the cut ``hide`` of the game's view."""
        self._view = SeatView(tuple(seats), hide, mates)

    def see(self, match: Match) -> dict[str, Any]:
        """Return the document without what the seats do not see."""
        return self._view.cut(match.view())


class Observations:
    """The observations of the persons' seats, for a game that hides something and has no cut."""

    hides = no_document = True

    def __init__(self, spec: GameSpec, seats: Sequence[int]) -> None:
        """See as ``seats``."""
        self._spec, self._seats = spec, tuple(seats)

    def see(self, match: Match) -> dict[str, Any]:
        """Return the seats' tensors by name; of a large one only its shape."""
        seen = {}
        for seat in self._seats:
            tensors = unpack(self._spec, match.observe(seat))
            seen[str(seat)] = {name: _shown(np.asarray(array)) for name, array in tensors.items()}
        return {"tick": match.tick, "observation": seen}


def sight_of(spec: GameSpec, view: View, persons: Sequence[int]) -> Sight:
    """Return what the pages of a match may see. Only persons make a match hide something."""
    if not persons or spec.perfect_information:
        return Whole()
    if not view.hide:
        return Observations(spec, persons)
    mates = [s for s in range(spec.seats) if s not in persons and any(spec.together(s, p) for p in persons)]
    return Cut(persons, view.hide, mates)


def _shown(array: np.ndarray[Any, Any]) -> Any:  # noqa: ANN401
    return array.tolist() if array.size <= MOST_NUMBERS else f"{array.dtype}{list(array.shape)}"

"""Games that pages can play, with their parameters and what a click means."""

from __future__ import annotations

import functools

import msgspec

from ludus.flow.spec import ParamSpec
from ludus.games import registry
from ludus.games.registry import list_games
from ludus.games.views import View, view_of


class GameLine(msgspec.Struct, frozen=True):
    """A game in a list. ``view``: see :class:`ludus.games.views.View`."""

    name: str
    title: str
    meaning: str
    seats: int
    teams: tuple[int, ...]
    turn_based: bool
    perfect_information: bool
    heads: int
    params: tuple[ParamSpec, ...]
    view: View


@functools.lru_cache(maxsize=1)
def games() -> tuple[GameLine, ...]:
    """Return the compiled games of this installation; one that cannot be loaded is left out."""
    found = []
    for name in list_games():
        try:
            if registry.is_python(name):
                continue
            spec, view = registry.spec(name, {}), view_of(name) or View("document")
        except ValueError:
            continue
        found.append(
            GameLine(
                name=spec.name,
                title=spec.title,
                meaning=spec.meaning,
                seats=spec.seats,
                teams=spec.teams,
                turn_based=spec.turn_based,
                perfect_information=spec.perfect_information,
                heads=len(spec.heads),
                params=spec.params,
                view=view,
            )
        )
    return tuple(found)

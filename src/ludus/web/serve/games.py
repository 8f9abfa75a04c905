"""Games that pages can play, with their parameters and what a click means."""

from __future__ import annotations

import functools

import msgspec

from ludus.flow.inputs.shown import visible
from ludus.flow.spec import ParamSpec
from ludus.games import registry
from ludus.games.endings import side_names
from ludus.games.registry import list_games
from ludus.games.views import View, view_of
from ludus.storage.errors import StorageError
from ludus.web.serve.library import Library

MOST_NAME = 200


class GameLine(msgspec.Struct, frozen=True):
    """A game in a list.

    ``view``: see :class:`ludus.games.views.View`. ``sides``: colour of each seat.
    """

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
    sides: tuple[str, ...] = ()


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
                sides=side_names(view, spec.seats),
            )
        )
    return tuple(found)


def title_of(name: str) -> str:
    """Return the title of a game for people; its name where pages know no title."""
    return next((line.title for line in games() if line.name == name), visible(name[:MOST_NAME]))


def seats_of(name: str) -> int:
    """Return the number of seats of a game that pages play, 0 of others."""
    return next((line.seats for line in games() if line.name == name), 0)


def is_playable(name: str) -> bool:
    """Whether pages play a game: it is compiled, and installed here."""
    return any(line.name == name for line in games())


def game_of_newest_run(library: Library) -> str:
    """Return the game of the newest run of a folder that pages can play, or an empty text."""
    found: list[tuple[str, str]] = []
    for run in library.runs().values():
        try:
            info = run.directory.info()
        except (ValueError, OSError, StorageError):
            continue
        found.append((info.started, info.game))
    return next((game for _, game in sorted(found, reverse=True) if is_playable(game)), "")

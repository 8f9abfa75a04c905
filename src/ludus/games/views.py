"""Views: the renderer of each game's matches, declared here or by the game's package.

    [project.entry-points."ludus.views"]
    my_game = "ludus.games.views:BOARD"

The name is the game's; the object a :class:`View`. A renderer needs certain fields in the view documents that
the game writes (``view()``). A game without a declaration is drawn as a map if its documents have the fields
of a map, and shown as text otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ludus.flow.extensions import Extensions
from ludus.flow.names import did_you_mean

#: The renderers of the pages, with the required fields of a view document. All need the integer ``tick``.
RENDERERS: Mapping[str, str] = {
    "map": "map and units: ludus/web/rts/document.py describes them",
    "board": "width, height and cells[width * height]: a seat, -1 empty, -2 a wall, -3 something to take",
    "noughts": "cells[9]: 0 a cross, 1 a nought, -1 empty",
    "arena": "size, board[size][size], agents, bombs and flames",
    "document": "anything: the document is shown as text",
}
_FASTEST = 1000.0


class View(msgspec.Struct, frozen=True):
    """Presentation of a game's matches. ``renderer``: one of :data:`RENDERERS`.

    ``ticks_per_s``: ticks per second at speed 1; 0: one in turn-based games, 50 in others.
    """

    renderer: str
    ticks_per_s: float = 0.0


MAP, BOARD, NOUGHTS, DOCUMENT = View("map"), View("board"), View("noughts"), View("document")

_BUILT_IN: Mapping[str, View | str] = {
    **dict.fromkeys(("minirts", "capture_the_flag", "tower_defense", "rts"), MAP),
    **dict.fromkeys(("connect_four", "gomoku", "go"), BOARD),
    "tic_tac_toe": NOUGHTS,
    "pommerman": View("arena", ticks_per_s=6.0),
    **dict.fromkeys(("matrix", "kuhn_poker", "leduc_poker"), View("document", ticks_per_s=1.0)),
}


def _checked(value: object) -> View:
    if not isinstance(value, View):
        raise ValueError(f"is {type(value).__name__}, expected a ludus.games.views.View")
    if value.renderer not in RENDERERS:
        hint = did_you_mean(value.renderer, RENDERERS, "renderers")
        raise ValueError(f"has the unknown renderer {value.renderer!r}{hint}")
    if not 0.0 <= value.ticks_per_s <= _FASTEST:
        raise ValueError(f"has ticks_per_s = {value.ticks_per_s}, expected 0 to {_FASTEST:g}")
    return value


_VIEWS: Extensions[View] = Extensions("ludus.views", "view", _BUILT_IN, _checked)


def register_view(game: str, view: View | str) -> None:
    """Declare how matches of ``game`` are drawn: a view, or ``module:attribute``, imported when needed.

    Raises:
        ExtensionError: A ``ValueError``: a game that comes with Ludus, or something that is no view.
    """
    _VIEWS.register(game, view)


def view_of(game: str) -> View | None:
    """Return the view of a game, or None. Raises ``ExtensionError`` if its package is broken."""
    return _VIEWS.find(game)

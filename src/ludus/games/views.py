"""Views: the renderer of each game's matches, declared here or by the game's package.

    [project.entry-points."ludus.views"]
    my_game = "ludus.games.views:BOARD"

The name is the game's; the object a :class:`View`. A renderer needs certain fields in the view documents that
the game writes (``view()``). A game without a declaration is drawn as a map if its documents have the fields
of a map, and shown as text otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import msgspec

from ludus.flow.names import did_you_mean
from ludus.flow.process.extensions import Extensions

#: The renderers of the pages, with the required fields of a view document. All need the integer ``tick``.
RENDERERS: Mapping[str, str] = {
    "map": "map and units: ludus/web/rts/document.py describes them",
    "board": "width, height and cells[width * height]: a seat, -1 empty, -2 a wall, -3 something to take",
    "noughts": "cells[9]: 0 a cross, 1 a nought, -1 empty",
    "arena": "size, board[size][size], agents, bombs and flames",
    "cards": "cards[seats and then the table], and choices[] or rounds[][] of bets",
    "table": "rows, columns, payoff[rows * columns] and actions[2]",
    "frames": "kind and data: an image file (picture) or a text (text) in base64, or nothing new (same)",
    "document": "anything: the document is shown as text",
}
_FASTEST = 1000.0

#: How a person gives a decision, with what the first head of the game has to be.
INPUTS: Mapping[str, str] = {
    "cells": "a choice is a cell, row by row; further choices are buttons (pass)",
    "columns": "a choice is a column, from the left",
    "keys": "a key gives a choice: games in real time, with `keys`",
    "choices": "a button and a digit key for every choice: any game with one head of at most 64 choices",
    "units": "units are ordered with the mouse where the game has heads for them; as `choices` otherwise",
    "none": "no one plays this game on a page",
}
#: Where the pieces of a board stand.
LINES: Mapping[str, str] = {"cells": "in the cells", "crossings": "where two lines cross"}
#: The names of the cells of a board, which are the names of the moves.
COORDINATES: Mapping[str, str] = {
    "": "none",
    "go": "A1, B2, J9: letters without I, rows from below",
    "chess": "A1, B2, I9: letters with I, rows from below",
    "columns": "1, 2, 3: the columns, from the left",
}
#: The parts of a view document that a page cuts for the viewer at one seat.
CUTS: Mapping[str, str] = {
    "": "nothing: without perfect information a person gets observations in place of documents",
    "map": "a map's cells that the seat does not see",
    "arena": "an arena's cells beyond the seat's sight",
    "cards": "the cards of other seats",
    "choices": "the choices of other seats in a table, until all have chosen",
}
_CUT_OF_A_GAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_SUFFIX = re.compile(r"\.[a-z0-9]{1,12}")
_MOST_KEYS = 64
_LONGEST_KEY = 32
_MOST_CHOICES = 1 << 16


class View(msgspec.Struct, frozen=True):
    """Presentation of a game's matches, and how a person plays them.

    ``renderer``: one of :data:`RENDERERS`.
    ``ticks_per_s``: ticks per second at speed 1; 0: one in turn-based games, 50 in others.
    ``input``: one of :data:`INPUTS`; ``keys``: pairs of a key, as ``KeyboardEvent.key`` names it in
    JavaScript, and a choice of the first head (``("ArrowUp", 1), (" ", 5)``).
    ``lines`` and ``coordinates``, of boards: one of :data:`LINES` and :data:`COORDINATES`.
    ``hide``: one of :data:`CUTS`, or ``module:function`` that takes a document and a seat and returns the
    document that this seat may see.
    ``labels``: names of the cards by number, of the renderer ``cards``.
    ``ownership``: ``module:function`` that takes a match and a number of random continuations, and returns
    the expected owner of each cell, from +1 (seat 0) to -1 (seat 1).
    ``record``: ``module:function`` that takes the bytes of a replay and returns it in the game's own file
    format (SGF); ``record_suffix``: the ending of such files, with its dot.
    ``turned``: whether a side whose base stands at the right names places turned by half a turn.
    ``sides``: names of the seats (``Black``); empty: they have none.
    ``persons``: names and values of parameters of a match with a person, where nothing asks for others.
    """

    renderer: str
    ticks_per_s: float = 0.0
    input: str = "choices"
    keys: tuple[tuple[str, int], ...] = ()
    lines: str = "cells"
    coordinates: str = ""
    hide: str = ""
    labels: tuple[str, ...] = ()
    ownership: str = ""
    record: str = ""
    record_suffix: str = ""
    turned: bool = False
    sides: tuple[str, ...] = ()
    persons: tuple[tuple[str, str], ...] = ()


MAP = View("map", input="units", hide="map")
_UNITS = View("map", input="units", hide="map", persons=(("commands", "units"),))
BOARD = View("board")
NOUGHTS = View("noughts", input="cells", coordinates="chess")
_ARROWS = (("ArrowUp", 1), ("ArrowDown", 2), ("ArrowLeft", 3), ("ArrowRight", 4), (" ", 5))

_BUILT_IN: Mapping[str, View | str] = {
    **dict.fromkeys(("minirts", "capture_the_flag", "rts"), _UNITS),
    "moba": View("map", input="units", hide="map", turned=True),
    "tower_defense": View("map", input="units"),
    "connect_four": View("board", input="columns", coordinates="columns"),
    "go": View(
        "board",
        input="cells",
        lines="crossings",
        coordinates="go",
        ownership="ludus.games.go:ownership",
        record="ludus.games.records.go_match:sgf_of",
        record_suffix=".sgf",
        sides=("Black", "White"),
    ),
    "gomoku": View("board", input="cells", lines="crossings", coordinates="chess"),
    "tic_tac_toe": NOUGHTS,
    "pommerman": View("arena", ticks_per_s=6.0, input="keys", keys=_ARROWS, hide="arena"),
    "matrix": View("table", ticks_per_s=1.0, hide="choices"),
    "kuhn_poker": View("cards", ticks_per_s=1.0, hide="cards", labels=("J", "Q", "K")),
    "leduc_poker": View("cards", ticks_per_s=1.0, hide="cards", labels=("J♠", "J♥", "Q♠", "Q♥", "K♠", "K♥")),
}


def _checked(value: object) -> View:
    if not isinstance(value, View):
        raise ValueError(f"is {type(value).__name__}, expected a ludus.games.views.View")
    named: tuple[tuple[str, object, Mapping[str, str]], ...] = (
        ("renderer", value.renderer, RENDERERS),
        ("input", value.input, INPUTS),
        ("lines", value.lines, LINES),
        ("coordinates", value.coordinates, COORDINATES),
    )
    for name, word, words in named:
        if not isinstance(word, str) or word not in words:
            hint = did_you_mean(str(word), words, f"{name}s" if name != "lines" else "kinds of lines")
            raise ValueError(f"has the unknown {name} {word!r}{hint}")
    if not 0.0 <= value.ticks_per_s <= _FASTEST:
        raise ValueError(f"has ticks_per_s = {value.ticks_per_s}, expected 0 to {_FASTEST:g}")
    if value.hide not in CUTS and not _CUT_OF_A_GAME.fullmatch(value.hide):
        hint = did_you_mean(value.hide, CUTS, "cuts")
        raise ValueError(f"has hide = {value.hide!r}, expected a cut or module:function{hint}")
    for name, function in (("ownership", value.ownership), ("record", value.record)):
        if function and not _CUT_OF_A_GAME.fullmatch(function):
            raise ValueError(f"has {name} = {function!r}, expected module:function")
    if bool(value.record) != bool(_SUFFIX.fullmatch(value.record_suffix)):
        raise ValueError("has record or record_suffix, expected both: module:function and '.sgf'")
    if len(value.labels) > _MOST_CHOICES or not all(isinstance(label, str) for label in value.labels):
        raise ValueError(f"has labels that are not at most {_MOST_CHOICES} texts")
    _check_keys(value)
    return value


def _check_keys(view: View) -> None:
    if len(view.keys) > _MOST_KEYS:
        raise ValueError(f"has {len(view.keys)} keys, expected at most {_MOST_KEYS}")
    pairs: tuple[object, ...] = view.keys  # of a package: any object
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ValueError(f"has keys with {pair!r}, expected pairs of a key and a choice")
        key, choice = pair
        if not isinstance(key, str) or not 1 <= len(key) <= _LONGEST_KEY:
            raise ValueError(f"has the key {key!r}, expected a KeyboardEvent.key such as 'ArrowUp'")
        if not isinstance(choice, int) or not 0 <= choice < _MOST_CHOICES:
            raise ValueError(
                f"has the choice {choice!r} for the key {key!r}, expected 0 to {_MOST_CHOICES - 1}"
            )
    if len({key for key, _ in view.keys}) != len(view.keys):
        raise ValueError("has a key twice in keys")
    if view.input == "keys" and not view.keys:
        raise ValueError("has input = 'keys' without keys")


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


def function_of(reference: str) -> Callable[..., Any]:
    """Return the ``module:function`` of a view. Raises ``ValueError`` if there is none."""
    module, _, name = reference.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{reference}: {error}") from error
    if not callable(found):
        raise ValueError(f"{reference}: is {type(found).__name__}, expected a function")
    function: Callable[..., Any] = found
    return function

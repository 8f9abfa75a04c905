"""Trained players of the package for pages: which games they play, from easy to hard, and their seats."""

from __future__ import annotations

import functools
from importlib.util import find_spec

import msgspec

from ludus.flow.inputs.decode import from_json
from ludus.flow.inputs.shown import visible
from ludus.flow.weights import WeightsMeta
from ludus.games.views import view_of
from ludus.storage import zoo
from ludus.storage.errors import StorageError
from ludus.storage.tensors import META_KEY
from ludus.web.serve.games import is_playable

BOARD = "board"
_NEEDED = ("torch", "safetensors")


class ZooLine(msgspec.Struct, frozen=True):
    """A trained player in a list.

    Attributes:
        name: Name that a match takes: ``zoo:NAME``.
        title: What plays, in a few words.
        level: 1 easy to 3 hard; ``word``: the same as a word.
        word: See ``level``.
        strength: How strong it is, for people.
        params: Parameters of the game that it plays under.
    """

    name: str
    title: str
    level: int
    word: str
    strength: str
    params: dict[str, str]


def zoo_lines() -> dict[str, list[ZooLine]]:
    """Return the players of each game that pages play, from easy to hard; empty without their libraries."""
    found: dict[str, list[ZooLine]] = {}
    if any(find_spec(name) is None for name in _NEEDED):
        return found
    try:
        cards = zoo.by_level()
    except StorageError:
        return found  # ludus zoo list reports it
    for name, card in cards:
        try:
            path = zoo.path_of(name)
            params = _params(str(path), path.stat().st_mtime_ns)
        except (OSError, ValueError, StorageError):
            continue  # ludus zoo check reports it
        if is_playable(card.game):
            line = ZooLine(
                f"{zoo.ZOO}{name}",
                visible(card.title),
                card.level,
                zoo.LEVELS[card.level],
                visible(card.strength),
                params,
            )
            found.setdefault(card.game, []).append(line)
    return found


def first_game(lines: dict[str, list[ZooLine]]) -> str:
    """Return the game that a set-up starts with where nothing else decides; empty without players.

    A game on a board comes first: it is known to most people, and a click plays it.
    """
    boards = (
        game for game in sorted(lines) if (view := view_of(game)) is not None and view.renderer == BOARD
    )
    return next(boards, "") or next(iter(lines), "")


@functools.lru_cache(maxsize=64)
def _params(path: str, changed: int) -> dict[str, str]:
    """Return the parameters of the game that weights were trained on, without loading torch."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        header: dict[str, str] = file.metadata() or {}
    meta = from_json(header[META_KEY], WeightsMeta)
    provenance = getattr(meta, "provenance", msgspec.UNSET)
    return {} if provenance is msgspec.UNSET else dict(provenance.params)

"""The explanation of a game for a page, bounded: a game of a package may declare texts of any size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from ludus.flow.inputs.shown import visible
from ludus.games.guides.guide import Guide
from ludus.games.guides.lookup import guide_of

MOST_TEXT = 2000  # characters of one text
MOST_TEXTS = 4096  # entries of one list or table


def guide_for(game: str, params: Mapping[str, Any]) -> Guide | None:
    """Return the explanation of a game; None where it has none, or a broken one."""
    try:
        return bounded(guide_of(game, params))
    except (ValueError, TypeError, OSError):
        return None


def bounded(guide: Guide) -> Guide:
    """Return an explanation with texts of at most :data:`MOST_TEXT` characters."""
    return msgspec.convert(_cut(msgspec.to_builtins(guide)), Guide)


def _cut(value: object) -> object:
    if isinstance(value, str):
        return visible(value[:MOST_TEXT])
    if isinstance(value, dict):
        pairs = list(cast("dict[object, object]", value).items())[:MOST_TEXTS]
        return {name[:MOST_TEXT] if isinstance(name, str) else name: _cut(inner) for name, inner in pairs}
    if isinstance(value, (list, tuple)):
        return [_cut(inner) for inner in value[:MOST_TEXTS]]
    return value

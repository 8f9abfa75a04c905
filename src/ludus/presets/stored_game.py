"""The game of a run's configuration, for any method that trained the run."""

from __future__ import annotations

from functools import lru_cache
from typing import cast

import msgspec
import msgspec.inspect as mi

from ludus.presets import schema
from ludus.presets.config import GameConfig
from ludus.presets.document import Document
from ludus.presets.file import PresetError, preset_document


class _GameOnly(msgspec.Struct, frozen=True):
    """The part of a run's configuration that playing its weights needs."""

    game: GameConfig


def parse_game(raw: bytes, source: str) -> GameConfig:
    """Return the game of a run's configuration; the rest may be of a method that is not installed.

    Raises:
        PresetError: The bytes are no configuration, or its game is wrong.
    """
    document = preset_document(raw, source)
    kind = _game_type()
    assert isinstance(kind, mi.StructType)
    game: Document = {"game": document["game"]} if "game" in document else {}
    game = cast(Document, schema.canonical(game, kind))
    if problems := [problem.within(source) for problem in schema.check(game, kind)]:
        raise PresetError(*problems)
    return msgspec.convert(game, _GameOnly).game


@lru_cache(maxsize=1)
def _game_type() -> mi.Type:
    return mi.type_info(_GameOnly)

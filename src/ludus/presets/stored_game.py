"""The game of a run's configuration, for any method that trained the run."""

from __future__ import annotations

from typing import cast

import msgspec
import msgspec.inspect as mi

from ludus.flow.decode import TextError, TomlError, from_toml, text_of
from ludus.presets import schema
from ludus.presets.config import GameConfig
from ludus.presets.document import Document
from ludus.presets.file import MAX_BYTES, PresetError


class _GameOnly(msgspec.Struct, frozen=True):
    """The part of a run's configuration that playing its weights needs."""

    game: GameConfig


def parse_game(raw: bytes, source: str) -> GameConfig:
    """Return the game of a run's configuration; the rest may be of a method that is not installed.

    Raises:
        PresetError: The bytes are no configuration, or its game is wrong.
    """
    if len(raw) > MAX_BYTES:
        raise PresetError([f"{source}: larger than {MAX_BYTES} bytes; expected a preset file"])
    try:
        document: Document = from_toml(text_of(raw))
    except TextError as error:
        raise PresetError([f"{source}: {error}"]) from None
    except TomlError as error:
        raise PresetError([f"{source}: not valid TOML: {error}"]) from None
    kind = mi.type_info(_GameOnly)
    assert isinstance(kind, mi.StructType)
    game: Document = {"game": document["game"]} if "game" in document else {}
    game = cast(Document, schema.with_integers(game, kind))
    if lines := [f"{source}: {problem.text}" for problem in schema.check(game, kind)]:
        raise PresetError(lines)
    return msgspec.convert(game, _GameOnly).game

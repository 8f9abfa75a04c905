"""The games that this installation can play."""

from __future__ import annotations

from collections.abc import Mapping

from ludus.flow.spec import GameSpec, decode_spec
from ludus.native import core


def list_games() -> list[str]:
    """Names of all games, built-in ones first, in a fixed order."""
    return list(core.game_names())


def spec(name: str, params: Mapping[str, str] | None = None) -> GameSpec:
    """What game ``name`` declares under ``params`` (text values, as presets hold them).

    Raises ``ParamError`` (a ``ValueError``) on an unknown game, parameter or value, naming the nearest valid
    one.
    """
    return decode_spec(core.spec_json(name, dict(params or {})))

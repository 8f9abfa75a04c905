"""Hyper-parameters by path: settings of a preset that a league's population changes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeGuard

import msgspec

from ludus.games import spec
from ludus.presets import schema
from ludus.presets.config import ParamValue, Preset

ALGORITHM, PARAMS = "algorithm.", "game.params."


def tunable_defaults(preset: Preset) -> dict[str, float]:
    """Return the numbers of the preset that a population may change, with the game's default parameters."""
    found = {
        ALGORITHM + name: float(value)
        for name, value in msgspec.to_builtins(preset.algorithm).items()
        if _is_number(value)
    }
    declared = spec(preset.game.name, preset.game.params)
    for param in declared.params:
        number = preset.game.params.get(param.name, schema.number(param.default_value))
        if param.kind != "text" and _is_number(number):
            found[PARAMS + param.name] = float(number)
    return found


def with_hyper(preset: Preset, hyper: Mapping[str, float]) -> Preset:
    """Return the preset with these settings.

    Args:
        preset: The preset.
        hyper: Path -> value. Paths outside of ``algorithm`` and ``game.params`` belong to the league.
    """
    algorithm: dict[str, float] = {}
    params: dict[str, ParamValue] = {}
    for path, value in hyper.items():
        if path.startswith(ALGORITHM):
            name = path.removeprefix(ALGORITHM)
            algorithm[name] = round(value) if isinstance(getattr(preset.algorithm, name), int) else value
        elif path.startswith(PARAMS):
            params[path.removeprefix(PARAMS)] = value
    if algorithm:
        changed = msgspec.structs.replace(preset.algorithm, **algorithm)
        preset = msgspec.structs.replace(preset, algorithm=changed)
    if params:
        texts = _params(preset, params)
        game = msgspec.structs.replace(preset.game, params={**preset.game.params, **texts})
        preset = msgspec.structs.replace(preset, game=game)
    return preset


def _params(preset: Preset, values: Mapping[str, ParamValue]) -> dict[str, ParamValue]:
    kinds = {p.name: p.kind for p in spec(preset.game.name, preset.game.params).params}
    return {n: round(float(v)) if kinds.get(n) == "integer" else v for n, v in values.items()}


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)

"""Settings of a preset by path, as a league's population changes them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from ludus.games import spec
from ludus.presets.config import ParamValue, Preset
from ludus.presets.game_checks import effective_params

ALGORITHM, PARAMS = "algorithm.", "game.params."


def tunable_defaults(preset: Preset) -> dict[str, float]:
    """The numbers of the preset that a population may change, game parameters by default included."""
    found = {
        ALGORITHM + name: float(value)
        for name, value in msgspec.to_builtins(preset.algorithm).items()
        if _is_number(value)
    }
    declared = spec(preset.game.name, preset.game.params)
    for name, value in effective_params(declared, preset).items():
        if _is_number(value):
            found[PARAMS + name] = float(value)
    return found


def with_hyper(preset: Preset, hyper: Mapping[str, float]) -> Preset:
    """The preset with these settings. Paths outside of ``algorithm`` and ``game.params`` are the league's."""
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


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)

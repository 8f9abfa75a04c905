"""A run's copy of its teacher: ``algorithm.teacher`` may name weights that change or go."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ludus.algorithms.config import AdvantageConfig, ImitationConfig
from ludus.games.names import is_bot_file
from ludus.mcts.text import SUFFIX
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.storage import RunDirectory, StorageError, is_reference, resolve_weights


def teacher_file(preset: Preset) -> Path | None:
    """The file that ``algorithm.teacher`` means now, None without one. Raises ``ConfigError``."""
    algorithm = preset.algorithm
    if not isinstance(algorithm, AdvantageConfig | ImitationConfig):
        return None
    weights, _ = _weights(algorithm)
    if not weights:
        return None
    if preset.run.lag == "async" and preset.run.over_lag == "drop":
        raise ConfigError('run.over_lag = "drop": expected "wait" where a teacher sees every slab')
    if preset.run.topology == "one_to_one":
        raise ConfigError('run.topology = "one_to_one": expected "many_to_one" where there is a teacher')
    try:
        return resolve_weights(weights).resolve()
    except StorageError as error:
        raise ConfigError(f'algorithm.teacher = "{algorithm.teacher}": {error}') from error


def resumed_teacher(preset: Preset, run: RunDirectory) -> Preset:
    """The preset of a run that goes on: its teacher is its own copy."""
    algorithm = preset.algorithm
    if not isinstance(algorithm, AdvantageConfig | ImitationConfig) or not run.teacher.is_file():
        return preset
    weights, search = _weights(algorithm)
    if not weights:
        return preset
    own = msgspec.structs.replace(algorithm, teacher=f"{run.teacher}{search}")
    return msgspec.structs.replace(preset, algorithm=own)


def _weights(algorithm: AdvantageConfig | ImitationConfig) -> tuple[str, str]:
    """The weights that a teacher is made of, "" if none, and how it searches with them."""
    text = algorithm.teacher
    if isinstance(algorithm, AdvantageConfig):
        return text, ""
    weights, plus, search = text.rpartition(SUFFIX) if SUFFIX in text else (text, "", "")
    return (weights, plus + search) if is_reference(weights) and not is_bot_file(text) else ("", "")

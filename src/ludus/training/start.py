"""Fine-tuning: a new run starts with the weights that ``run.start`` names.

Parameters and normalisers are taken; the optimiser and all counters start at zero.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ludus.algorithms.updates.parameters import load_tensors
from ludus.evaluation.weights import check_spec
from ludus.flow import Weights
from ludus.policies.config import PolicyConfig, decode_config
from ludus.policies.layers.residual import ResidualNetwork
from ludus.policies.network import PolicyNetwork
from ludus.policies.weights import WeightsError, load_weights
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.storage import StorageError, resolve_weights

if TYPE_CHECKING:
    from ludus.storage import RunDirectory


def start_file(preset: Preset) -> Path | None:
    """Return the weights file that ``run.start`` names, None without one. Raises ``ConfigError``."""
    if not preset.run.start:
        return None
    try:
        return resolve_weights(preset.run.start).resolve()
    except StorageError as error:
        raise ConfigError(error, where=f"{_setting(preset.run.start)}") from error


def resumed_start(preset: Preset, run: RunDirectory, from_scratch: bool) -> Preset:
    """Return the preset of a resumed run: ``run.start`` is its own copy, or empty after a checkpoint."""
    if not preset.run.start:
        return preset
    start = str(run.start) if from_scratch else ""
    return msgspec.structs.replace(preset, run=msgspec.structs.replace(preset.run, start=start))


def load_start(network: PolicyNetwork | ResidualNetwork, preset: Preset) -> None:
    """Load the weights of ``run.start``, if there are any, into a new run's network.

    Raises ``ConfigError`` where they cannot be read, or are of another spec or architecture.
    """
    text = preset.run.start
    if not text:
        return
    weights = _read(text)
    name = _setting(text)
    check_spec(weights.meta, network.spec, name, text)
    given, wanted = decode_config(weights.meta.architecture), decode_config(network.architecture)
    if given != wanted:
        raise ConfigError(f"{name}: {_difference(given, wanted)}")
    load_tensors(network, weights.tensors, "", name)


def _read(text: str) -> Weights:
    try:
        return load_weights(resolve_weights(text))
    except (WeightsError, StorageError, OSError) as error:
        raise ConfigError(error, where=f"{_setting(text)}") from error


def _setting(text: str) -> str:
    return f'run.start = "{text}"'


def _difference(given: PolicyConfig, wanted: PolicyConfig) -> str:
    """Return the first setting of the network in which weights and preset differ."""
    has, needs = msgspec.to_builtins(given), msgspec.to_builtins(wanted)
    key = next(k for k in needs if needs[k] != has.get(k))
    value, expected = (msgspec.json.encode(x.get(key)).decode() for x in (has, needs))
    return f"weights of a network with policy.{key} = {value}, expected {expected} as in the preset"

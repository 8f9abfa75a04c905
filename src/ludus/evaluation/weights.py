"""Networks of weights files, checked against a game."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec

from ludus.flow import GameSpec, Weights, WeightsMeta, decode_spec
from ludus.flow.inputs.shown import shell, shown
from ludus.flow.spec_difference import interface_difference
from ludus.policies.protocol import Network
from ludus.policies.weights import WeightsError, build_policy, load_weights
from ludus.presets import hardware
from ludus.presets.errors import ConfigError
from ludus.presets.weights_preset import preset_in
from ludus.storage import is_reference, resolve_weights
from ludus.storage.references import is_run

MOST_PARAMS = 6  # of a game, in a message


class Loaded(NamedTuple):
    """The network of a weights file. ``device``: its name for torch."""

    network: Network
    meta: WeightsMeta
    path: Path
    device: str


def load_network(reference: str, spec: GameSpec, device: str = "auto") -> Loaded:
    """Load weights that a person names as a network that acts on a device.

    Args:
        reference: ``RUN@best`` and the like, or a weights file.
        spec: The game.
        device: ``auto``, ``cpu`` or ``cuda``, as :func:`ludus.presets.hardware.device_of` reads it.

    Raises:
        ConfigError: Not weights, weights of another game, or no such device.
        StorageError: No such run, version or file.
    """
    where = hardware.device_of(device)
    path = resolve_weights(reference)
    try:
        weights = load_weights(path)
    except WeightsError as error:
        raise ConfigError(error) from error
    return Loaded(network_of(weights, spec, reference, where), weights.meta, path, where)


def network_of(weights: Weights, spec: GameSpec, name: str = "weights", device: str = "cpu") -> Network:
    """Return the network of ``weights``, for a game with the same observations and actions.

    Raises:
        ConfigError: Weights of another game, or of another version of its spec.
    """
    check_spec(weights.meta, spec, name)
    try:
        return build_policy(weights, device)
    except WeightsError as error:
        raise ConfigError(error, where=name) from error


def check_spec(meta: WeightsMeta, spec: GameSpec, name: str, source: str = "") -> None:
    """Check that the spec of ``meta`` has the observations and actions of ``spec``.

    Args:
        meta: Metadata of the weights.
        spec: The game.
        name: Name of the weights in messages.
        source: Their name on the command line, if it is another.

    Raises:
        ConfigError: It has different ones; the message names the first difference, and the command that
            converts the weights.
    """
    if meta.game != spec.name:
        raise ConfigError(f"{name}: weights of {meta.game}, expected weights of {spec.name}")
    theirs = decode_spec(meta.spec)
    if theirs.spec_hash == spec.spec_hash:
        return
    if theirs.version != spec.version:
        versions = f"version {theirs.version} of the rules of {spec.name}, this is version {spec.version}"
        text = f"made for {versions}"
    else:
        text = f"made for {spec.name} with other rules{_trained_under(meta)}"
    found = interface_difference(theirs, _as_played(spec, theirs))
    what = f": {found.place} is {_value(found.one)}, {_value(found.other)} here" if found is not None else ""
    convert = _conversion(meta, source or name, other_version=theirs.version != spec.version)
    raise ConfigError(f"{name}: {text}{what}; to convert the weights to these rules: {convert}")


def _conversion(meta: WeightsMeta, source: str, *, other_version: bool) -> str:
    """Return the command that converts weights to the rules as they are now."""
    folder, at, _ = source.rpartition("@")
    out = "-o NEW.safetensors"
    if is_run(source):
        folder, out = source, ""
    elif not is_reference(source):
        return f"ludus surgery WEIGHTS --to PRESET {out}"
    elif not at and other_version and preset_in(meta):  # surgery takes this preset by itself
        return f"ludus surgery {shell(source)} {out}"
    preset = shell(f"{folder}/config.toml") if other_version and is_run(folder) else "PRESET"
    return f"ludus surgery {shell(source)} --to {preset} {out}".rstrip()


def _as_played(spec: GameSpec, theirs: GameSpec) -> GameSpec:
    """Return the spec with version and seats of another, which are no difference to name: weights fit any."""
    return msgspec.structs.replace(
        spec,
        version=theirs.version,
        seats=theirs.seats,
        teams=theirs.teams,
        turn_based=theirs.turn_based,
    )


def _trained_under(meta: WeightsMeta) -> str:
    """Return the parameters that weights were trained under, as text in brackets; "" where none are known."""
    params = meta.provenance.params if meta.provenance is not msgspec.UNSET else {}
    few = ", ".join(f"{shown(name)} = {shown(value)}" for name, value in [*params.items()][:MOST_PARAMS])
    return f" (trained under {few})" if few else ""


def _value(value: object) -> str:
    return "none" if value is None else shown(str(value)) if not isinstance(value, str) else repr(value[:60])

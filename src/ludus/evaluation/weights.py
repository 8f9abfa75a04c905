"""Networks of weights files, checked against a game."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ludus.flow import GameSpec, Weights, WeightsMeta, decode_spec
from ludus.policies.protocol import Network
from ludus.policies.weights import WeightsError, build_policy, load_weights
from ludus.presets import hardware
from ludus.presets.errors import ConfigError
from ludus.storage import resolve_weights


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


def check_spec(meta: WeightsMeta, spec: GameSpec, name: str) -> None:
    """Check that the spec of ``meta`` has the observations and actions of ``spec``.

    Raises:
        ConfigError: It has different ones.
    """
    if meta.game != spec.name:
        raise ConfigError(f"{name}: weights of {meta.game}, expected weights of {spec.name}")
    theirs = decode_spec(meta.spec)
    if theirs.spec_hash != spec.spec_hash:
        labels = theirs.label_difference(spec)
        raise ConfigError(
            f"{name}: made for {meta.game} with spec {theirs.spec_hash} (version {theirs.version}), "
            f"this game has spec {spec.spec_hash} (version {spec.version})"
            + (f": {labels}" if labels else "")
        )

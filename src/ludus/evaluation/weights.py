"""Networks of weights files, checked against a game."""

from __future__ import annotations

from ludus.flow import GameSpec, Weights, WeightsMeta, decode_spec
from ludus.policies.protocol import Network
from ludus.policies.weights import WeightsError, build_policy
from ludus.presets.errors import ConfigError


def network_of(weights: Weights, spec: GameSpec, name: str = "weights", device: str = "cpu") -> Network:
    """Return the network of ``weights``, for a game with the same observations and actions.

    Raises:
        ConfigError: Weights of another game, or of another version of its spec.
    """
    check_spec(weights.meta, spec, name)
    try:
        return build_policy(weights, device)
    except WeightsError as error:
        raise ConfigError(f"{name}: {error}") from error


def check_spec(meta: WeightsMeta, spec: GameSpec, name: str) -> None:
    """Check that the spec of ``meta`` has the observations and actions of ``spec``.

    Raises:
        ConfigError: It has others.
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

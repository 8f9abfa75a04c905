"""Construction of the network of a configuration. Each kind of network is one line of the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ludus.flow import GameSpec
from ludus.policies.config import EncoderConfig, PolicyConfig, ResnetConfig
from ludus.policies.layers.residual import ResidualNetwork
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network

_NETWORKS: Mapping[type[PolicyConfig], Callable[[Any, GameSpec, int | None, str], Network]] = {
    EncoderConfig: PolicyNetwork,
    ResnetConfig: ResidualNetwork,
}


def build_network(
    config: PolicyConfig, spec: GameSpec, seed: int | None = 0, precision: str = "float32"
) -> Network:
    """Return a network with initial weights. Raise ``ValueError`` if configuration and spec do not match."""
    return _NETWORKS[type(config)](config, spec, seed, precision)

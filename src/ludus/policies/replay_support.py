"""Which networks run as programs on an accelerator: those without a shape that depends on data."""

from __future__ import annotations

from ludus.codecs.forms import is_static
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network


def use_static(network: Network) -> None:
    """Switch a network to its static forms, whatever its device."""
    if isinstance(network, PolicyNetwork):
        network.static = True


def why_acting_is_eager(network: Network) -> str:
    """Return why decisions of a network are computed operation by operation; "" if they are one program."""
    if isinstance(network, PolicyNetwork) and network.own is not None:
        return "an encoder of the user"
    if not all(map(is_static, network.inputs)):
        return "a codec without a static form"
    return ""


def why_learning_is_eager(network: PolicyNetwork) -> str:
    """Return why passes over a slab are computed operation by operation; "" if they are programs."""
    if why := why_acting_is_eager(network):
        return why
    if network.epsilon is not None:
        return "Q-values"
    return ""

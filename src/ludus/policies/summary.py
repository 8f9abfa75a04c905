"""Summary of a network: inputs, parts, shapes, numbers of parameters, arithmetic of a decision."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import torch
from torch import nn

from ludus.codecs.registry import layout_of
from ludus.flow import GameSpec
from ludus.policies.actions.autoregressive import AutoregressiveHeads, Head
from ludus.policies.config import PolicyConfig
from ludus.policies.encoder import Encoder
from ludus.policies.factory import build_network
from ludus.policies.layers.residual import ResidualNetwork
from ludus.policies.layers.torso import Planes, Residual, after_convolution
from ludus.policies.network import PolicyNetwork

MAX_PARAMETERS = 1 << 30


class InputSummary(msgspec.Struct, frozen=True):
    """An observation as the network reads it. ``kind``: planes, rows or vector; ``shape``: of one row."""

    name: str
    kind: str
    shape: tuple[int, ...]


class PartSummary(msgspec.Struct, frozen=True):
    """A layer. ``shapes``: of its parameters, in their order; ``parameters``: their total count."""

    name: str
    kind: str
    shapes: tuple[tuple[int, ...], ...]
    parameters: int


class NetworkSummary(msgspec.Struct, frozen=True):
    """A network. ``statistics``: stored numbers that gradients do not learn."""

    parameters: int
    statistics: int
    inputs: tuple[InputSummary, ...]
    parts: tuple[PartSummary, ...]


def summary_of(config: PolicyConfig, spec: GameSpec) -> NetworkSummary:
    """Return the summary of the network that ``config`` makes for a game. Nothing of its size is allocated.

    Raises:
        ValueError: Configuration and spec do not match.
    """
    with torch.device("meta"):
        network = build_network(config, spec, seed=None)
    assert isinstance(network, nn.Module)
    inputs = tuple(InputSummary(t.name, u.kind, u.shape) for t in network.inputs for u in (layout_of(t),))
    parts = tuple(_parts(network))
    statistics = sum(b.numel() for b in network.buffers())
    return NetworkSummary(sum(p.parameters for p in parts), statistics, inputs, parts)


def check_size(config: PolicyConfig, spec: GameSpec) -> None:
    """Raise ``ValueError`` for a network that is far too large, before anything is allocated.

    A network that does not fit the game is left to its constructor, whose message names the setting.
    """
    try:
        parameters = summary_of(config, spec).parameters
    except ValueError:
        return
    except (RuntimeError, OverflowError) as error:  # more bytes than torch can count
        raise ValueError(f"a network that cannot be made ({error})") from error
    if parameters > MAX_PARAMETERS:
        raise ValueError(
            f"a network of {parameters:,} parameters; expected at most {MAX_PARAMETERS:,}; "
            "make its layers narrower"
        )


def _parts(network: nn.Module) -> Iterator[PartSummary]:
    for name, module in network.named_modules():
        shapes = tuple(tuple(p.shape) for p in module.parameters(recurse=False))
        if shapes:
            yield PartSummary(name, type(module).__name__, shapes, sum(math.prod(s) for s in shapes))


class ForwardCost(NamedTuple):
    """Cost of the forward pass for one decision. An absent entity row costs as much as a present one."""

    multiply_adds: int  # of linear layers and convolutions
    outputs: int  # numbers that these layers give


def forward_cost(config: PolicyConfig, spec: GameSpec) -> ForwardCost:
    """Return the cost of the network that ``config`` makes for a game. Nothing of its size is allocated.

    A layer of an encoder of the user's counts as if each decision used it once.

    Raises:
        ValueError: Configuration and spec do not match.
    """
    with torch.device("meta"):
        network = build_network(config, spec, seed=None)
    assert isinstance(network, nn.Module)
    uses = _uses(network)
    multiply_adds = outputs = 0
    for module in network.modules():
        if isinstance(module, nn.Linear | nn.Conv2d):
            times = uses.get(id(module), 1)
            multiply_adds += times * module.weight.numel()
            outputs += times * len(module.weight)
    return ForwardCost(multiply_adds, outputs)


def _uses(network: nn.Module) -> dict[int, int]:
    """Return how often one decision uses a layer, by its ``id``; 1 for those that are missing."""
    uses: dict[int, int] = {}
    if isinstance(network, ResidualNetwork):
        cells = network.height * network.width
        return {id(m): cells for m in network.modules() if isinstance(m, nn.Conv2d)}
    if isinstance(network, PolicyNetwork):
        uses |= _uses_of_encoder(network, 1)
        if network.critic is not None:
            alone = network.critic.recurrent is not None  # others' memories come from their own rows
            uses |= _uses_of_encoder(network.critic, 1 if alone else 1 + network.critic.seats)
            if network.critic.together is not None:
                uses |= {id(m): 1 for m in network.critic.together.modules()}
        if isinstance(network.policy_head, AutoregressiveHeads):
            for head in network.policy_head.modules():
                if isinstance(head, Head) and head.key is not None:
                    at_rows = network.layouts[head.spec.points_at].kind == "rows"
                    uses[id(head.key)] = head.spec.rows if at_rows else 1
    return uses


def _uses_of_encoder(encoder: Encoder, seats: int) -> dict[int, int]:
    """Return how often the layers of an encoder are used that sees ``seats`` observations."""
    parts = (encoder.own, encoder.dense, encoder.join)
    own = (module for part in parts if part is not None for module in part.modules())
    uses = {id(module): seats for module in own}
    for torso in encoder.planes.values():
        assert isinstance(torso, Planes | Residual)
        uses |= {id(layer): seats * cells for layer, cells in _cells(torso)}
    for name, rows in encoder.rows.items():
        uses |= {id(module): seats * encoder.layouts[name].shape[0] for module in rows.modules()}
    return uses


def _cells(torso: Planes | Residual) -> Iterator[tuple[nn.Module, int]]:
    """Yield each convolution of a torso with the number of cells of its output."""
    height, width = torso.shape[1:]
    if isinstance(torso, Planes) and torso.near is not None:
        height, width = (part.stop - part.start for part in torso.near)
    for k, layer in enumerate(torso.convolutions):
        assert isinstance(layer, nn.Conv2d)
        if isinstance(torso, Planes):
            padding = 0 if torso.near is not None else int(layer.padding[0])
            shape = layer.kernel_size[0], layer.stride[0], padding
            height, width = after_convolution(height, *shape), after_convolution(width, *shape)
        yield layer, height * width
        if isinstance(torso, Residual) and k % 5 == 0:  # the maximum behind the first convolution of a stage
            shape = 3, torso.strides[k // 5], 1
            height, width = after_convolution(height, *shape), after_convolution(width, *shape)


def summary_lines(summary: NetworkSummary) -> list[str]:
    """Return the summary as lines of aligned columns."""

    def shape(sizes: tuple[int, ...]) -> str:
        return "x".join(str(n) for n in sizes)

    rows = [(p.name, p.kind, shape(p.shapes[0]), f"{p.parameters:,}") for p in summary.parts]
    wide = [max(len(row[k]) for row in rows) for k in range(4)]
    lines = [f"network: {summary.parameters:,} parameters, {summary.statistics:,} stored statistics"]
    lines += [f"  reads {i.name}: {i.kind} {shape(i.shape)}" for i in summary.inputs]
    for name, kind, first, count in rows:
        lines.append(f"  {name:<{wide[0]}}  {kind:<{wide[1]}}  {first:<{wide[2]}}  {count:>{wide[3]}}")
    return lines

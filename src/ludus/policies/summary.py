"""Summary of a network: inputs, parts, shapes, numbers of parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec
import torch
from torch import nn

from ludus.codecs.registry import layout_of
from ludus.flow import GameSpec
from ludus.policies.config import PolicyConfig
from ludus.policies.factory import build_network

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
    """A network. ``statistics``: numbers that are stored and not learned by gradients."""

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

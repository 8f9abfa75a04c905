"""The document in an export: what a program needs to feed it and to read its outputs, as JSON.

It stands in the model's ``metadata_props`` under :data:`KEY`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ludus.export.check import TOLERANCE, Compared
from ludus.export.graph import DEVIATION, MEAN, PROBABILITIES, Q_VALUES, PolicyGraph
from ludus.export.names import CHOICES, MASK, MEMORY, VALUE
from ludus.flow import TensorSpec, WeightsMeta
from ludus.flow.spec import HeadSpec
from ludus.policies.actions.coordinates import choice_labels, column_labels
from ludus.version import __version__

#: Property of the model that holds the document.
KEY = "ludus"
FORMAT = "ludus-onnx-1"

_MEANINGS = {
    PROBABILITIES: "probability of each choice; 0 where illegal",
    Q_VALUES: "value of each choice; -infinity where illegal",
    MEAN: "mean of u; its most probable value",
    DEVIATION: "standard deviation of u",
    CHOICES: "the choices: those given, and the most probable ones in place of -1",
    VALUE: "expected return of the seat, in the game's units",
    MEMORY: "memory for the next decision of the same match",
}


class GraphInput(msgspec.Struct, frozen=True, omit_defaults=True):
    """An input of the graph. ``shape`` starts with N, the rows of a batch.

    ``role``: ``observation``, ``mask``, ``memory`` or ``choices``. Of an observation, ``tensor`` is its name
    in the game, ``kind`` its layout, and ``labels`` name its planes, its numbers or the numbers of a row.
    ``stored``: how the game stores it, which its codec decodes.
    """

    name: str
    role: str
    dtype: str
    shape: tuple[int | str, ...]
    meaning: str
    tensor: str = ""
    kind: str = ""
    labels: tuple[str, ...] = ()
    stored: dict[str, Any] | None = None


class GraphOutput(msgspec.Struct, frozen=True, omit_defaults=True):
    """An output of the graph. ``head``: name of the head that it belongs to."""

    name: str
    role: str
    dtype: str
    shape: tuple[int | str, ...]
    meaning: str
    head: str = ""


class GraphHead(msgspec.Struct, frozen=True, omit_defaults=True):
    """A factor of a decision, as in the game's spec. ``labels``: of its choices.

    A continuous head decides a number ``u``; ``action`` is the formula of the number that the game receives.
    """

    name: str
    kind: str
    size: int
    labels: tuple[str, ...] = ()
    meaning: str = ""
    mask: tuple[int, int] | None = None  # its bytes of the mask
    depends_on: tuple[str, ...] = ()
    points_at: str = ""
    low: float | None = None
    high: float | None = None
    action: str = ""


class ExportDocument(msgspec.Struct, frozen=True):
    """Everything about an export."""

    format: str
    ludus: str
    game: str
    params: dict[str, str]
    spec_version: int
    spec_hash: str
    version: int
    frame_skip: int
    inputs: tuple[GraphInput, ...]
    outputs: tuple[GraphOutput, ...]
    heads: tuple[GraphHead, ...]
    memory: str
    left_out: dict[str, str]
    checked: dict[str, float]


def document_of(
    graph: PolicyGraph, meta: WeightsMeta, params: dict[str, str], compared: Compared
) -> ExportDocument:
    """Return the document of a graph that was compared with its network."""
    spec = graph.spec
    return ExportDocument(
        FORMAT,
        __version__,
        meta.game,
        params,
        spec.version,
        meta.spec_hash,
        meta.version,
        meta.frame_skip,
        _inputs(graph),
        tuple(
            GraphOutput(
                o.name,
                o.role,
                "int64" if o.role == CHOICES else "float32",
                ("N", *o.shape),
                _MEANINGS[o.role],
                spec.heads[o.head].name if o.head >= 0 else "",
            )
            for o in graph.outputs
        ),
        _heads(graph),
        _memory(graph),
        {VALUE: graph.without_value} if graph.without_value else {},
        {
            "observations": compared.observations,
            "largest_difference": compared.largest,
            "tolerance": TOLERANCE,
        },
    )


def _inputs(graph: PolicyGraph) -> tuple[GraphInput, ...]:
    spec = graph.spec
    out = [
        GraphInput(
            name,
            "observation",
            "float32",
            ("N", *layout.shape),
            tensor.meaning,
            tensor.name,
            layout.kind,
            column_labels(tensor, layout),
            _stored(tensor),
        )
        for tensor, layout, name in zip(graph.tensors, graph.layouts, graph.names.observations, strict=True)
    ]
    if graph.masked:
        meaning = "1 = legal, 0 = illegal; the choices of all heads in their order, ones if all are legal"
        if graph.twin.heads.dependent:
            meaning += "; a head that depends on others has a table [choices of that head, size] for each"
        out.append(GraphInput(MASK, MASK, "uint8", ("N", spec.mask_size), meaning))
    if graph.memory_shape is not None:
        meaning = f"zeros at the start of a match, then next_{MEMORY} of the decision before"
        out.append(GraphInput(MEMORY, MEMORY, "float32", ("N", *graph.memory_shape), meaning))
    if graph.dependent:
        meaning = "choices of the heads, decided in order: -1 = the most probable one given those before it"
        out.append(GraphInput(CHOICES, CHOICES, "int64", ("N", len(spec.heads)), meaning))
    return tuple(out)


def _stored(tensor: TensorSpec) -> dict[str, Any]:
    return {
        "dtype": tensor.dtype,
        "shape": tensor.shape,
        "codec": tensor.codec,
        "scale": tensor.scale,
    }


def _memory(graph: PolicyGraph) -> str:
    if graph.memory_shape is None:
        return "none: every decision depends on its observation only"
    return (
        f"input {MEMORY}, output next_{MEMORY}: give zeros at the start of a match, then the output of the "
        "decision before; one row for each match"
    )


def _heads(graph: PolicyGraph) -> tuple[GraphHead, ...]:
    out, at, heads = [], 0, graph.spec.heads
    for head in heads:
        bytes_ = head.size * (sum(heads[d].size for d in head.depends_on) if head.depends_on else 1)
        real = head.kind == "continuous"
        out.append(
            GraphHead(
                head.name,
                head.kind,
                head.size,
                () if real else choice_labels(head),
                head.meaning,
                (at, at + bytes_),
                tuple(heads[d].name for d in head.depends_on),
                head.points_at,
                head.low if real else None,
                head.high if real else None,
                action_of(head) if real else "",
            )
        )
        at += bytes_
    return tuple(out)


def action_of(head: HeadSpec) -> str:
    """Return how the game's number follows from ``u`` of a continuous head."""
    if head.bounded:
        if head.integer:
            return "floor(low + (tanh(u) + 1) / 2 * (high - low + 1))"
        return "low + (tanh(u) + 1) / 2 * (high - low)"
    if head.half_open:
        return "low + log(1 + exp(u))" if head.low > -3e38 else "high - log(1 + exp(-u))"
    return "u"

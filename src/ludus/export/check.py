"""Comparison of an ONNX model, run by onnxruntime, with the network that it was made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ludus.export.errors import ExportError
from ludus.export.graph import Output, PolicyGraph
from ludus.export.names import CHOICES, MASK, MEMORY
from ludus.export.recorded import RecordedStep
from ludus.flow.slab import Array

#: Largest difference: of numbers up to 1; of larger ones relative to them.
TOLERANCE = 1e-5


class Compared(NamedTuple):
    """Result of a comparison. ``largest``: the largest difference, and the output that it is in."""

    observations: int
    largest: float
    where: str


def session_of(model: bytes) -> Any:  # noqa: ANN401 - onnxruntime has no types
    """Return an onnxruntime session of a model. Raises ``ExportError`` if it refuses the model."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ExportError(f"onnxruntime refuses the graph: {_first_line(error)}") from error


def compare(model: bytes, graph: PolicyGraph, moments: Sequence[RecordedStep]) -> Compared:
    """Compare outputs at recorded observations, with batches of all rows and of one.

    The model runs with its own memories from the starts of matches.

    Raises:
        ExportError: An output differs by more than :data:`TOLERANCE`.
    """
    session = session_of(model)
    memory = _start(graph, moments)
    largest, where, count = 0.0, "", 0
    for number, moment in enumerate(moments):
        if memory is not None:
            memory[moment.seen.first] = 0.0
        fed = _inputs(graph, moment, memory)
        found = _run(session, graph, fed)
        rows = len(moment.seen.mask)
        if number == 0 and rows > 1:  # the same with a batch of one row
            one = _run(session, graph, {name: array[:1] for name, array in fed.items()})
            found = {name: np.concatenate([one[name], array[1:]]) for name, array in found.items()}
        for output in graph.outputs:
            right = moment.acted.outputs[output.role, output.head]
            difference = _difference(output, found[output.name], right)
            if not difference <= TOLERANCE:
                raise ExportError(
                    f"output {output.name} of the graph differs from the network by {difference:.2g} at a "
                    f"recorded observation, expected at most {TOLERANCE:g}; nothing was written"
                )
            if difference > largest or not where:
                largest, where = difference, output.name
        if memory is not None:
            memory = found[f"next_{MEMORY}"].copy()
        count += rows
    return Compared(count, largest, where)


def _start(graph: PolicyGraph, moments: Sequence[RecordedStep]) -> Array | None:
    if graph.memory_shape is None:
        return None
    return np.zeros((len(moments[0].seen.mask), *graph.memory_shape), np.float32)


def _inputs(graph: PolicyGraph, moment: RecordedStep, memory: Array | None) -> dict[str, Array]:
    fed: dict[str, Array] = {
        name: moment.decoded[tensor.name]
        for tensor, name in zip(graph.tensors, graph.names.observations, strict=True)
    }
    if graph.masked:
        fed[MASK] = moment.seen.mask
    if memory is not None:
        fed[MEMORY] = memory
    if graph.dependent:
        fed[CHOICES] = moment.acted.actions.astype(np.int64)
    return fed


def _run(session: Any, graph: PolicyGraph, fed: dict[str, Array]) -> dict[str, Array]:  # noqa: ANN401
    try:
        given = session.run(None, fed)
    except Exception as error:
        raise ExportError(f"onnxruntime cannot run the graph: {_first_line(error)}") from error
    return dict(zip((output.name for output in graph.outputs), given, strict=True))


def _difference(output: Output, found: Array, right: Array) -> float:
    """Return the largest difference, relative to numbers beyond 1; NaN or infinite for other shapes."""
    if found.shape != right.shape or found.shape[1:] != output.shape:
        return float("inf")
    same = found == right  # also infinities: Q-values of illegal choices
    with np.errstate(invalid="ignore"):
        wanted = right.astype(np.float64)
        apart = np.abs(found.astype(np.float64) - wanted) / np.maximum(1.0, np.abs(wanted))
    return float(np.where(same, 0.0, apart).max(initial=0.0))


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]

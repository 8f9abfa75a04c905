"""ONNX models of graphs: conversion by torch's exporter, and their metadata."""

from __future__ import annotations

import io
import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ludus.export.document import KEY, ExportDocument
from ludus.export.errors import ExportError
from ludus.export.graph import PolicyGraph, examples
from ludus.flow.inputs.decode import to_json
from ludus.version import __version__

OPSET = 17
MAX_BYTES = (1 << 31) - 1  # of a model in one file
_OPERATOR = re.compile(r"aten::\w+")


def convert(graph: PolicyGraph) -> bytes:
    """Return the graph as an ONNX model without metadata.

    Raises:
        ExportError: An operator has no form in ONNX, or the model is too large for one file.
    """
    outputs = [output.name for output in graph.outputs]
    file = io.BytesIO()
    weights = sum(p.numel() * p.element_size() for p in graph.parameters())
    if weights > MAX_BYTES:
        raise ExportError(f"the weights have {weights} bytes; an ONNX model holds at most {MAX_BYTES}")
    try:
        with _quiet(), torch.no_grad():
            # The exporter by tracing: the newer one gives a file that onnxruntime refuses for some networks.
            torch.onnx.export(
                graph,
                tuple(examples(graph, 2)),
                file,  # type: ignore[arg-type] # as the exporter by tracing takes it
                dynamo=False,
                opset_version=OPSET,
                input_names=list(graph.inputs),
                output_names=outputs,
                dynamic_axes={name: {0: "N"} for name in (*graph.inputs, *outputs)},
            )
    except torch.onnx.errors.OnnxExporterError as error:
        raise ExportError(_why(error)) from error
    except (RuntimeError, TypeError, ValueError) as error:
        raise ExportError(_why(error)) from error
    return file.getvalue()


def described(model: bytes, document: ExportDocument) -> bytes:
    """Return the model with its metadata."""
    import onnx

    proto = onnx.load_model_from_string(model)
    proto.producer_name, proto.producer_version = KEY, __version__
    text = to_json(document).decode()
    onnx.helper.set_model_props(proto, {KEY: text, "game": document.game, "version": str(document.version)})
    data: bytes = proto.SerializeToString()
    return data


def is_export(data: bytes) -> bool:
    """Return whether ``data`` is a model that Ludus has exported."""
    import onnx

    try:
        proto = onnx.load_model_from_string(data)
    except Exception:  # protobuf's own, and those of its parsers
        return False
    return any(p.key == KEY for p in proto.metadata_props)


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the exporter's notes about tracing, which are for authors of networks."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _why(error: BaseException) -> str:
    text = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
    found = _OPERATOR.search(str(error))
    if isinstance(error, torch.onnx.errors.UnsupportedOperatorError) and found:
        return f"the operator {found[0]} of the network has no form in ONNX (opset {OPSET})"
    return f"the network cannot be exported: {text}"

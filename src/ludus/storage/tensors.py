"""Tensors and weights on disk: safetensors and JSON, never pickle."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from ludus.flow.inputs.decode import from_json
from ludus.flow.inputs.regular import why_unusable
from ludus.flow.slab import Array
from ludus.flow.weights import Provenance, Weights, WeightsMeta, widened
from ludus.storage.errors import CorruptFile, RunNotFound

META_KEY = "ludus"  # key of the JSON in a safetensors header; policies read the same
MAX_FILE_BYTES = 16 << 30
MAX_META_BYTES = 4 << 20


def encode_tensors(tensors: dict[str, Array], metadata: dict[str, str] | None = None) -> bytes:
    """Return the bytes of a safetensors file. Arrays are made contiguous; scalars keep shape ``()``."""
    from safetensors.numpy import (
        save,
    )  # imported here and below: an installation without training has no safetensors

    whole = {name: np.ascontiguousarray(a).reshape(a.shape) for name, a in sorted(tensors.items())}
    return save(whole, metadata)


def decode_file(path: Path) -> tuple[dict[str, Array], dict[str, str]]:
    """Return tensors and metadata of a safetensors file. Raises ``RunNotFound`` or ``CorruptFile``."""
    from safetensors import SafetensorError, safe_open

    if why := why_unusable(path):
        raise RunNotFound(f"{path}: {why}")
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise CorruptFile(f"{path}: {size} bytes, expected at most {MAX_FILE_BYTES}")
    try:
        with safe_open(str(path), framework="numpy") as file:
            metadata = dict(file.metadata() or {})
            tensors: dict[str, Array] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptFile(f"{path}: not a whole safetensors file ({error})") from error
    return tensors, metadata


def decode_tensors(data: bytes, name: str) -> dict[str, Array]:
    """Return the tensors in a safetensors file's bytes. Raises ``CorruptFile`` with ``name`` in it."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors: dict[str, Array] = load(data)
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptFile(f"{name}: not a whole safetensors file ({error})") from error
    return tensors


def encode_weights(weights: Weights, provenance: Provenance | None = None) -> bytes:
    """Return the bytes of a weights file: the tensors, and :class:`WeightsMeta` as metadata.

    ``provenance``: replaces the weights' own; None: it stays.
    """
    meta = weights.meta
    if provenance is not None:
        meta = msgspec.structs.replace(meta, provenance=provenance)
    return encode_tensors(weights.tensors, {META_KEY: msgspec.json.encode(meta).decode()})


def read_weights(path: Path) -> Weights:
    """Return weights from a file, with finite numbers. Raises ``RunNotFound`` or ``CorruptFile``.

    The policies check whether they fit the architecture.
    """
    tensors, metadata = decode_file(path)
    text = metadata.get(META_KEY)
    if text is None:
        raise CorruptFile(f"{path}: a safetensors file, but not weights of ludus (no {META_KEY!r} header)")
    if len(text) > MAX_META_BYTES:
        raise CorruptFile(f"{path}: metadata of {len(text)} bytes, expected at most {MAX_META_BYTES}")
    try:
        meta = from_json(text, WeightsMeta)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptFile(f"{path}: metadata does not describe weights ({error})") from error
    for name, tensor in tensors.items():
        if tensor.dtype.kind == "f" and not np.isfinite(tensor).all():
            raise CorruptFile(f"{path}: tensor {name} holds values that are not finite")
    return Weights(meta, {name: widened(tensor) for name, tensor in tensors.items()})

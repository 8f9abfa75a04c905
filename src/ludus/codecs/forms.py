"""Forms of a tensor that networks read: decoded, sparse entries, or the entity rows that are present."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ludus.codecs.identity import IDENTITY, nonzero_rows
from ludus.codecs.layout import TensorLayout
from ludus.codecs.registry import codec_of, layout_of
from ludus.codecs.sparse import SparsePlanes
from ludus.flow import TensorSpec


def decoded(spec: TensorSpec, layout: TensorLayout, packed: Tensor) -> Tensor:
    """Decode ``packed[B, *packed_shape]`` to ``float32[B, *layout.shape]``.

    Raises:
        ValueError: The codec returns another shape or dtype.
    """
    values = codec_of(spec).decode(spec, packed)
    if values.shape[1:] != layout.shape or values.dtype is not torch.float32:
        raise ValueError(
            f"tensor {spec.name!r}: decode() of the codec {spec.codec} gives {values.dtype}"
            f"{list(values.shape)}, its layout() declares float32{[packed.shape[0], *layout.shape]}"
        )
    return values


def is_bytes(spec: TensorSpec) -> bool:
    """Return whether a tensor holds bytes that mean their own value times a scale, as pictures do."""
    return spec.dtype == "u8" and codec_of(spec) is IDENTITY


def sparse_planes(spec: TensorSpec, packed: Tensor) -> SparsePlanes | None:
    """Return the planes as entries where the codec packs entries, on a CPU; None elsewhere."""
    sparse: Callable[[TensorSpec, Tensor], SparsePlanes] | None = getattr(codec_of(spec), "sparse", None)
    return sparse(spec, packed) if sparse is not None and packed.device.type == "cpu" else None


def entity_rows(spec: TensorSpec, packed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Find the entity rows that are present, by the codec itself or in what it decodes to.

    See :meth:`ludus.codecs.protocol.RowsCodec.present`.
    """
    present: Callable[[TensorSpec, Tensor], tuple[Tensor, Tensor, Tensor]] | None = getattr(
        codec_of(spec), "present", None
    )
    if present is not None:
        return present(spec, packed)
    return nonzero_rows(decoded(spec, layout_of(spec), packed).contiguous())

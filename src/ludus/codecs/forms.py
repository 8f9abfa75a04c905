"""Forms of a tensor that networks read: decoded, sparse entries, or entity rows.

Compact forms leave out what is absent, so their shapes depend on data; the processor computes them. Static
forms (``static``) have one shape for a batch size: a graph of an accelerator holds them.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ludus.codecs.identity import IDENTITY, nonzero_rows, occupied
from ludus.codecs.layout import TensorLayout
from ludus.codecs.registry import codec_of, layout_of
from ludus.codecs.sparse import SparsePlanes
from ludus.flow import TensorSpec


def decoded(spec: TensorSpec, layout: TensorLayout, packed: Tensor, static: bool = False) -> Tensor:
    """Decode ``packed[B, *packed_shape]`` to ``float32[B, *layout.shape]``.

    Args:
        spec: Spec of the tensor.
        layout: Its layout.
        packed: Rows as they lie in a slab.
        static: Whether no shape may depend on data.

    Raises:
        ValueError: The codec returns another shape or dtype.
    """
    codec = codec_of(spec)
    decode: Callable[[TensorSpec, Tensor], Tensor] = codec.decode
    if static:
        decode = getattr(codec, "decode_static", decode)
    values = decode(spec, packed)
    if values.shape[1:] != layout.shape or values.dtype is not torch.float32:
        raise ValueError(
            f"tensor {spec.name!r}: decode() of the codec {spec.codec} gives {values.dtype}"
            f"{list(values.shape)}, its layout() declares float32{[packed.shape[0], *layout.shape]}"
        )
    return values


def is_static(spec: TensorSpec) -> bool:
    """Return whether a tensor's codec has a static form."""
    codec = codec_of(spec)
    return codec is IDENTITY or hasattr(codec, "decode_static") or hasattr(codec, "every")


def is_bytes(spec: TensorSpec) -> bool:
    """Return whether a tensor holds bytes that mean their own value times a scale, as pictures do."""
    return spec.dtype == "u8" and codec_of(spec) is IDENTITY


def sparse_planes(spec: TensorSpec, packed: Tensor) -> SparsePlanes | None:
    """Return the planes as entries if the codec packs entries, a compact form; None otherwise."""
    sparse: Callable[[TensorSpec, Tensor], SparsePlanes] | None = getattr(codec_of(spec), "sparse", None)
    return sparse(spec, packed) if sparse is not None else None


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


def every_row(spec: TensorSpec, packed: Tensor) -> tuple[Tensor, Tensor]:
    """Decode all entity rows, the static form of :func:`entity_rows`.

    A codec with ``present`` and without ``every`` makes the host wait for the rows that it finds.

    Returns:
        Which rows are present, ``bool[B, U]``, and features ``float32[B, U, F]``. Absent rows have any.
    """
    codec, layout = codec_of(spec), layout_of(spec)
    every: Callable[[TensorSpec, Tensor], tuple[Tensor, Tensor]] | None = getattr(codec, "every", None)
    if every is not None:
        return every(spec, packed)
    if hasattr(codec, "present"):
        owner, place, some = entity_rows(spec, packed)
        present = torch.zeros((len(packed), layout.shape[0]), dtype=torch.bool, device=packed.device)
        rows = some.new_zeros((len(packed), *layout.shape))
        present[owner, place] = True
        rows[owner, place] = some
        return present, rows
    values = decoded(spec, layout, packed, static=True).contiguous()
    return occupied(values), values

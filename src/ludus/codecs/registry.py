"""From packed observation rows to the float tensors that a network reads.

A spec names a codec for each tensor. A codec says what it decodes to (planes ``[C, H, W]``, entity
rows ``[U, F]`` or a flat vector ``[D]``) and does it for a batch on the device the batch is on.
The table at the end of this file is the only register.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor

from ludus.codecs.layout import TensorLayout, by_rank
from ludus.codecs.pommerman import PommermanCells
from ludus.codecs.rts_cells import RtsCells
from ludus.codecs.rts_flag_cells import RtsFlagCells
from ludus.codecs.sparse import SparsePlanes
from ludus.flow import TensorSpec


class Codec(Protocol):
    """One way of packing. Stateless; safe to use from several threads."""

    def layout(self, spec: TensorSpec) -> TensorLayout:
        """Kind and shape of the decoded tensor. ``ValueError`` if the codec cannot read such a tensor."""
        ...

    def decode(self, spec: TensorSpec, packed: Tensor) -> Tensor:
        """``packed[B, *packed_shape]`` -> ``float32[B, *layout(spec).shape]``."""
        ...


class Identity:
    """``value * scale``; a tensor of bits is unpacked first, least significant bit first."""

    def present(self, spec: TensorSpec, packed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Entity rows that are there: owner and place among the owner's rows ``int64[n]``, rising, and
        features ``float32[n, F]``.

        A row is absent when all its elements are zero. For specs of two axes; absent rows are
        dropped before anything is converted.
        """
        batch, (units, features) = packed.shape[0], spec.shape
        rows = (self.decode(spec, packed) if spec.dtype == "bits" else packed).reshape(
            batch * units, features
        )
        width = rows.element_size() * features
        words = rows.view(torch.int64) if width % 8 == 0 and rows.storage_offset() % 8 == 0 else rows
        index = (words != 0).any(dim=1).nonzero().squeeze(1)
        some = rows.index_select(0, index).to(torch.float32)
        if spec.dtype != "bits" and spec.scale != 1.0:  # bits are scaled by decode
            some = some * spec.scale
        owner = torch.div(index, units, rounding_mode="floor")
        return owner, index - owner * units, some

    def layout(self, spec: TensorSpec) -> TensorLayout:
        return by_rank(spec.shape)

    def decode(self, spec: TensorSpec, packed: Tensor) -> Tensor:
        shape = (packed.shape[0], *self.layout(spec).shape)
        if spec.dtype == "bits":
            shifts = torch.arange(8, dtype=torch.uint8, device=packed.device)
            bits = packed.unsqueeze(-1).bitwise_right_shift(shifts).bitwise_and_(1)
            values = bits.flatten(1)[:, : spec.elements].to(torch.float32)
        else:
            values = packed.to(torch.float32)
        if spec.scale != 1.0:
            values = values * spec.scale
        return values.reshape(shape)


_IDENTITY = Identity()
_CODECS: Mapping[str, Codec] = {
    "identity": _IDENTITY,
    "bits": _IDENTITY,
    "pommerman": PommermanCells(),
    "rts_cells": RtsCells(),
    "rts_flag_cells": RtsFlagCells(),
}


def entity_rows(spec: TensorSpec, packed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """:meth:`Identity.present` of a tensor that decodes to entity rows."""
    return _IDENTITY.present(spec, packed)


def is_bytes(spec: TensorSpec) -> bool:
    """Whether a tensor is bytes that stand for themselves times a scale, as pictures are."""
    return spec.dtype == "u8" and codec_of(spec) is _IDENTITY


def sparse_planes(spec: TensorSpec, packed: Tensor) -> SparsePlanes | None:
    """The planes as entries, where the codec packs entries and the processor gains by it."""
    codec = codec_of(spec)
    if isinstance(codec, RtsCells) and packed.device.type == "cpu":
        return codec.sparse(spec, packed)
    return None


def codec_of(spec: TensorSpec) -> Codec:
    """The codec that a tensor names. ``ValueError`` naming the tensor and the known codecs otherwise."""
    codec = _CODECS.get(spec.codec)
    if codec is None:
        known = ", ".join(sorted(_CODECS))
        raise ValueError(f"tensor {spec.name!r} names the codec {spec.codec!r}; known codecs: {known}")
    return codec

"""The codecs ``identity`` and ``bits``: numbers as they are, times a scale."""

from __future__ import annotations

import torch
from torch import Tensor

from ludus.codecs.layout import TensorLayout, by_rank
from ludus.flow import TensorSpec


class Identity:
    """Codec that returns ``value * scale``, after unpacking bits, least significant bit first."""

    def present(self, spec: TensorSpec, packed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Find the entity rows that are present: see :class:`ludus.codecs.protocol.RowsCodec`.

        A row is absent when all its elements are zero. For specs of two axes; absent rows are
        dropped before anything is converted.
        """
        bits = spec.dtype == "bits"
        owner, place, some = nonzero_rows(
            self.decode(spec, packed) if bits else packed.reshape(packed.shape[0], *spec.shape)
        )
        if not bits and spec.scale != 1.0:  # bits are scaled by decode
            some = some * spec.scale
        return owner, place, some

    def every(self, spec: TensorSpec, packed: Tensor) -> tuple[Tensor, Tensor]:
        """Decode all entity rows: see :class:`ludus.codecs.protocol.RowsCodec`."""
        values = self.decode(spec, packed)
        stored = values if spec.dtype == "bits" else packed.reshape(packed.shape[0], *spec.shape)
        return occupied(stored), values

    def layout(self, spec: TensorSpec) -> TensorLayout:
        """Return the layout by the number of axes: see :func:`ludus.codecs.layout.by_rank`."""
        return by_rank(spec.shape)

    def decode(self, spec: TensorSpec, packed: Tensor) -> Tensor:
        """Decode ``packed[B, *packed_shape]`` to ``float32[B, *shape]``, multiplied by the spec's scale."""
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


def occupied(values: Tensor) -> Tensor:
    """Return ``bool[B, U]``: the rows of ``[B, U, F]`` with an element that is not zero."""
    batch, units, features = values.shape
    rows = values.reshape(batch * units, features)
    width = rows.element_size() * features
    wide = width % 8 == 0 and rows.storage_offset() % 8 == 0 and not torch.onnx.is_in_onnx_export()
    words = rows.view(torch.int64) if wide else rows
    return (words != 0).any(dim=1).view(batch, units)


def nonzero_rows(values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Find the rows of ``[B, U, F]`` with an element that is not zero.

    Returns:
        Owner and place ``int64[n]``, ascending, and the rows as ``float32[n, F]``.
    """
    batch, units, features = values.shape
    index = occupied(values).flatten().nonzero().squeeze(1)
    some = values.reshape(batch * units, features).index_select(0, index).to(torch.float32)
    owner = torch.div(index, units, rounding_mode="floor")
    return owner, index - owner * units, some


IDENTITY = Identity()

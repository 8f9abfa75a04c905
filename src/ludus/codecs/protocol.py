"""Codec protocol: one way of packing an observation tensor, and how to undo it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ludus.codecs.layout import TensorLayout
from ludus.flow import TensorSpec

if TYPE_CHECKING:
    from torch import Tensor

    from ludus.codecs.sparse import SparsePlanes


class Codec(Protocol):
    """Decoder of one packed tensor format. Stateless; safe to use from several threads.

    A codec may have more (:class:`SparseCodec`, :class:`StaticCodec`, :class:`RowsCodec`,
    :class:`EveryRowCodec`); networks use it if it is there.
    """

    def layout(self, spec: TensorSpec) -> TensorLayout:
        """Return kind and shape of the decoded tensor. Raises ``ValueError`` for a tensor it cannot read."""
        ...

    def decode(self, spec: TensorSpec, packed: Tensor) -> Tensor:
        """Decode ``packed[B, *packed_shape]`` to ``float32[B, *layout(spec).shape]``, on the same device."""
        ...


class SparseCodec(Codec, Protocol):
    """A codec of planes that are nearly empty."""

    def sparse(self, spec: TensorSpec, packed: Tensor) -> SparsePlanes:
        """Return the planes of :meth:`decode` as a sum of entries."""
        ...


class StaticCodec(Codec, Protocol):
    """A codec whose ``decode`` makes shapes that depend on data, or waits for the host."""

    def decode_static(self, spec: TensorSpec, packed: Tensor) -> Tensor:
        """Return what :meth:`decode` returns, by shapes that depend on the shape of ``packed`` only."""
        ...


class RowsCodec(Codec, Protocol):
    """A codec of entity rows that finds those that are present before it decodes."""

    def present(self, spec: TensorSpec, packed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Find the entity rows that are present.

        Returns:
            Owner and place among the owner's rows ``int64[n]``, ascending, and features ``float32[n, F]``.
        """
        ...


class EveryRowCodec(Codec, Protocol):
    """A codec of entity rows that decodes all of them, for accelerators."""

    def every(self, spec: TensorSpec, packed: Tensor) -> tuple[Tensor, Tensor]:
        """Decode all entity rows, by shapes that depend on the shape of ``packed`` only.

        Returns:
            Which rows are present, ``bool[B, U]``, and features ``float32[B, U, F]``. Absent rows have any
            finite numbers.
        """
        ...

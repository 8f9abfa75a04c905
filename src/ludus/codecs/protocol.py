"""What a codec is: one way of packing an observation tensor, and how to undo it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ludus.codecs.layout import TensorLayout
from ludus.flow import TensorSpec

if TYPE_CHECKING:
    from torch import Tensor

    from ludus.codecs.sparse import SparsePlanes


class Codec(Protocol):
    """Stateless; safe to use from several threads.

    A codec may have more (:class:`SparseCodec`, :class:`RowsCodec`); networks use it where it is there.
    """

    def layout(self, spec: TensorSpec) -> TensorLayout:
        """Kind and shape of the decoded tensor. ``ValueError`` if the codec cannot read such a tensor."""
        ...

    def decode(self, spec: TensorSpec, packed: Tensor) -> Tensor:
        """``packed[B, *packed_shape]`` -> ``float32[B, *layout(spec).shape]``, on the same device."""
        ...


class SparseCodec(Codec, Protocol):
    """A codec of planes that are nearly empty."""

    def sparse(self, spec: TensorSpec, packed: Tensor) -> SparsePlanes:
        """The planes of :meth:`decode` as a sum of entries."""
        ...


class RowsCodec(Codec, Protocol):
    """A codec of entity rows that finds those that are there before it decodes."""

    def present(self, spec: TensorSpec, packed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Entity rows that are there: owner and place among the owner's rows ``int64[n]``, rising, and
        features ``float32[n, F]``.
        """
        ...

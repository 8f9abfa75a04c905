"""Codecs: packed observations to the tensors that a network reads.

A game outside of Ludus brings its own codec with ``register_codec``, ``Codec`` and ``TensorLayout``.
"""

from __future__ import annotations

from ludus.codecs.layout import TensorLayout
from ludus.codecs.protocol import Codec
from ludus.codecs.registry import register_codec

__all__ = ["Codec", "TensorLayout", "register_codec"]

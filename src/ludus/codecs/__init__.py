"""Codecs: packed observations to the tensors that a network reads.

``register_codec``, ``Codec`` and ``TensorLayout`` are what a game outside of Ludus needs to bring its own.
"""

from __future__ import annotations

from ludus.codecs.layout import TensorLayout
from ludus.codecs.protocol import Codec
from ludus.codecs.registry import register_codec

__all__ = ["Codec", "TensorLayout", "register_codec"]

"""Weights of a network with their version, as learners publish and files store them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import msgspec

from ludus.flow.slab import Array


class WeightsMeta(msgspec.Struct, frozen=True):
    """Metadata of a weights file, stored as JSON next to the tensors (safetensors metadata).

    ``architecture`` is the resolved policy configuration as JSON, ``spec`` the game's spec as
    JSON (read by :func:`ludus.flow.spec.decode_spec`), so that a weights file is self-contained.
    """

    version: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
    spec_hash: str
    architecture: str
    spec: str
    game: str
    frame_skip: Annotated[int, msgspec.Meta(ge=0, le=1 << 20)] = 1
    steps: Annotated[int, msgspec.Meta(ge=0)] = 0


@dataclass(slots=True)
class Weights:
    """Weights of a network. ``tensors``: parameter or buffer name -> array (normalisers included)."""

    meta: WeightsMeta
    tensors: dict[str, Array]

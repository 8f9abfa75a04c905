"""Numbers of a network with their version, as they travel from learner to policies and to disk."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from ludus.flow.slab import Array


class WeightsMeta(msgspec.Struct, frozen=True):
    """Stored as JSON beside the tensors (safetensors metadata).

    ``architecture`` is the resolved policy configuration as JSON text, ``spec`` the game's spec as
    JSON text (what :func:`ludus.flow.spec.decode_spec` reads), so that a weights file stands alone.
    """

    version: int
    spec_hash: str
    architecture: str
    spec: str
    game: str
    frame_skip: int = 1
    steps: int = 0


@dataclass(slots=True)
class Weights:
    """``tensors``: parameter or buffer name -> array (normalisers included)."""

    meta: WeightsMeta
    tensors: dict[str, Array]

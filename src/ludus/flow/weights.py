"""Weights of a network with their version, as learners publish and files store them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import msgspec

from ludus.flow.slab import Array

#: Most entries of a lineage.
MAX_LINEAGE = 256


class Ancestor(msgspec.Struct, frozen=True):
    """Weights that surgery made others of.

    ``run``: name of the run's directory, or of a file; ``run_id``: the run's identity, empty without a run.
    ``version`` and ``spec_hash`` belong to the weights. ``operators``: what changed, a sentence each.
    """

    run: Annotated[str, msgspec.Meta(max_length=256)]
    version: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
    spec_hash: Annotated[str, msgspec.Meta(max_length=64)]
    run_id: Annotated[str, msgspec.Meta(max_length=64)] = ""
    operators: Annotated[
        tuple[Annotated[str, msgspec.Meta(max_length=2048)], ...], msgspec.Meta(max_length=4096)
    ] = ()


Lineage = Annotated[tuple[Ancestor, ...], msgspec.Meta(max_length=MAX_LINEAGE)]


class WeightsMeta(msgspec.Struct, frozen=True):
    """Metadata of a weights file, stored as JSON next to the tensors (safetensors metadata).

    ``architecture`` is the resolved policy configuration as JSON, ``spec`` the game's spec as
    JSON (read by :func:`ludus.flow.spec.decode_spec`), so that a weights file is self-contained.
    ``lineage``: the weights that surgery changed on the way to these, oldest first; not in the file without
    any.
    """

    version: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
    spec_hash: str
    architecture: str
    spec: str
    game: str
    frame_skip: Annotated[int, msgspec.Meta(ge=0, le=1 << 20)] = 1
    steps: Annotated[int, msgspec.Meta(ge=0)] = 0
    lineage: Lineage | msgspec.UnsetType = msgspec.UNSET


@dataclass(slots=True)
class Weights:
    """Weights of a network. ``tensors``: parameter or buffer name -> array (normalisers included)."""

    meta: WeightsMeta
    tensors: dict[str, Array]

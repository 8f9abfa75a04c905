"""Weights of a network with their version, as learners publish and files store them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import msgspec
import numpy as np

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


#: Most characters of a parameter, which may be a whole rulebook, and of a preset.
MAX_TEXT = 1 << 20

Name = Annotated[str, msgspec.Meta(max_length=128)]
Measured = Annotated[float, msgspec.Meta(ge=-1e300, le=1e300)]


class WeightsFloor(msgspec.Struct, frozen=True):
    """A result without training, to compare results of the weights with.

    ``player``: ``initial weights`` or ``uniform``. ``value``: its win rate against ``against``, or its mean
    return in a game of one seat, with the 95% interval ``low`` to ``high``.
    """

    player: Name
    against: Annotated[str, msgspec.Meta(max_length=256)]
    matches: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
    value: Measured
    low: Measured
    high: Measured


class Provenance(msgspec.Struct, frozen=True):
    """Settings that weights were trained under: a file of weights is complete without its run.

    ``params``: parameters of the game, as a run's configuration has them. ``preset_sha256``: hash of the
    preset's TOML text, and ``preset``: the text, "" where it is long. ``package_version``: version of Ludus.
    ``floors``: as far as they were measured when the file was written.
    """

    params: Annotated[
        dict[Name, Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]], msgspec.Meta(max_length=256)
    ] = {}
    preset_sha256: Annotated[str, msgspec.Meta(max_length=64)] = ""
    preset: Annotated[str, msgspec.Meta(max_length=MAX_TEXT)] = ""
    package_version: Annotated[str, msgspec.Meta(max_length=64)] = ""
    floors: Annotated[tuple[WeightsFloor, ...], msgspec.Meta(max_length=256)] = ()


class WeightsMeta(msgspec.Struct, frozen=True):
    """Metadata of a weights file, stored as JSON next to the tensors (safetensors metadata).

    ``architecture`` is the resolved policy configuration as JSON, ``spec`` the game's spec as
    JSON (read by :func:`ludus.flow.spec.decode_spec`), so that a weights file is self-contained.
    ``lineage``: the weights that surgery changed on the way to these, oldest first; not in the file without
    any. ``provenance``: the settings of the training; files of older versions have none.
    """

    version: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
    spec_hash: str
    architecture: str
    spec: str
    game: str
    frame_skip: Annotated[int, msgspec.Meta(ge=0, le=1 << 20)] = 1
    steps: Annotated[int, msgspec.Meta(ge=0)] = 0
    lineage: Lineage | msgspec.UnsetType = msgspec.UNSET
    provenance: Provenance | msgspec.UnsetType = msgspec.UNSET


@dataclass(slots=True)
class Weights:
    """Weights of a network. ``tensors``: parameter or buffer name -> array (normalisers included)."""

    meta: WeightsMeta
    tensors: dict[str, Array]


def widened(tensor: Array) -> Array:
    """Return a tensor of half precision in float32, any other one as it is."""
    return tensor.astype(np.float32) if tensor.dtype == np.float16 else tensor

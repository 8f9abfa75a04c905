"""Observations of an environment: as the spec declares them, or decoded as networks read them.

Games import no codec (and no torch), so the decoder is imported by its name when an environment needs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from ludus.flow import GameSpec, TensorSpec
from ludus.flow.process.extras import install_command
from ludus.flow.slab import Array
from ludus.games.exports.spaces import observation_space, within

_DECODER = "ludus.codecs.arrays"


class Decoder(Protocol):
    """Interface of :class:`ludus.codecs.arrays.ArrayDecoder` that environments use."""

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a decoded tensor."""
        ...

    def bounds(self, tensor: TensorSpec) -> tuple[float, float]:
        """Return the range of a tensor's decoded numbers, infinite if unknown."""
        ...

    def decode(self, packed: Mapping[str, Array]) -> dict[str, npt.NDArray[np.float32]]:
        """Decode ``packed[N, *packed_shape]`` to ``float32[N, *shape]`` for each tensor."""
        ...


class ObservationFormat:
    """Spaces of observations, and observations that lie in them."""

    def __init__(self, spec: GameSpec, *, decoded: bool) -> None:
        """Prepare the space.

        Raises ``ImportError`` if torch is missing, ``ValueError`` for a codec that cannot be used.
        """
        self._spec = spec
        self._decoder = _decoder(spec.observation) if decoded else None
        self._space = self.space()

    def space(self) -> spaces.Dict[Any]:
        """Create a space: spaces are seeded, and each agent has its own."""
        if self._decoder is None:
            return observation_space(self._spec)
        parts: dict[str, spaces.Space[Any]] = {}
        for t in self._spec.observation:
            low, high = self._decoder.bounds(t)
            parts[t.name] = spaces.Box(low, high, self._decoder.shape(t.name), np.float32)
        return spaces.Dict(parts)

    def one(self, seen: dict[str, Array]) -> dict[str, Array]:
        """Return the observation of one seat's unpacked tensors."""
        if self._decoder is None:
            return within(self._space, seen)
        return {name: rows[0] for name, rows in self.many({n: a[None] for n, a in seen.items()}).items()}

    def many(self, seen: dict[str, Array]) -> dict[str, Array]:
        """Return the observations of unpacked tensors ``[N, *shape]``."""
        if self._decoder is None:
            return seen
        packed = {t.name: _packed(t, seen[t.name]) for t in self._spec.observation}
        decoded: dict[str, Array] = {**self._decoder.decode(packed)}
        for name, array in decoded.items():
            box = self._space.spaces[name]
            assert isinstance(box, spaces.Box)
            if box.is_bounded("both"):  # ranges of specs may be too narrow by rounding
                np.clip(array, box.low, box.high, out=array)
        return decoded


def _packed(tensor: TensorSpec, rows: Array) -> Array:
    if tensor.dtype != "bits":
        return rows
    return np.packbits(rows.reshape(len(rows), -1) != 0, axis=1, bitorder="little")


def _decoder(tensors: Sequence[TensorSpec]) -> Decoder:
    try:
        made = import_module(_DECODER).ArrayDecoder(tensors)
    except ImportError as error:
        raise ImportError(f"decoded=True: {error}; install it: {install_command('train')}") from error
    return cast(Decoder, made)

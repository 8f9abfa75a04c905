"""Conversion of an environment's observations, masks and actions to and from a policy's rows.

A :class:`Face` is the environment's side: Gymnasium's own spaces for ``gymnasium/...`` games, and the spaces
of :mod:`ludus.games.exports.spaces` for all others. This module does not import Gymnasium.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec, TensorSpec
from ludus.flow.inputs.finite import not_finite
from ludus.flow.slab import Array
from ludus.games.adapters.boxes import continuous
from ludus.games.adapters.values import array_of, kept, zeros_and_ones
from ludus.games.exports.match import Decisions


class Face(Protocol):
    """Conversion of an environment's values to and from rows. ``count``: None for a single environment."""

    def rows(self, observation: Any, needed: Sequence[TensorSpec]) -> tuple[dict[str, Array], int | None]:
        """Return ``packed[N, ...]`` of each needed tensor, and ``count``. Raises ``ValueError``."""
        ...

    def legal(self, observation: Any, mask: Any, count: int | None) -> npt.NDArray[np.uint8]:
        """Return ``uint8[N, A]``, 1 = legal, from an environment's mask, as :func:`mask_rows` takes it."""
        ...

    def actions(self, decisions: Decisions, count: int | None) -> Any:
        """Convert ``int32[N, K]`` to a member of the action space, or a batch of members."""
        ...


class SpecFace:
    """Values in the spaces of ``ludus.gymnasium``: observations are dicts by the tensors' names."""

    def __init__(self, spec: GameSpec) -> None:
        """Convert to and from rows of the game that ``spec`` declares."""
        self.spec = spec

    def rows(self, observation: Any, needed: Sequence[TensorSpec]) -> tuple[dict[str, Array], int | None]:
        """Return ``packed[N, ...]`` of each needed tensor: see :class:`Face`.

        A single observation may also be packed, as ``ludus.Match.observe`` returns it.
        """
        names = ", ".join(t.name for t in needed)
        if not isinstance(observation, Mapping):
            found = type(observation).__name__
            raise ValueError(f"{self.spec.name}: observation is {found}, expected a dict with {names}")
        out: dict[str, Array] = {}
        counts: dict[str, int | None] = {}
        for t in needed:
            if t.name not in observation:
                given = ", ".join(map(str, observation)) or "nothing"
                raise ValueError(
                    f"{self.spec.name}: observation has {given}; {t.name} is missing, expected {names}"
                )
            out[t.name], counts[t.name] = _packed(t, array_of(f"observation {t.name}", observation[t.name]))
        if len(set(counts.values())) > 1:
            counted = ", ".join(f"{n}: {c if c is not None else 'one'}" for n, c in counts.items())
            raise ValueError(f"{self.spec.name}: tensors of different batches ({counted})")
        return out, next(iter(counts.values()))

    def legal(self, observation: Any, mask: Any, count: int | None) -> npt.NDArray[np.uint8]:
        """Return ``uint8[N, A]``: see :class:`Face`."""
        return mask_rows(self.spec, mask, count)

    def actions(self, decisions: Decisions, count: int | None) -> Any:
        """Return members of the action space: see :class:`Face`."""
        heads = self.spec.heads
        numbers = continuous(decisions, heads)
        choices = decisions.astype(np.int64)
        kinds = {h.kind for h in heads}
        if kinds == {"continuous"}:
            return numbers if count is not None else numbers[0]
        if kinds == {"discrete"}:
            batch = choices[:, 0] if len(heads) == 1 else choices
            return batch if count is not None else batch[0]
        parts = [
            choices[:, k] if h.kind == "discrete" else numbers[:, k : k + 1] for k, h in enumerate(heads)
        ]
        return tuple(parts if count is not None else [part[0] for part in parts])


def _packed(t: TensorSpec, values: Array) -> tuple[Array, int | None]:
    shape = tuple(t.shape)
    if values.shape == shape:
        count, rows = None, values[None]
    elif values.shape[1:] == shape and len(values) > 0:
        count, rows = len(values), values
    elif values.shape == t.packed_shape and values.dtype == t.packed_dtype:
        if broken := not_finite(f"observation {t.name}", values):
            raise ValueError(broken)
        return np.array(values[None]), None  # writable: torch needs it
    else:
        raise ValueError(
            f"observation {t.name}: shape {values.shape}, expected {shape}, with N in front for a batch"
            f"{_decoded(values)}"
        )
    try:
        if t.dtype == "bits":
            bits = zeros_and_ones(f"observation {t.name}", values).reshape(len(rows), -1)
            return np.packbits(bits, axis=1, bitorder="little"), count
        packed = kept(f"observation {t.name}", values, t.packed_dtype)
    except ValueError as error:
        raise ValueError(f"{error}{_decoded(values)}") from None
    if broken := not_finite(f"observation {t.name}", packed):
        raise ValueError(broken)
    return np.ascontiguousarray(packed.reshape(rows.shape)), count


def _decoded(values: Array) -> str:
    """Return a hint if numbers may come from ``decoded=True``, otherwise ""."""
    return "; a policy of Ludus reads packed tensors, not decoded ones" if values.dtype == np.float32 else ""


def mask_rows(spec: GameSpec, mask: Any, count: int | None) -> npt.NDArray[np.uint8]:
    """Return ``uint8[N, A]``, 1 = legal, from an environment's mask.

    Args:
        spec: The game's spec.
        mask: ``info["legal"]`` (``uint8[A]``, of a batch ``uint8[N, A]``), ``info["action_mask"]`` (the same
            for one head, else a tuple of one array a head), or None: everything is legal.
        count: Rows of the batch, None for a single environment.

    Raises:
        ValueError: A wrong shape, a head without a legal choice, or a tuple where heads depend on others.
    """
    rows = 1 if count is None else count
    if mask is None:
        return np.ones((rows, spec.mask_size), np.uint8)
    tied = any(h.depends_on for h in spec.heads)
    if isinstance(mask, (tuple, list)):
        if tied:
            raise ValueError(
                f"{spec.name}: heads depend on each other, which one mask for each head cannot express; "
                'pass info["legal"]'
            )
        mask = np.concatenate([np.asarray(part) for part in mask], axis=-1)
    whole = array_of(f"{spec.name}: mask", mask)
    expected = (spec.mask_size,) if count is None else (count, spec.mask_size)
    if whole.shape != expected:
        raise ValueError(f"{spec.name}: mask of shape {whole.shape}, expected {expected}")
    bits = zeros_and_ones(f"{spec.name}: mask", whole)
    legal: npt.NDArray[np.uint8] = bits.astype(np.uint8).reshape(rows, spec.mask_size)
    if not tied:
        start = 0
        for head in spec.heads:
            if not legal[:, start : start + head.size].any(axis=1).all():
                raise ValueError(f"{spec.name}: the mask allows no choice of head {head.name}")
            start += head.size
    return legal

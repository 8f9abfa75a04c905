"""Box actions: a head for each number, and numbers of the box from decisions.

A decision of a continuous head is ``u``, any float32; ``p = (tanh(u) + 1) / 2`` is its place between 0 and 1.

low and high          low + p (high - low)
integers              floor(low + p (high - low + 1)), at most high: every integer has an equal share of p
low alone             low + log(1 + e^u)
high alone            high - log(1 + e^-u)
no bound              u
low == high           the constant; its head is discrete, with one choice

A bound beyond ``NONE`` counts as none: the difference of two others fits float32.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ludus.flow.slab import Array
from ludus.flow.spec import OPEN, HeadSpec
from ludus.games.python_game import Ints

if TYPE_CHECKING:
    from gymnasium.spaces import Box

NONE = OPEN / 2.0
#: Integers of one number. ``u`` is a float32, so ``p`` has some 2**25 distinct values.
MAX_INTEGERS = 1 << 24
#: Largest magnitude of an integer, which a head's float64 bounds hold exactly.
MAX_INTEGER = 1 << 53


_EDGE = 1.0 - 1e-6  # tanh reaches its bounds only at infinity


class UnsupportedSpace(ValueError):
    """A space without a corresponding tensor or head; the message names it."""


class BoxNumbers:
    """The heads of one Box, and the conversion of decisions to its members."""

    def __init__(self, name: str, box: Box[Any]) -> None:
        """Create a head for each number of ``box``, called ``name_i``.

        Raises :class:`UnsupportedSpace` for bounds that no head can have.
        """
        self.dtype, self.shape = np.dtype(box.dtype), tuple(int(n) for n in box.shape)
        low, high = np.ravel(box.low), np.ravel(box.high)
        self.heads = [
            _head(f"{name}_{i}", box, *bounds) for i, bounds in enumerate(zip(low, high, strict=True))
        ]
        self._numbers = HeadNumbers(self.heads)
        self._first: Array | None = None
        if self.dtype.kind in "iub":
            wide = self.dtype.kind == "u" and self.dtype.itemsize == 8
            self._first = low.astype(np.uint64 if wide else np.int64)
            return
        largest = np.finfo(self.dtype).max
        self._low, self._high = np.maximum(low, -largest), np.minimum(high, largest)

    def decode(self, decisions: Ints) -> Array:
        """Convert ``int32[..., K]`` to ``[..., *shape]`` in the box's own dtype, inside the box."""
        shape = (*decisions.shape[:-1], *self.shape)
        if self._first is not None:
            whole = self._first + self._numbers.places(decisions).astype(self._first.dtype)
            return np.asarray(whole.astype(self.dtype)).reshape(shape)
        single = self.dtype.itemsize <= 4
        numbers = self._numbers.float32(decisions) if single else self._numbers.float64(decisions)
        with np.errstate(over="ignore") if self.dtype.itemsize < 4 else contextlib.nullcontext():
            rounded = numbers.astype(self.dtype)
        # Constants, bounds that count as none, and what rounding to the dtype has moved:
        return np.asarray(np.minimum(np.maximum(rounded, self._low), self._high)).reshape(shape)


def _head(name: str, box: Box[Any], low: Any, high: Any) -> HeadSpec:
    if low == high and np.isfinite(low):
        return HeadSpec(name, 1, meaning=f"always {low}")
    if np.dtype(box.dtype).kind in "iub":
        first, last = int(low), int(high)
        if last - first >= MAX_INTEGERS:
            raise UnsupportedSpace(
                f"{name} of {box} has {last - first + 1} integers, at most {MAX_INTEGERS} can be reached; "
                "give the Box narrower bounds, or a float dtype"
            )
        if max(-first, last) > MAX_INTEGER:
            raise UnsupportedSpace(f"{name} of {box}: its integers are beyond 2**53; subtract an offset")
        return HeadSpec(name, 2, kind="continuous", low=float(first), high=float(last), integer=True)
    least, most = float(low), float(high)
    if least > NONE or most < -NONE:
        raise UnsupportedSpace(
            f"{name} of {box}: its numbers are beyond {NONE:.3g}, which float32 cannot hold; scale them"
        )
    below, above = least >= -NONE, most <= NONE
    if not below and not above:
        return HeadSpec(name, 2, kind="continuous")
    return HeadSpec(name, 2, kind="continuous", low=least if below else -OPEN, high=most if above else OPEN)


class HeadNumbers:
    """Decisions of ``K`` heads as the numbers for the game (see :class:`HeadSpec`).

    The numbers of heads that are not continuous are meaningless.
    """

    def __init__(self, heads: Sequence[HeadSpec]) -> None:
        """Prepare the bounds of ``heads``, in the order of the decisions' columns."""
        self._heads = tuple(heads)
        self._low, self._high = np.array([h.low for h in heads]), np.array([h.high for h in heads])
        self._low32, self._high32 = self._low.astype(np.float32), self._high.astype(np.float32)
        self._bounded = np.array([h.bounded for h in heads], np.bool_)
        self._range32 = np.where(self._bounded, self._high32 - self._low32, np.float32(0.0))
        self._half_open = [k for k, h in enumerate(heads) if h.half_open]
        self._integers = [k for k, h in enumerate(heads) if h.integer]
        self._count = np.array([h.high - h.low + 1.0 if h.integer else 1.0 for h in heads])

    def float32(self, decisions: Ints) -> npt.NDArray[np.float32]:
        """Convert ``int32[..., K]`` to ``float32[..., K]``."""
        u = np.ascontiguousarray(decisions).view(np.float32)
        squashed = self._low32 + (np.tanh(u) + np.float32(1.0)) * np.float32(0.5) * self._range32
        inside = np.minimum(np.maximum(squashed, self._low32), self._high32)
        value: npt.NDArray[np.float32] = np.where(self._bounded, inside, u).astype(np.float32)
        if self._integers:
            whole = (self._low + self.places(decisions)).astype(np.float32)
            value[..., self._integers] = whole[..., self._integers]
        for k in self._half_open:
            value[..., k] = _half_open(u[..., k].astype(np.float64), self._heads[k])
        return value

    def float64(self, decisions: Ints) -> npt.NDArray[np.float64]:
        """Convert ``int32[..., K]`` to ``float64[..., K]``, for heads none of which is an integer."""
        u = np.ascontiguousarray(decisions).view(np.float32).astype(np.float64)
        p = (np.tanh(u) + 1.0) * 0.5
        value: npt.NDArray[np.float64] = np.where(self._bounded, self._low * (1.0 - p) + self._high * p, u)
        for k in self._half_open:
            value[..., k] = _half_open(u[..., k], self._heads[k])
        return value

    def places(self, decisions: Ints) -> npt.NDArray[np.int64]:
        """Return ``int64[..., K]``: how far above ``low`` the integer of each head is; 0 at other heads."""
        u = np.ascontiguousarray(decisions).view(np.float32).astype(np.float64)
        share = np.where(self._count > 1.0, (np.tanh(u) + 1.0) * 0.5, 0.0)
        place: npt.NDArray[np.int64] = np.minimum(np.floor(share * self._count), self._count - 1.0).astype(
            np.int64
        )
        return place


def continuous(decisions: Ints, heads: Sequence[HeadSpec]) -> npt.NDArray[np.float32]:
    """Convert ``int32[..., K]`` to numbers: see :meth:`HeadNumbers.float32`."""
    return HeadNumbers(heads).float32(decisions)


def _half_open(u: npt.NDArray[np.float64], head: HeadSpec) -> npt.NDArray[np.float64]:
    if head.high >= OPEN:
        above: npt.NDArray[np.float64] = head.low + np.logaddexp(0.0, u)
        return above
    below: npt.NDArray[np.float64] = head.high - np.logaddexp(0.0, -u)
    return below


def decision(head: HeadSpec, value: float) -> np.int32:
    """Return the bits of ``u`` for a number of a continuous head, the inverse of decoding.

    Bounds become the nearest ``u``.
    """
    if head.integer:
        count = head.high - head.low + 1.0
        p = (np.round(np.clip(value, head.low, head.high)) - head.low + 0.5) / count
        u = float(np.arctanh(2.0 * p - 1.0))
    elif head.bounded:
        p = (value - head.low) / (head.high - head.low)
        u = float(np.arctanh(np.clip(2.0 * p - 1.0, -_EDGE, _EDGE)))
    elif head.half_open:
        distance = value - head.low if head.high >= OPEN else head.high - value
        distance = max(distance, 1e-30)
        u = float(distance + np.log(-np.expm1(-distance)))
        u = u if head.high >= OPEN else -u
    else:
        u = value
    bits: np.int32 = np.array([u], np.float32).view(np.int32)[0]
    return bits

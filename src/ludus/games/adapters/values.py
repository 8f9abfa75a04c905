"""Values of an environment: compared with their space, and converted only where that changes none.

float64 and wider floats are rounded to float32. Every other conversion keeps the value or is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ludus.flow.inputs.finite import first_of, not_finite
from ludus.flow.slab import Array
from ludus.flow.spec import DType

if TYPE_CHECKING:
    from gymnasium import Space

#: Dtypes that tensors keep; other numbers are float32 there.
KEPT: dict[str, DType] = {"uint8": "u8", "int8": "i8", "uint16": "u16", "int16": "i16", "int32": "i32"}
SLACK = 1e-6  # of a float beyond its bound, relative to the bound: rounding is no fault


def tensor_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of a tensor with the numbers of a Box of ``dtype``."""
    return dtype if str(dtype) in KEPT else np.dtype(np.float32)


def short(value: object) -> str:
    """Return ``value`` on one line of at most 60 characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def array_of(what: str, value: Any) -> Array:
    """Return ``value`` as an array of numbers. Raises ``ValueError`` that names ``what``."""
    try:
        array = value if isinstance(value, np.ndarray) else np.asarray(value)
    except Exception as error:
        raise ValueError(f"{what}: {short(value)} is no array of numbers ({error})") from None
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{what}: {short(value)} is {array.dtype}, expected an array of numbers")
    return array


def shaped(what: str, value: Any, shape: tuple[int, ...]) -> Array:
    """Return ``value`` as an array of numbers of ``shape``. Raises ``ValueError`` that names ``what``."""
    array = array_of(what, value)
    if array.shape != shape:
        raise ValueError(f"{what}: shape {array.shape}, the space has {shape}")
    return array


def kept(what: str, array: Array, dtype: np.dtype[Any]) -> Array:
    """Convert ``array`` to ``dtype``. Raises ``ValueError`` if that changes a value, apart from rounding."""
    if array.dtype == dtype or np.can_cast(array.dtype, dtype, "safe"):
        return array
    same: Any
    with np.errstate(all="ignore"):
        out = array.astype(dtype)
        if dtype.kind == "f":
            floats = array.dtype.kind == "f"
            same = np.isfinite(out) | ~np.isfinite(array) if floats else out.astype(np.longdouble) == array
        elif array.dtype.kind == "f" or dtype.kind == "b":
            same = out == array
        else:
            integers: Any = array
            least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
            same = integers <= most if array.dtype.kind == "u" else (integers >= least) & (integers <= most)
    if not same.all():
        raise ValueError(f"{what}: {first_of(array, ~same)} cannot be kept as {dtype}")
    return out


def whole(what: str, value: Any, shape: tuple[int, ...]) -> Sequence[int]:
    """Return the integers of ``value``, flat. Raises ``ValueError`` for other shapes and numbers."""
    if shape == () and isinstance(value, (int, np.integer)):
        return (int(value),)
    array = array_of(what, value)
    if array.shape != shape and not (shape == () and array.shape == (1,)):
        raise ValueError(f"{what}: shape {array.shape}, the space has {shape}")
    if array.dtype.kind == "f":
        broken = ~np.isfinite(array) | (np.floor(array) != array)
        if broken.any():
            raise ValueError(f"{what}: {first_of(array, broken)} is no integer")
    return [int(x) for x in array.ravel().tolist()]


def zeros_and_ones(what: str, array: Array) -> npt.NDArray[np.bool_]:
    """Return ``array != 0``. Raises ``ValueError`` for an element that is neither 0 nor 1."""
    bits = array != 0
    if array.dtype.kind != "b" and not (bits == array).all():
        raise ValueError(f"{what}: {first_of(array, bits != array)}, expected 0 or 1")
    return np.asarray(bits)


def difference(space: Space[Any], value: Any, where: str) -> str:
    """Describe the first part of ``value`` that is not in ``space``, and the remedy; empty for a member.

    Args:
        space: A space of fixed size.
        value: The environment's value for it.
        where: Name of the value, such as ``observation``; parts are named like ``observation['a'][0]``.
    """
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        if not isinstance(value, Mapping):
            return f"{where} is {type(value).__name__}, the space is a Dict with {', '.join(map(str, space))}"
        for key in value:
            if key not in space.spaces:
                return f"{where}[{key!r}] is not in observation_space: add it there, or leave it out"
        for key, part in space.spaces.items():
            if key not in value:
                return f"{where} has no {key!r}, which observation_space has"
            found = difference(part, value[key], f"{where}[{key!r}]")
            if found:
                return found
        return ""
    if isinstance(space, spaces.Tuple):
        if not isinstance(value, (tuple, list)) or len(value) != len(space.spaces):
            return f"{where} is {short(value)}, the space is a Tuple of {len(space.spaces)}"
        parts = (difference(s, v, f"{where}[{i}]") for i, (s, v) in enumerate(zip(space, value, strict=True)))
        return next((found for found in parts if found), "")
    try:
        return _leaf_difference(space, value, where)
    except ValueError as error:
        return f"{error}; observation_space has {short(space)}: return a member of it, or change it"


def _leaf_difference(space: Any, value: Any, where: str) -> str:
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        (number,) = whole(where, value, ())
        outside = not int(space.start) <= number < int(space.start) + int(space.n)
        return f"{where}: {number} is not in {space}" if outside else ""
    if isinstance(space, spaces.MultiDiscrete):
        array = np.asarray(whole(where, value, space.shape)).reshape(space.shape)
        wrong = (array < space.start) | (array >= space.start + space.nvec)
    elif isinstance(space, spaces.MultiBinary):
        array = shaped(where, value, space.shape)
        wrong = (array != 0) & (array != 1)
    else:
        array = shaped(where, value, space.shape)
        if broken := not_finite(where, array):
            return broken
        kept(where, kept(where, array, space.dtype), tensor_dtype(space.dtype))
        low, high = space.low, space.high
        if space.dtype.kind == "f":
            low = low - SLACK * np.maximum(1.0, np.abs(np.where(np.isfinite(low), low, 0.0)))
            high = high + SLACK * np.maximum(1.0, np.abs(np.where(np.isfinite(high), high, 0.0)))
        wrong = (array < low) | (array > high)
    if not wrong.any():
        return ""
    return (
        f"{where}: {first_of(array, wrong)} is not in {short(space)}: "
        "widen the bounds of observation_space, or clip the value"
    )

"""Finite numbers: the one rule for what a network reads and computes.

NaN and infinity are refused everywhere, whatever bounds a space declares: one of them in an observation
spreads to every output and, through the gradient, to every weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def first_of(array: npt.NDArray[Any], wrong: npt.NDArray[np.bool_]) -> str:
    """Return the first of the ``wrong`` elements with its place: ``nan at [0, 2]``."""
    place = tuple(int(i) for i in np.argwhere(wrong)[0]) if array.ndim else ()
    value = array[place].item() if place else array.item()
    return f"{value!r} at {list(place)}" if place else f"{value!r}"


def not_finite(what: str, array: npt.NDArray[Any]) -> str:
    """Return the error of ``what`` if ``array`` has NaN or infinity: the first one and its place; else ""."""
    if array.dtype.kind != "f":
        return ""
    finite = np.isfinite(array)
    if finite.all():
        return ""
    return f"{what}: {first_of(array, ~finite)} cannot be kept: networks read finite numbers only"


def all_finite(array: npt.NDArray[Any]) -> bool:
    """Return whether no number of ``array`` is NaN or infinite. Numbers that are not floats are finite."""
    return array.dtype.kind != "f" or bool(np.isfinite(array).all())

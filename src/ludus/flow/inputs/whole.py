"""Whole numbers in float form: ``1e3``, ``16.0`` and ``5.0e4`` are integers wherever an integer is expected.

Presets, options, the Python API, parameters of games and settings of players read numbers by this rule. The
core has the same one (``cpp/base/whole.hpp``).
"""

from __future__ import annotations

import math

LARGEST = 2**53  # up to here a float is one integer


def whole(value: object) -> object:
    """Return a float without a fraction as an integer; every other value unchanged."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST:
        return int(value)
    return value


def whole_text(text: str) -> int | None:
    """Return the integer of ``1_000``, ``1e3`` or ``16.0``; None for any other text."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = whole(float(text))
    except ValueError:
        return None
    return number if isinstance(number, int) else None


def number_of(text: str) -> int | float | None:
    """Return the number of a text, an integer where it is whole; None for no finite number."""
    found = whole_text(text)
    if found is not None:
        return found
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None

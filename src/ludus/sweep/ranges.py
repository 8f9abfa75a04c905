"""Ranges of a random search: uniform, log-uniform, integers, choices."""

from __future__ import annotations

import math
from typing import Any, Literal

import msgspec
import numpy as np

from ludus.flow.inputs.whole import whole

Value = str | int | float | bool | list[str | int | float | bool]
Kind = Literal["uniform", "log_uniform", "integer", "choice"]
KINDS = ("uniform", "log_uniform", "integer", "choice")
DIGITS = 6  # of a drawn number


class Range(msgspec.Struct, frozen=True):
    """Range that a setting's values are drawn from.

    ``values``: the two bounds, both included, or the options of ``choice``.
    """

    kind: Kind
    values: tuple[Value, ...]

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest value of a range of numbers."""
        low, high = self.values
        assert isinstance(low, (int, float))
        assert isinstance(high, (int, float))
        return low, high

    def corners(self) -> tuple[Value, ...]:
        """Return values that show whether all of the range is valid: its ends, or every option."""
        return self.values


def range_problem(kind: str, given: object) -> str:
    """Return the mistake in the values of a range; "" for none."""
    if kind == "choice":
        fits = isinstance(given, list) and bool(given)
        return "" if fits else "expected a list of at least one value"
    number = (int,) if kind == "integer" else (int, float)
    wanted = "two integers" if kind == "integer" else "two numbers"
    wanted = f"expected {wanted}, low < high" + (", low > 0" if kind == "log_uniform" else "")
    if not isinstance(given, list) or len(given) != 2:
        return wanted
    values: list[Any] = [whole(value) for value in given] if kind == "integer" else given
    low, high = values
    if not all(isinstance(v, number) and not isinstance(v, bool) and math.isfinite(v) for v in values):
        return wanted
    return "" if low < high and (kind != "log_uniform" or low > 0) else wanted


def draw(space: dict[str, Range], seed: int, index: int) -> dict[str, Value]:
    """Return point ``index`` of a random search, which depends only on ``seed`` and ``index``."""
    rng = np.random.Generator(np.random.Philox(key=[seed, index]))
    return {path: value_at(r, rng.random()) for path, r in space.items()}


def value_at(r: Range, share: float) -> Value:
    """Return the value of a range at ``share`` in [0, 1)."""
    if r.kind == "choice":
        return r.values[int(share * len(r.values))]
    low, high = r.bounds
    if r.kind == "integer":
        return int(low + math.floor(share * (high - low + 1)))
    if r.kind == "log_uniform":
        value = math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
    else:
        value = low + share * (high - low)
    return rounded(value, low, high)


def rounded(value: float, low: float, high: float) -> float:
    """Return ``value`` with six digits, within its bounds."""
    return min(max(float(f"{value:.{DIGITS}g}"), low), high)

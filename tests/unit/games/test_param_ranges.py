"""Readable ranges of parameters."""

from __future__ import annotations

import sys

import pytest

from ludus.flow.spec import ParamSpec
from ludus.games.python_game import declared_params, typed_params

TOP = sys.float_info.max


def test_ranges_of_parameters_are_readable() -> None:
    def make(speed: float = 1.0, size: int = 3) -> None: ...

    assert [p.range for p in declared_params(make)] == ["any number", "any integer"]
    for low, high, kind, text, expected in (
        (0, 108_000_000, "integer", "0..108000000", "an integer from 0 to 108000000"),
        (0, 1 << 30, "integer", "0..1073741824", "an integer from 0 to 1073741824"),
        (0.25, 2, "real", "0.25..2", "a number from 0.25 to 2"),
        (0, TOP, "real", ">= 0", "a finite number >= 0"),
        (-TOP, -1.5, "real", "<= -1.5", "a finite number <= -1.5"),
        (1, 2**53, "integer", ">= 1", "an integer >= 1"),
        (-(2.0**53), 2**53, "integer", "any integer", "an integer"),
        (-TOP, TOP, "real", "any number", "a finite number"),
    ):
        param = ParamSpec("p", kind, "0", low, high)  # type: ignore[arg-type]
        assert (param.range, param.expected) == (text, expected)


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999", "fast"])
def test_an_open_parameter_is_still_a_finite_number(text: str) -> None:
    def make(speed: float = 1.0) -> None: ...

    with pytest.raises(ValueError, match=rf"^parameter speed = {text}: expected a finite number$"):
        typed_params(declared_params(make), {"speed": text})

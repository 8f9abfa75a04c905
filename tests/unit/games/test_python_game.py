"""Specs of Python games: defaults, options and their errors."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from ludus.flow.spec import HeadSpec
from ludus.games.python_game import MAX_TICKS, declare, tensor

HEADS = [HeadSpec("move", 2)]


def test_a_spec_has_the_defaults_of_python_games() -> None:
    spec = declare("own", observation=[tensor("x", (1,))], heads=HEADS)
    assert (spec.title, spec.version, spec.seats, spec.max_ticks) == ("own", 1, 1, MAX_TICKS)
    assert not spec.turn_based
    assert (spec.params, spec.bots) == ((), ())
    (x,) = spec.observation
    assert (x.codec, x.scale, x.labels) == ("identity", 1.0, ())
    assert x.low == -x.high < -3.4e38


def test_options_of_a_spec_replace_the_defaults() -> None:
    bits = tensor("x", [2, 3], "bits", low=0, high=1, labels=["a", "b"], meaning="flags")
    assert (bits.shape, bits.codec, bits.labels, bits.meaning) == ((2, 3), "bits", ("a", "b"), "flags")
    assert tensor("x", (1,), codec="mine", scale=0.5).codec == "mine"
    spec = declare("own", observation=[bits], heads=HEADS, seats=2, title="Own", turn_based=True, max_ticks=9)
    assert (spec.seats, spec.title, spec.turn_based, spec.max_ticks) == (2, "Own", True, 9)


def test_an_unknown_option_is_reported_with_the_nearest_name() -> None:
    wrong: dict[str, Any] = {"turn_base": True}
    with pytest.raises(TypeError, match=r"argument 'turn_base' \(did you mean turn_based\?\)"):
        declare("own", observation=[tensor("x", (1,))], heads=HEADS, **wrong)
    wrong = {"scal": 2.0}
    with pytest.raises(TypeError, match=r"argument 'scal' \(did you mean scale\?\)"):
        tensor("x", (1,), **wrong)


def test_signatures_list_every_option_with_its_default() -> None:
    assert inspect.signature(declare).parameters["max_ticks"].default == MAX_TICKS
    assert list(inspect.signature(tensor).parameters)[-4:] == ["scale", "codec", "labels", "meaning"]

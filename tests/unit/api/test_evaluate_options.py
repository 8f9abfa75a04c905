"""Keyword options of ``ludus.evaluate``."""

from __future__ import annotations

import inspect

import pytest

import ludus
from ludus.evaluation.settings import MatchSettings
from ludus.training.api import EvaluateOptions


def test_options_are_settings_of_matches() -> None:
    """Every keyword option is a field of ``MatchSettings``, and its default is the struct's."""
    shown = inspect.signature(ludus.evaluate).parameters
    for option in EvaluateOptions.__annotations__:
        assert shown[option].default == getattr(MatchSettings(), option)
    played = ludus.evaluate("random", "random", game="tic_tac_toe", matches=6, seed=3)
    again = ludus.evaluate("random", "random", game="tic_tac_toe", matches=6, seed=3, max_ticks=9)
    assert again == played
    assert (played.matches, played.seed) == (6, 3)
    assert ludus.evaluate("random", "random", game="tic_tac_toe").matches == MatchSettings().matches


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [("matchs", r" \(did you mean matches\?\)"), ("record", ""), ("timeout_s", "")],
)
def test_an_unknown_option_is_refused(wrong: str, hint: str) -> None:
    """Settings that the public function does not offer are refused like any other name."""
    with pytest.raises(TypeError, match=rf"evaluate\(\) got an unexpected keyword argument '{wrong}'{hint}"):
        ludus.evaluate("random", "random", game="tic_tac_toe", **{wrong: 2})  # type: ignore[arg-type]

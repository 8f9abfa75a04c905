"""Shipped presets as cases of tests: a few that differ in network, method and game; the rest are slow."""

from __future__ import annotations

import pytest
from _pytest.mark.structures import ParameterSet

from ludus.presets.file import shipped_presets

FAST = frozenset(
    {
        "alphastar",  # a league
        "go9",
        "lunar-lander",  # a hosted game
        "minirts",
        "minirts-units",  # entity rows, pointers
        "moba-3v3",
        "pommerman-team",
        "tic_tac_toe-alphazero",
    }
)


def every_preset() -> list[ParameterSet]:
    """Return the names of the shipped presets, ascending."""
    names = sorted(shipped_presets())
    assert set(names) >= FAST
    return [pytest.param(name, marks=[] if name in FAST else [pytest.mark.slow]) for name in names]

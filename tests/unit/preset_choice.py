"""Shipped presets as cases of tests: a few that differ in network, method and game; the rest are slow."""

from __future__ import annotations

import functools

import pytest
from _pytest.mark.structures import ParameterSet

from ludus.games import libraries
from ludus.games.adapters import ADAPTERS
from ludus.presets.file import load_preset, shipped_presets

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


@functools.cache
def why_absent(game: str) -> str:
    """Return why a game is not on this machine; "" if it is: its library, and a scenario that is fetched."""
    family, slash, name = game.partition("/")
    if not slash or family not in ADAPTERS:
        return ""
    if family not in libraries.installed():
        return f"{family} is not installed"
    if family == "vizdoom":
        from ludus.games.adapters.vizdoom.scenario import config_of, scenario_of

        if scenario_of(name).source == "fetched":
            try:
                config_of(name)
            except ValueError as error:
                return str(error)
    return ""


def why_preset_absent(name: str) -> str:
    """Return why the game of a shipped preset is not on this machine; "" if it is."""
    return why_absent(load_preset(name).preset.game.name)


def need(name: str) -> None:
    """Skip the test if the game of a shipped preset is not on this machine."""
    if why := why_preset_absent(name):
        pytest.skip(why)

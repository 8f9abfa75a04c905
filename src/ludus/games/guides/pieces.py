"""Units of a game with their numbers, as its rulebook has them under the parameters of a match."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any

import msgspec

from ludus.flow.inputs.decode import from_toml
from ludus.games import rulebook
from ludus.games.guides.declared import PieceText
from ludus.games.guides.guide import PieceGuide

PARAMETER = "rulebook"
#: Key of a unit -> words of its quantity.
_FACTS: Mapping[str, str] = {
    "hp": "hit points",
    "defence": "armour",
    "attack": "damage",
    "attack_range": "range",
    "range": "range",
    "vision": "sight",
    "speed": "cells a tick",
    "mana": "mana",
}
_NUMBERS = ("cost", *_FACTS)


class UnitTable(msgspec.Struct, frozen=True):
    """One unit of a rulebook: its keys with their values as text."""

    name: str
    keys: Mapping[str, str]

    def number(self, key: str) -> float:
        """Return a number; 0 where there is none."""
        try:
            return float(self.keys.get(key, "0") or 0)
        except ValueError:
            return 0.0

    def listed(self, key: str) -> tuple[str, ...]:
        """Return the names of a list."""
        return tuple(name for name in self.keys.get(key, "").split(",") if name)

    @property
    def is_building(self) -> bool:
        """Whether it stays where it is."""
        return self.keys.get("building") == "true"


def title_of(name: str) -> str:
    """Return a unit's name as people read it."""
    return name.replace("_", " ")


def units_of(game: str, path: str, params: Mapping[str, Any]) -> dict[str, UnitTable]:
    """Return the units of a game.

    Args:
        game: Name of the game.
        path: Path of the tables of units in its rulebook; ``.``: the top level.
        params: Parameters of the match.
    """
    tables = _tables(game, "" if path == "." else f"{path}.", params)
    return {name: UnitTable(name, keys) for name, keys in tables.items() if "hp" in keys}


def bots_of(game: str, params: Mapping[str, Any]) -> dict[str, str]:
    """Return the rules of the bots that the rulebook of a match declares, in words."""
    return {
        name: _bot(keys) for name, keys in _tables(game, "bots.", params).items() if keys.get("gatherers")
    }


def _bot(keys: Mapping[str, str]) -> str:
    builds, trains = (_named(keys.get(key, "")) for key in ("builds", "trains"))
    first = [f"makes {keys['gatherers']} gatherers", f"puts up {builds}" if builds else ""]
    rarer = ", the rarer kind first" if " and " in trains else ""
    fights = "shoots and steps back" if keys.get("skirmish") == "true" else "attacks your base"
    steps = ", ".join(step for step in first if step)
    return (
        f"It {steps}, then trains {trains}{rarer}. From {keys.get('attack_at', '1')} troops on it {fights}, "
        "and it turns on enemies near its base or resource."
    )


def _named(names: str) -> str:
    return " and ".join(title_of(name) for name in names.split(",") if name)


def _tables(game: str, prefix: str, params: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the tables below a path of the rulebook, each with its keys."""
    tables: dict[str, dict[str, str]] = {}
    for key, value in _keys(game, str(params.get(PARAMETER, "") or "")).items():
        name, dot, inner = key.removeprefix(prefix).partition(".")
        if dot and key.startswith(prefix):
            tables.setdefault(name, {})[inner] = value
    return tables


def _keys(game: str, given: str) -> dict[str, str]:
    """Return every key of the rulebook that a match is played by."""
    if game == rulebook.GAME:
        return rulebook.keys(given or "extended")
    file = resources.files("ludus.games").joinpath("rulebooks", f"{game}.toml")
    lines = list(rulebook.flatten(from_toml(file.read_text("utf-8")))) if file.is_file() else []
    return dict(line.split("=", 1) for line in (*lines, *given.splitlines()) if "=" in line)


def pieces_of(units: Mapping[str, UnitTable], texts: Mapping[str, PieceText]) -> tuple[PieceGuide, ...]:
    """Return the explanations of units, with the texts that are declared."""
    makers: dict[str, list[str]] = {}
    for unit in units.values():
        for made in unit.listed("builds"):
            makers.setdefault(made, []).append(unit.name)
    return tuple(
        PieceGuide(
            name=name,
            title=(texts[name].title if name in texts else "") or title_of(name),
            does=(texts[name].does if name in texts else "") or _does(unit),
            cost=unit.number("cost"),
            made_by=tuple(makers.get(name, ())),
            facts=_facts(unit),
        )
        for name, unit in units.items()
    )


def _facts(unit: UnitTable) -> tuple[tuple[str, str], ...]:
    """Return what a unit's numbers are; one that cannot be hurt has no hit points to speak of."""
    shown = [key for key in _FACTS if unit.number(key) != 0]
    if unit.keys.get("invulnerable") == "true":
        shown = [key for key in shown if key not in ("hp", "defence")]
    return tuple((_FACTS[key], f"{unit.number(key):g}") for key in shown)


def _does(unit: UnitTable) -> str:
    """Return what a unit is for, by its numbers."""
    accepts, builds = unit.listed("accepts"), " or ".join(map(title_of, unit.listed("builds")))
    if "gather" in accepts:
        return "Gathers money" + (f", and puts up a {builds}." if builds else ".")
    if unit.is_building:
        made = f"It makes a {builds}." if builds else ""
        shoots = "It shoots at enemies in reach." if "attack" in accepts else ""
        return " ".join(part for part in ("A building.", made, shoots) if part)
    if "attack" in accepts:
        far = unit.number("attack_range") > 1
        return "Fights from a distance." if far else "Fights hand to hand."
    return "It stays where it is."

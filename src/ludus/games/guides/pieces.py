"""Units of a game with their numbers, as its rulebook has them under the parameters of a match."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
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
#: Kind of an ability -> what it does, with the keys of its table.
_ABILITIES: Mapping[str, str] = {
    "strike": "takes {power} hit points from an enemy within {range} cells",
    "around": "takes {power} hit points from every enemy within {range} cells",
    "heal": "gives {power} hit points to an ally within {range} cells",
    "stun": "an enemy within {range} cells can do nothing for {ticks} ticks and loses {power} hit points",
    "slow": "an enemy within {range} cells is {slow}% slower for {ticks} ticks and loses {power} hit points",
    "dash": "jumps up to {range} cells",
}
_UNIT = {"hp", "defence"}  # keys that every table of a unit has, and no other
_ORDINALS = ("first", "second", "third", "fourth")


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


def with_article(noun: str) -> str:
    """Return a noun with its indefinite article."""
    return f"{'an' if noun[:1] in 'aeio' else 'a'} {noun}"


def units_of(game: str, path: str, params: Mapping[str, Any]) -> dict[str, UnitTable]:
    """Return the units of a game.

    Args:
        game: Name of the game.
        path: Paths of the tables of units in its rulebook, with spaces between them; ``.``: the top level.
        params: Parameters of the match.
    """
    tables: dict[str, dict[str, str]] = {}
    for part in path.split():
        tables |= _tables(game, "" if part == "." else f"{part}.", params)
    return {name: UnitTable(name, keys) for name, keys in tables.items() if keys.keys() >= _UNIT}


def bots_of(game: str, params: Mapping[str, Any]) -> dict[str, str]:
    """Return the rules of the bots that the rulebook of a match declares, in words."""
    return {
        name: _bot(keys) for name, keys in _tables(game, "bots.", params).items() if keys.get("gatherers")
    }


def _bot(keys: Mapping[str, str]) -> str:
    trains = " and ".join(map(title_of, _names(keys, "trains")))
    builds = " and ".join(with_article(title_of(name)) for name in _names(keys, "builds"))
    first = [f"makes {keys['gatherers']} gatherers", f"puts up {builds}" if builds else ""]
    rarer = ", the rarer kind first" if " and " in trains else ""
    fights = "shoots and steps back" if keys.get("skirmish") == "true" else "attacks your base"
    steps = ", ".join(step for step in first if step)
    return (
        f"It {steps}, then trains troops ({trains}){rarer}. From {keys.get('attack_at', '1')} troops on it "
        f"{fights}, and it turns on enemies near its base or resource."
    )


def _either(parts: list[str]) -> str:
    return " or ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def _names(keys: Mapping[str, str], key: str) -> list[str]:
    return [name for name in keys.get(key, "").split(",") if name]


def _tables(game: str, prefix: str, params: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the tables below a path of the rulebook, each with its keys."""
    tables: dict[str, dict[str, str]] = {}
    for key, value in keys_of(game, params).items():
        name, dot, inner = key.removeprefix(prefix).partition(".")
        if dot and key.startswith(prefix):
            tables.setdefault(name, {})[inner] = value
    return tables


def keys_of(game: str, params: Mapping[str, Any]) -> Mapping[str, str]:
    """Return every key of the rulebook that a match is played by, with its value as text."""
    return _keys(game, str(params.get(PARAMETER, "") or ""))


@functools.lru_cache(maxsize=16)
def _keys(game: str, given: str) -> Mapping[str, str]:
    if game == rulebook.GAME:
        return rulebook.keys(given or "extended")
    file = resources.files("ludus.games").joinpath("rulebooks", f"{game}.toml")
    lines = list(rulebook.flatten(from_toml(file.read_text("utf-8")))) if file.is_file() else []
    pairs = (line.partition("#")[0].partition("=") for line in (*lines, *given.splitlines()))
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}


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
    numbers = [(_FACTS[key], f"{unit.number(key):g}") for key in shown]
    return (*numbers, *_abilities(unit))


def _abilities(unit: UnitTable) -> Iterator[tuple[str, str]]:
    """Yield the abilities of a unit: which one, and what it does and costs at the first level."""
    for number, ordinal in enumerate(_ORDINALS, 1):
        of = f"ability_{number}."
        keys = {key.removeprefix(of): value for key, value in unit.keys.items() if key.startswith(of)}
        does = _ABILITIES.get(keys.get("kind", ""))
        if does is None:
            continue
        for key in keys:
            does = does.replace(f"{{{key}}}", f"{unit.number(of + key):g}")
        price = f"{unit.number(of + 'mana'):g} mana, ready again after {unit.number(of + 'cooldown'):g} ticks"
        yield f"{ordinal} ability", f"{keys['kind']}: {does}; {price}"


def _does(unit: UnitTable) -> str:
    """Return what a unit is for, by its numbers."""
    accepts = unit.listed("accepts")
    builds = _either([with_article(title_of(name)) for name in unit.listed("builds")])
    if "gather" in accepts:
        return "Gathers money" + (f", and puts up {builds}." if builds else ".")
    if unit.is_building:
        made = f"It makes {builds}." if builds else ""
        shoots = "It shoots at enemies in reach." if "attack" in accepts else ""
        return " ".join(part for part in ("A building.", made, shoots) if part)
    if "attack" in accepts:
        reach = unit.number("attack_range")
        return f"Hits enemies up to {reach:g} cells away." if reach > 1 else "Fights hand to hand."
    return "It stays where it is."

"""Rewards as data: ``shaping.toml``.

A table pays for the changes of game variables between two decisions. Sample Factory's are in
``deathmatch`` and ``duel``, TLeague's in ``navigation`` and ``cig``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Any

import msgspec

from ludus.flow.inputs.decode import from_toml

READY = 5  # decisions with one weapon, after which it counts as ready


class Explore(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A reward for each square of ``cell`` map units that a player enters first in a match."""

    cell: float
    reward: float


class Motion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rewards by the distance of a decision, in map units."""

    far: float
    near: float
    moved: float
    stood: float
    between: float


class Shaping(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of rewards; ``shaping.toml`` explains the fields."""

    meaning: str
    scenario: float = 1.0
    alive: float = 0.0
    delta: dict[str, tuple[float, float]] = {}
    rise: dict[str, float] = {}
    limits: dict[str, float] = {}
    selected: dict[str, float] = {}
    explore: Explore | None = None
    motion: Motion | None = None

    @property
    def plain(self) -> bool:
        """Whether the table pays only the scenario's reward."""
        return not (self.alive or self.delta or self.rise or self.selected or self.explore or self.motion)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the game variables that the table reads."""
        names = [*self.delta, *self.rise, "dead"]
        if self.selected:
            names += ["selected_weapon", "selected_weapon_ammo"]
        if self.explore or self.motion:
            names += ["position_x", "position_y", "damage_taken"]
        return tuple(dict.fromkeys(names))


#: Parts of a table that a parameter multiplies, which a population can tune: beginnings of variables.
PARTS = {
    "frag_factor": ("fragcount", "deathcount"),
    "hit_factor": ("damagecount", "hitcount", "hits_taken", "damage_taken"),
    "item_factor": ("health", "armor", "weapon", "ammo", "selected_weapon_ammo"),
}


def weighted(shaping: Shaping, factors: Mapping[str, float]) -> Shaping:
    """Return ``shaping`` with the variables of each part of :data:`PARTS` multiplied by its factor."""
    delta = {
        name: (up * factor, down * factor)
        for name, (up, down) in shaping.delta.items()
        for factor in [next((factors[p] for p, names in PARTS.items() if name.startswith(names)), 1.0)]
    }
    return msgspec.structs.replace(shaping, delta=delta)


@lru_cache(maxsize=1)
def shapings() -> dict[str, Shaping]:
    """Return the tables by name."""
    text = resources.files(__package__).joinpath("shaping.toml").read_text(encoding="utf-8")
    return {name: msgspec.convert(table, Shaping) for name, table in from_toml(text).items()}


class Shaper:
    """The shaped reward of one player in one match."""

    def __init__(self, shaping: Shaping) -> None:
        """Pay by ``shaping``."""
        self._shaping = shaping
        self._before: dict[str, float] = {}
        self._weapons: list[int] = []
        self._seen: set[tuple[int, int]] = set()

    def start(self, values: dict[str, float]) -> None:
        """Start a match in which the variables have these values."""
        self._before, self._weapons, self._seen = values, [], set()
        self._cell(values)

    def reward(self, scenario: float, values: dict[str, float], over: bool) -> float:
        """Return the reward of a decision.

        Args:
            scenario: The scenario's own reward of the decision.
            values: Game variables after it.
            over: Whether the match is over. Variables count for nothing then.
        """
        shaping, before = self._shaping, self._before
        self._before = values
        paid = shaping.scenario * scenario
        if over:
            return paid
        paid, selected = paid + shaping.alive, self._selected(values)
        if before["dead"] and not values["dead"]:
            self._cell(values)
            return paid
        paid += selected
        for name, (up, down) in shaping.delta.items():
            change = min(values[name] - before[name], shaping.limits.get(name, math.inf))
            paid += change * up if change > 0 else -change * down
        for name, reward in shaping.rise.items():
            paid += reward if values[name] > before[name] else 0.0
        return paid + self._moved(before, values)

    def _selected(self, values: dict[str, float]) -> float:
        if not self._shaping.selected:
            return 0.0
        weapon = int(values["selected_weapon"])
        self._weapons = [*self._weapons[1 - READY :], weapon]
        ready = len(self._weapons) == READY and set(self._weapons) == {weapon}
        if not ready or values["selected_weapon_ammo"] <= 0:
            return 0.0
        return self._shaping.selected.get(str(weapon), 0.0)

    def _moved(self, before: dict[str, float], values: dict[str, float]) -> float:
        shaping, paid = self._shaping, 0.0
        if shaping.explore is not None and not values["dead"] and self._cell(values):
            paid += shaping.explore.reward
        if shaping.motion is None:
            return paid
        far = math.hypot(
            values["position_x"] - before["position_x"], values["position_y"] - before["position_y"]
        )
        unhurt = values["damage_taken"] <= before["damage_taken"]
        if far > shaping.motion.far and unhurt:
            return paid + shaping.motion.moved
        return paid + (shaping.motion.stood if far < shaping.motion.near else shaping.motion.between)

    def _cell(self, values: dict[str, float]) -> bool:
        """Note the cell in which the player stands. True if it was not there before."""
        if self._shaping.explore is None:
            return False
        side = self._shaping.explore.cell
        at = (int(values["position_x"] // side), int(values["position_y"] // side))
        new = at not in self._seen
        self._seen.add(at)
        return new


class VariableReader:
    """Reads game variables of an engine by name, whether its scenario lists them or not."""

    def __init__(self, names: tuple[str, ...]) -> None:
        """Read the variables of these names, in lower case."""
        import vizdoom

        self._variables = {name: getattr(vizdoom.GameVariable, name.upper()) for name in names}

    def read(self, game: Any) -> dict[str, float]:
        """Return the values that a running engine has now."""
        return {name: game.get_game_variable(variable) for name, variable in self._variables.items()}

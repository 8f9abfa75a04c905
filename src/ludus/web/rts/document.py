"""The view document of the RTS games, as the replay page reads it.

What the page needs of a moment; ``view()`` of the games under cpp/games/rts writes more. Lengths are cells
(0,0 is the centre of the top left cell, x right, y down), times are ticks.
"""

from __future__ import annotations

import msgspec


class UnitView(msgspec.Struct):
    """One unit.

    ``command`` is ``idle`` or what it does, since tick ``since``; ``target`` is a unit's id or -1, ``to``
    the point that the command names, ``builds`` a type, ``base`` where a gatherer carries to. ``carries``:
    it has the flag. ``cooldown`` holds the share (0..1) still to wait of each kind that runs. ``seat`` is
    -1 for what belongs to no seat, and may be past the seats of the match for what the rules play.
    """

    id: int
    seat: int
    type: str
    x: float
    y: float
    hp: int
    max_hp: int
    command: str = "idle"
    phase: int = 0
    since: int = -1
    target: int = -1
    base: int = -1
    to: tuple[float, float] | None = None
    builds: str = ""
    carries: bool = False
    cooldown: dict[str, float] = {}


class BulletView(msgspec.Struct):
    """A projectile.

    ``state``: ``ready`` in flight, ``explode1`` to ``explode3`` while it bursts, ``done``.
    """

    shooter: int
    x: float
    y: float
    state: str = "ready"


class HeroView(msgspec.Struct):
    """A hero, dead or alive: a unit that a seat is. Numbers that the document does not have are -1.

    ``kind`` is its class; ``id`` its unit, or -1 while it is dead; ``worth`` its gold and what it has spent;
    ``cooldowns`` ticks until each ability is ready; ``respawn`` ticks until it is back.
    """

    seat: int
    kind: str = msgspec.field(name="class", default="")
    id: int = -1
    level: int = -1
    tier: int = -1
    gold: int = -1
    worth: int = -1
    mana: int = -1
    max_mana: int = -1
    cooldowns: list[int] = []
    respawn: int = -1
    kills: int = -1
    deaths: int = -1
    last_hits: int = -1


class MapView(msgspec.Struct):
    """``terrain``: one string a row, ``.`` free and ``#`` wall; empty means free everywhere."""

    width: int
    height: int
    terrain: list[str] = []


class RtsView(msgspec.Struct):
    """One moment of a match on a map.

    ``money`` or ``score``: one number a seat. ``roles``: of each type, one of :data:`ROLES`. ``seen``: for
    each seat one string a row, ``1`` where the seat sees the cell and ``0`` elsewhere; empty when the game
    has no fog. ``heroes``: heroes of the seats, the same ones in every document. ``winner``: a seat or -1.
    """

    tick: int
    map: MapView
    units: list[UnitView]
    money: list[int] = []
    score: list[int] = []
    roles: dict[str, str] = {}
    bullets: list[BulletView] = []
    seen: list[list[str]] = []
    heroes: list[HeroView] = []
    winner: int = -1
    over: bool = False

    @property
    def amounts(self) -> list[int]:
        """Points of each seat where the game has them, else its money."""
        return self.score or self.money

    def role(self, unit_type: str) -> str:
        """Return the role of a unit type for the viewer; a type that is not listed is a troop."""
        return self.roles.get(unit_type, "troop")


# Roles of unit types for the viewer: size in the drawing, part of the army or not, alarm when lost.
ROLES = ("resource", "worker", "troop", "building", "base", "tower", "flag")

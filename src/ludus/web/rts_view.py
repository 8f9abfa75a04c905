"""The view document of the RTS games, as the replay page reads it.

What the page needs of a moment; ``view()`` of the games under cpp/games/rts writes more. Lengths are cells
(0,0 is the centre of the top left cell, x right, y down), times are ticks.
"""

from __future__ import annotations

import msgspec


class UnitView(msgspec.Struct):
    """One unit.

    ``command`` is ``idle`` or what it does, since tick ``since``; ``target`` is a unit's id or -1, ``to``
    the point that the command names, ``builds`` a type, ``base`` where a gatherer carries to. ``cooldown``
    holds the share (0..1) still to wait of each kind that runs.
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
    cooldown: dict[str, float] = {}


class BulletView(msgspec.Struct):
    """A projectile. ``state``: ``ready`` in flight, ``explode1`` to ``explode3`` while it bursts,
    ``done``."""

    shooter: int
    x: float
    y: float
    state: str = "ready"


class MapView(msgspec.Struct):
    """``terrain``: one string a row, ``.`` free and ``#`` wall; empty means free everywhere."""

    width: int
    height: int
    terrain: list[str] = []


class RtsView(msgspec.Struct):
    """One moment of a match on a map.

    ``money``: one number a seat. ``seen``: for each seat one string a row, ``1`` where the seat sees the
    cell and ``0`` elsewhere; empty when the game has no fog. ``winner``: a seat or -1. ``roles``: what types
    are to the viewer (resource, worker, troop, building, base), where the game says it.
    """

    tick: int
    map: MapView
    units: list[UnitView]
    money: list[int]
    bullets: list[BulletView] = []
    seen: list[list[str]] = []
    winner: int = -1
    over: bool = False
    roles: dict[str, str] = {}


# What each type is to the viewer: how large it is drawn, what counts as army, which loss is an alarm.
ROLES = {
    "resource": "resource",
    "worker": "worker",
    "melee_attacker": "troop",
    "range_attacker": "troop",
    "barracks": "building",
    "base": "base",
}


def role(unit_type: str, roles: dict[str, str]) -> str:
    """What a type is to the viewer; one that nobody has said anything about counts as a troop."""
    return roles.get(unit_type) or ROLES.get(unit_type, "troop")

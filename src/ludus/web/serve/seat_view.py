"""Seat views: what of a game's view document a seat may see.

A seat's documents depend only on its observations: while two matches look the same to a seat, its documents
are equal byte for byte. So a cut keeps what the observation has and what follows from it. A unit's id is a
number of the viewer's own, since the game's running number counts what was made out of sight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from ludus.flow.names import did_you_mean

Document = dict[str, Any]
_Cut = Callable[["SeatView", Document], Document]

_STEPS = 255  # of a map's side, and of a share: observations have bytes
_FOG = 5  # the item of a cell of an arena that is not seen
#: Fields of a map that every seat knows.
_OPEN = ("game", "tick", "map", "over", "winner", "roles", "score")
#: Fields of a unit that every seat sees, and fields that only its seat knows.
_LOOKS = ("id", "seat", "type", "x", "y", "hp", "max_hp", "built", "carries")
_ORDERS = ("command", "phase", "builds")
_COOLDOWNS = ("attack", "gather", "build")
_UNITS_OF_ORDERS = ("target", "base")
#: Fields of a hero that everyone who sees it knows, and fields that only its team knows.
_OF_HEROES_IN_SIGHT = ("class", "level", "tier")
_OF_OWN_HEROES = (
    *_OF_HEROES_IN_SIGHT, "gold", "worth", "mana", "max_mana", "cooldowns", "respawn", "kills", "deaths",
    "last_hits",
)  # fmt: skip


class SeatView:
    """The documents of one match for one viewer. Not safe for several threads.

    Cut every moment that the seat may observe, in order: a unit that is out of sight in between is a new one.

    Args:
        seats: The viewer's seats; together they see what any of them sees.
        how: ``hide`` of the game's view: ``map``, ``arena``, ``cards``, "" (hide nothing), or
            ``module:function`` of a game of one's own, called with the document and the only seat.
        mates: Other seats of their team, whose heroes' numbers the viewer sees.

    Raises:
        ValueError: An unknown cut, one that cannot be imported, or several seats for a game's own cut.
    """

    def __init__(self, seats: int | Sequence[int], how: str, mates: Sequence[int] = ()) -> None:
        """Start with a viewer who has seen nothing: see the class."""
        self.seats = (seats,) if isinstance(seats, int) else tuple(seats)
        self.team = frozenset((*self.seats, *mates))
        self._cut = _cut_named(how, self.seats)
        self._shown: dict[int, int] = {}  # the game's id of a unit in sight -> the viewer's
        self._next = 1
        self._tick = -1

    def cut(self, document: Document) -> Document:
        """Return the document of the same moment without what the seats do not see.

        ``document`` is left as it is; the result shares parts of it.
        """
        return self._cut(self, document)

    def ids(self, units: Sequence[Mapping[str, Any]], tick: int) -> Mapping[int, int]:
        """Return the viewer's numbers of the units in sight, by the game's ids.

        A unit keeps its number while it is in sight. One that comes into sight has the next number, also if
        it was seen before: the viewer cannot know.
        """
        if tick < self._tick:  # taken back: the game may give its ids again
            self._shown.clear()
        self._tick = tick
        shown = {}
        for unit in units:
            number = self._shown.get(unit["id"])
            if number is None:
                number, self._next = self._next, self._next + 1
            shown[unit["id"]] = number
        self._shown = shown
        return shown


def cut(document: Document, seats: int | Sequence[int], how: str) -> Document:
    """Return one moment as :class:`SeatView` cuts it for a viewer who has seen nothing before."""
    return SeatView(seats, how).cut(document)


def _cut_map(view: SeatView, document: Document) -> Document:
    """Cut a map: units in cells that are seen, own orders and money."""
    grids = [document["seen"][seat] for seat in view.seats] if document.get("seen") else []
    units = [
        unit
        for unit in document["units"]
        if unit["seat"] in view.seats or _is_known(unit, document) or _in_sight(unit, grids)
    ]
    ids = view.ids(units, document["tick"])
    out: Document = {name: document[name] for name in _OPEN if name in document}
    if "money" in document:
        out["money"] = [m if s in view.seats else None for s, m in enumerate(document["money"])]
    side = max(document["map"]["width"], document["map"]["height"])
    out["units"] = [_unit_seen(unit, view.seats, ids, side) for unit in units]
    own = {unit["id"] for unit in units if unit["seat"] in view.seats}
    out["bullets"] = [
        {
            **bullet,
            **_place((bullet["x"], bullet["y"]), side),
            "shooter": ids[bullet["shooter"]],
            "target": ids[bullet["target"]],
        }
        for bullet in document["bullets"]
        if bullet["shooter"] in own and bullet["target"] in ids and _in_sight(bullet, grids)
    ]
    if "seen" in document:
        out["seen"] = [rows if s in view.seats else [] for s, rows in enumerate(document["seen"])]
    if "heroes" in document:
        out["heroes"] = [_hero_seen(hero, hero["seat"] in view.team, ids) for hero in document["heroes"]]
    return out


def _hero_seen(hero: Mapping[str, Any], ours: bool, ids: Mapping[int, int]) -> Document:
    """Return the numbers of a hero of the own team, or the looks of another one in sight."""
    in_sight = hero["id"] in ids
    names = _OF_OWN_HEROES if ours else _OF_HEROES_IN_SIGHT if in_sight else ()
    return {
        "seat": hero["seat"],
        "id": ids[hero["id"]] if in_sight else -1,
        **{name: hero[name] for name in names if name in hero},
    }


def _is_known(unit: Mapping[str, Any], document: Document) -> bool:
    """Whether every seat knows where a unit is: the flag and its carrier."""
    return "carries" in unit or document["roles"].get(unit["type"]) == "flag"


def _in_sight(thing: Mapping[str, Any], grids: Sequence[Sequence[str]]) -> bool:
    """Whether a thing is in a cell that is seen; no grids: everything is."""
    x, y = int(thing["x"] + 0.5), int(thing["y"] + 0.5)
    if not grids:
        return True
    return any(0 <= y < len(rows) and 0 <= x < len(rows[y]) and rows[y][x] == "1" for rows in grids)


def _place(point: Sequence[float], side: int) -> dict[str, float]:
    """Return a point of a map as exactly as observations have it: paths differ by less, out of sight."""
    x, y = (round(int((v + 0.5) / side * _STEPS + 0.5) / _STEPS * side - 0.5, 3) for v in point)
    return {"x": x, "y": y}


def _unit_seen(unit: Mapping[str, Any], seats: Sequence[int], ids: Mapping[int, int], side: int) -> Document:
    out = {name: unit[name] for name in _LOOKS if name in unit}
    out |= {"id": ids[unit["id"]], **_place((unit["x"], unit["y"]), side)}
    if unit["seat"] not in seats:
        return out
    out |= {name: unit[name] for name in _ORDERS if name in unit}
    if "to" in unit:
        out["to"] = list(_place(unit["to"], side).values())
    waits = unit.get("cooldown", {})
    out["cooldown"] = {
        name: round(int(waits[name] * _STEPS + 0.5) / _STEPS, 3) for name in _COOLDOWNS if name in waits
    }
    # An order may name a unit that is out of sight.
    return out | {name: ids[unit[name]] for name in _UNITS_OF_ORDERS if unit.get(name) in ids}


def _cut_arena(view: SeatView, document: Document) -> Document:
    """Cut an arena: cells near an agent of the viewer; no power-up under wood, no one else's equipment."""
    agents, radius = document["agents"], document["view_radius"]
    places = [(agents[seat]["row"], agents[seat]["column"]) for seat in view.seats]

    def seen(row: int, column: int) -> bool:
        return radius == 0 or any(max(abs(row - r), abs(column - c)) <= radius for r, c in places)

    bombs: dict[tuple[int, int], Document] = {}  # the last of a cell counts, as in the observation
    for bomb in document["bombs"]:
        if seen(bomb["row"], bomb["column"]):
            bombs[bomb["row"], bomb["column"]] = {**bomb, "seat": -1}
    flames: dict[tuple[int, int], Document] = {}  # the youngest of a cell
    for flame in sorted(document["flames"], key=lambda f: f["life"]):
        if seen(flame["row"], flame["column"]):
            flames[flame["row"], flame["column"]] = flame
    return {
        **{name: document[name] for name in ("game", "tick", "size", "over", "view_radius", "teams")},
        "board": [
            [item if seen(r, c) else _FOG for c, item in enumerate(row)]
            for r, row in enumerate(document["board"])
        ],
        "hidden": [[0] * len(row) for row in document["hidden"]],
        "agents": [
            agent if agent["seat"] in view.seats else _agent_seen(agent, seen(agent["row"], agent["column"]))
            for agent in agents
        ],
        "bombs": [bombs[at] for at in sorted(bombs)],
        "flames": [flames[at] for at in sorted(flames)],
    }


def _agent_seen(agent: Mapping[str, Any], near: bool) -> Document:
    """Return another agent: whether it lives, and where, if it does near a viewer."""
    names = ("seat", "alive", "row", "column") if near and agent["alive"] else ("seat", "alive")
    return {name: agent[name] for name in names}


def _cut_cards(view: SeatView, document: Document) -> Document:
    """Cut a poker table: the others' cards until they are shown, the table's until they are dealt."""
    cards = document["cards"]
    seats = len(document["paid"]) if "paid" in document else len(cards)
    last = document.get("choices", ())[-2:]
    folded = document.get("folded", -1) >= 0 or last == ["bet", "pass"]
    shown = set(view.seats) | (set(range(seats)) if document["over"] and not folded else set())
    if document.get("round", 0) > 0:
        shown |= set(range(seats, len(cards)))
    return {**document, "cards": [card if i in shown else None for i, card in enumerate(cards)]}


def _cut_choices(view: SeatView, document: Document) -> Document:
    """Cut a table: the others' choices until the match is over."""
    if document["over"]:
        return document
    choices = enumerate(document["actions"])
    return {**document, "actions": [choice if seat in view.seats else -1 for seat, choice in choices]}


_CUTS: Mapping[str, _Cut] = {
    "": lambda _, document: document,
    "map": _cut_map,
    "arena": _cut_arena,
    "cards": _cut_cards,
    "choices": _cut_choices,
}


def _cut_named(how: str, seats: Sequence[int]) -> _Cut:
    """Return a cut by its name. Raises ``ValueError``."""
    if how in _CUTS:
        return _CUTS[how]
    module, colon, function = how.partition(":")
    if not colon:
        raise ValueError(f"unknown cut {how!r}{did_you_mean(how, [c for c in _CUTS if c])}")
    if len(seats) != 1:
        raise ValueError(f"cut {how}: it shows one seat, expected one person, found {len(seats)}")
    try:
        own = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"cut {how}: cannot be loaded: {error}") from error
    (seat,) = seats
    return lambda _, document: dict(own(document, seat))

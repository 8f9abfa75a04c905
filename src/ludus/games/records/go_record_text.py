"""A record of Go as SGF: nodes that a reader takes for the same position with the same side to move."""

from __future__ import annotations

from collections.abc import Mapping

from ludus.games.records.go_record import LEAST_POINTS, OWN, SERVER_KOMI, GoRecord, Point, Setup
from ludus.games.records.sgf import Node
from ludus.version import __version__


def tree(made: GoRecord, more: Mapping[str, str] | None = None) -> Node:
    """Return a game of one line as nodes, ready for :func:`ludus.games.records.sgf.write`."""
    root = Node({"GM": ["1"], "FF": ["4"], "CA": ["UTF-8"], "SZ": [str(made.size)]})
    if made.komi is not None:
        root.properties["KM"] = [_komi_text(made.komi)]
    if made.handicap and not _would_be_placed(made):
        root.properties["HA"] = [str(made.handicap)]
    root.properties |= _stones(Setup(made.black, made.white, first=_first_of(made)))
    if made.result:
        root.properties["RE"] = [made.result]
    for name, value in {**made.info, **(more or {})}.items():
        root.properties[name] = [value]
    if made.komi is not None and (
        made.komi in SERVER_KOMI or abs(made.komi) > max(made.size**2, LEAST_POINTS)
    ):
        root.properties["AP"] = [f"{OWN}{__version__}"]  # else the komi would be read as another
    node = root
    for number, (colour, point) in enumerate(made.moves, 1):
        node.children.append(Node({colour: [_text(point)]}))
        node = node.children[0]
        if number in made.setups:
            node.children.append(Node(_stones(made.setups[number])))
            node = node.children[0]
    return root


def _komi_text(komi: float) -> str:
    return f"{komi:g}" if abs(komi) < 1000 else str(komi)


def _first_of(made: GoRecord) -> str:
    """Return the colour that ``PL`` of the root names: it is needed wherever programs would take another."""
    if made.first or made.moves or not (made.black or made.white):
        return made.first
    return "W" if made.handicap >= 2 and not made.white else "B"


def _would_be_placed(made: GoRecord) -> bool:
    """Whether a reader of ``HA`` would set up stones that the record does not have."""
    mover = made.moves[0][0] if made.moves else made.first or "W"
    return made.handicap >= 2 and not made.black and not made.white and mover == "W"


def _stones(setup: Setup) -> dict[str, list[str]]:
    points = {"AB": setup.black, "AW": setup.white, "AE": setup.empty}
    properties = {name: [_text(p) for p in found] for name, found in points.items() if found}
    return properties | ({"PL": [setup.first]} if setup.first else {})


def _text(point: Point | None) -> str:
    return "" if point is None else chr(97 + point[0]) + chr(97 + point[1])

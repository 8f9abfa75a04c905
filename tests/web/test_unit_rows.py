"""The page finds the rows of an observation by the order of a document's units: own ones first.

``static/app/units.js`` relies on it: heads that point at units take row numbers.
"""

from __future__ import annotations

import numpy as np

from ludus.games.match import Match
from ludus.web.serve.seat_view import SeatView

PARAMS = {"commands": "units"}
SIDE = 20
Row = tuple[bool, int, int]  # own, x and y as the observation has them


def _observed(match: Match, seat: int) -> list[Row]:
    """Return the units of the seat's observation."""
    tensor = next(t for t in match.spec.observation if t.name == "units")
    own, x, y = (tensor.labels.index(name) for name in ("own", "x", "y"))
    seen = np.asarray(match.observe(seat)["units"])
    return [(bool(row[own]), int(row[x]), int(row[y])) for row in seen if row.any()]


def _documented(view: SeatView, match: Match, seat: int) -> list[Row]:
    """Return the units of the seat's document, own ones first."""
    units = sorted(view.cut(match.view())["units"], key=lambda unit: unit["seat"] != seat)
    return [(u["seat"] == seat, _byte(u["x"]), _byte(u["y"])) for u in units]


def _alike(a: list[Row], b: list[Row]) -> bool:
    """Whether the rows are the same, but for places halfway between two bytes."""
    return len(a) == len(b) and all(
        p[0] == q[0] and abs(p[1] - q[1]) <= 1 and abs(p[2] - q[2]) <= 1 for p, q in zip(a, b, strict=True)
    )


def _byte(place: float) -> int:
    return round((place + 0.5) / SIDE * 255)


def test_units_of_a_seats_document_come_in_the_order_of_its_observation() -> None:
    bots = ("simple", "hit_and_run")
    match = Match("minirts", PARAMS, seed=3)
    views = [SeatView(seat, "map") for seat in (0, 1)]
    enemies = compared = 0
    while not match.over and match.tick < 2500:
        for seat in match.to_act if match.tick % 50 == 0 else ():
            match.bot(seat, bots[seat])
        match.advance()
        for seat, view in enumerate(views):
            units = _documented(view, match, seat)
            if match.tick % 9 == 0:
                assert _alike(units, _observed(match, seat)), f"tick {match.tick}, seat {seat}"
                compared += 1
                enemies += sum(not own for own, _, _ in units)
    assert compared > 100
    assert enemies > 50

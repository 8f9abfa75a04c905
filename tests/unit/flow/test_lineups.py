"""Teams of plans and seats, as orders and results count them."""

from __future__ import annotations

import msgspec

from ludus.flow.lineups import teams_of_plans, teams_of_seats
from ludus.games import spec


def test_teams_are_numbered_from_the_first_plan() -> None:
    game = msgspec.structs.replace(spec("pommerman"), teams=(7, 2, 7, 2))
    assert teams_of_plans(game) == (0, 1, 0, 1)
    assert teams_of_seats(game, (1, 2, 3, 0)) == [1, 0, 1, 0]


def test_without_teams_each_plan_is_its_own() -> None:
    game = spec("tic_tac_toe")
    assert teams_of_plans(game) == (0, 1)
    assert teams_of_seats(game, (1, 0)) == [1, 0]

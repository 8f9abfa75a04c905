"""Lineups that many callers need."""

from __future__ import annotations

from collections.abc import Sequence

from ludus.flow import GameSpec, Lineup, SeatPlan


def lineup_of(spec: GameSpec, player: SeatPlan, others: SeatPlan, player_seats: int = 0) -> Lineup:
    """Return ``player`` in the plans of :func:`plans_of_player` and ``others`` in the rest; seats rotate."""
    own = plans_of_player(spec, player_seats)
    return Lineup(tuple(player if plan in own else others for plan in range(spec.seats)), rotate=True)


def plans_of_player(spec: GameSpec, player_seats: int = 0) -> tuple[int, ...]:
    """Return the plans of a player: the first ``player_seats``, or (0) the first and its teammates'."""
    return tuple(p for p in range(spec.seats) if (p < player_seats if player_seats else spec.together(0, p)))


def teams_of_plans(spec: GameSpec) -> tuple[int, ...]:
    """Return the team of each plan, numbered from the first plan's on; without teams each plan is its own."""
    if not spec.teams:
        return tuple(range(spec.seats))
    known = list(dict.fromkeys(spec.teams))
    return tuple(known.index(team) for team in spec.teams)


def teams_of_seats(spec: GameSpec, plan_of_seat: Sequence[int]) -> list[int]:
    """Return the team that sat at each seat of a match, numbered as in :func:`teams_of_plans`."""
    teams = teams_of_plans(spec)
    return [teams[plan] for plan in plan_of_seat]

"""Lineups that many callers need."""

from __future__ import annotations

from collections.abc import Sequence

from ludus.flow import GameSpec, Lineup, SeatPlan


def lineup_of(spec: GameSpec, player: SeatPlan, others: SeatPlan) -> Lineup:
    """Return ``player`` at seat 0 and at its teammates' seats, ``others`` at the rest; seats rotate."""
    return Lineup(tuple(player if spec.together(0, s) else others for s in range(spec.seats)), rotate=True)


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

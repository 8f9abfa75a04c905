"""Lineups that many callers need."""

from __future__ import annotations

from ludus.flow import GameSpec, Lineup, SeatPlan


def lineup_of(spec: GameSpec, player: SeatPlan, others: SeatPlan) -> Lineup:
    """Return ``player`` at seat 0 and at its teammates' seats, ``others`` at the rest; seats rotate."""
    return Lineup(tuple(player if spec.together(0, s) else others for s in range(spec.seats)), rotate=True)

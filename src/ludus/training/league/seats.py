"""Seats of a member's pool: the controllers of its plans.

All plans have the same controllers in the same order: the member's own policy, the lanes, the game's bots.
A lane is a policy id that is bound to one player at a time.
"""

from __future__ import annotations

from ludus.flow import Controller, GameSpec, SeatPlan
from ludus.flow.lineups import lineup_of
from ludus.league.config import LeagueConfig
from ludus.training.opponents import PolicyIds, Seats

LEARNER = 0


def member_seats(spec: GameSpec, league: LeagueConfig, frame_skip: int, name: str) -> Seats:
    """Return the seats of the pool of the member ``name``. Without orders it would meet itself."""
    ids = PolicyIds(LEARNER, tuple(range(1, 1 + league.lanes)))
    controllers = (
        Controller(policy=LEARNER),
        *(Controller(policy=lane, weight=0.0) for lane in ids.past),
        *(Controller(bot=bot.name, weight=0.0) for bot in spec.bots),
    )
    plan = SeatPlan(controllers=controllers, frame_skip=frame_skip)
    others = frozenset(player.name for player in league.members) - {name}
    return Seats(ids, lineup_of(spec, plan, plan), {LEARNER: name}, league.cache, others)

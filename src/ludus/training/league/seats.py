"""Seats of a member's pool: which controllers its plans have, and which of them a player of the league is.

All plans have the same controllers in the same order: the member's own policy, the lanes, the game's bots.
A lane is a policy id that is bound to one player at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ludus.flow import Controller, GameSpec, SeatPlan
from ludus.flow.lineups import lineup_of
from ludus.flow.seeds import derive_seed
from ludus.league.config import LeagueConfig
from ludus.league.orders import Order
from ludus.pool.orders import Controllers, Tags
from ludus.training.opponents import PolicyIds, Seats

LEARNER = 0


def member_seats(spec: GameSpec, league: LeagueConfig, frame_skip: int, name: str) -> Seats:
    """Seats of the pool of the member ``name``. Without orders it would meet itself."""
    ids = PolicyIds(LEARNER, tuple(range(1, 1 + league.lanes)))
    controllers = (
        Controller(policy=LEARNER),
        *(Controller(policy=lane, weight=0.0) for lane in ids.past),
        *(Controller(bot=bot.name, weight=0.0) for bot in spec.bots),
    )
    plan = SeatPlan(controllers=controllers, frame_skip=frame_skip)
    return Seats(ids, lineup_of(spec, plan, plan), {LEARNER: name}, league.cache)


def teams_of_plans(spec: GameSpec) -> tuple[int, ...]:
    """Plan -> its team, numbered from the first plan's on; each plan for itself in a game without teams."""
    if not spec.teams:
        return tuple(range(spec.seats))
    known = list(dict.fromkeys(spec.teams))
    return tuple(known.index(team) for team in spec.teams)


class Seating:
    """Translates orders of the league to a pool's.

    The tag of an order is its number + 1: 0 means that a match has none.
    """

    def __init__(self, spec: GameSpec, member: str, lanes: int) -> None:
        self._member = member
        self._teams = teams_of_plans(spec)
        self._bots = {bot.name: 1 + lanes + i for i, bot in enumerate(spec.bots)}
        self.teams = len(set(self._teams))

    def guests(self, players: Sequence[str]) -> list[str]:
        """Those of an order's ``players`` that need a lane, each once."""
        return [p for p in dict.fromkeys(players) if p != self._member and p not in self._bots]

    def pool_orders(
        self, hand: Sequence[Order], lanes: dict[str, int], slots: int, spread: Sequence[int] = ()
    ) -> tuple[Controllers, Tags]:
        """``hand`` spread over the slots. ``lanes``: player -> lane, for all guests.

        ``spread``: slots of each order, in sum ``slots``; none = evenly. A slot has its seats for good: an
        order has neighbours, to be played from every seat, and the first slot is drawn for each hand.
        """
        controllers = np.empty((slots, len(self._teams)), np.int32)
        tags = np.empty(slots, np.uint64)
        ends = np.cumsum(spread) if spread else [(k + 1) * slots // len(hand) for k in range(len(hand))]
        first, start = 0, derive_seed(0, hand[0].number) % slots if spread else 0
        for order, end in zip(hand, ends, strict=True):
            mine = (np.arange(first, end) + start) % slots
            of_team = [self._controller(player, lanes) for player in order.players]
            controllers[mine] = [of_team[team] for team in self._teams]
            tags[mine] = order.number + 1
            first = int(end)
        return controllers, tags

    def teams_of_seats(self, plan_of_seat: Sequence[int]) -> list[int]:
        """Which of an order's players sat at each seat."""
        return [self._teams[plan] for plan in plan_of_seat]

    def _controller(self, player: str, lanes: dict[str, int]) -> int:
        if player == self._member:
            return 0
        return self._bots[player] if player in self._bots else lanes[player]

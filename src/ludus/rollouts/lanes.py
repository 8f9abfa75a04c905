"""Lanes: policy ids that stand for frozen or live players, one player a lane at a time.

Orders name players; a pool knows controllers of plans. :class:`Lanes` binds players to policy ids,
:func:`slot_orders` translates a batch of orders.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np

from ludus.flow import Order, Orders
from ludus.flow.seeds import derive_seed
from ludus.pool.orders import Controllers, Tags

LANES = 8


class Lanes:
    """The player of each lane.

    A lane gets another player only while nothing uses it. So every match is played to its end by the player
    that started it. :attr:`bound` is all that a checkpoint needs.
    """

    def __init__(self, ids: Iterable[int]) -> None:
        """Start with free lanes; ``ids`` are their policy ids."""
        self.ids = tuple(sorted(ids))
        self.bound: dict[int, str] = {}  # lane -> player

    def load(self, bound: Mapping[int, str]) -> None:
        """Set :attr:`bound`. Raises ``ValueError`` for unknown lanes."""
        if not set(bound) <= set(self.ids) or len(set(bound.values())) < len(bound):
            raise ValueError(f"lanes: {dict(bound)}, expected a player once, and lanes of {list(self.ids)}")
        self.bound = dict(bound)

    def lane_of(self, player: str) -> int | None:
        """Return the lane that plays ``player``."""
        return next((lane for lane, bound in self.bound.items() if bound == player), None)

    def bind(self, players: Sequence[str], used: Collection[int]) -> list[str]:
        """Bind ``players``, the first ones first, and return those without a free lane.

        ``used``: lanes of matches in play. Lanes that are neither used nor of one of ``players`` are free.
        """
        self.bound = {lane: p for lane, p in self.bound.items() if lane in used or p in set(players)}
        free = [lane for lane in self.ids if lane not in self.bound]
        late = []
        for player in dict.fromkeys(players):
            if self.lane_of(player) is not None:
                continue
            if not free:
                late.append(player)
                continue
            self.bound[free.pop(0)] = player
        return late


def players_of_lanes(orders: Orders, known: Collection[str]) -> list[str]:
    """Return the players of ``orders`` that need a lane, each once.

    Args:
        orders: a batch, or a mixture.
        known: players with a controller: learned policies and bots.
    """
    if not orders.batch:
        return list(orders.mixture)
    return list(dict.fromkeys(p for order in orders.batch for p in order.players if p not in known))


def settled(orders: Orders, bound: Mapping[int, str]) -> bool:
    """Return whether all players of ``orders`` have lanes, and of a mixture only they; of a batch True."""
    there = [player for player in bound.values() if player in orders.mixture]
    return bool(orders.batch) or len(there) == len(orders.mixture) == len(bound)


def slot_orders(
    orders: Orders, slots: int, teams: Sequence[int], controller_of: Callable[[str], int]
) -> tuple[Controllers, Tags]:
    """Translate the batch of ``orders`` for :meth:`ludus.pool.protocol.Pool.set_orders`.

    A slot has its seats for good: an order has neighbouring slots, to be played from every seat, and the
    first slot is drawn for each batch.

    Args:
        orders: a non-empty batch.
        slots: number of the pool's slots.
        teams: team of each plan.
        controller_of: index of a player among the controllers, which are the same in all plans.
    """
    batch: tuple[Order, ...] = orders.batch
    controllers = np.empty((slots, len(teams)), np.int32)
    tags = np.empty(slots, np.uint64)
    if orders.slots:
        ends, start = np.cumsum(orders.slots).tolist(), derive_seed(0, batch[0].number) % slots
    else:
        ends, start = [(k + 1) * slots // len(batch) for k in range(len(batch))], 0
    first = 0
    for order, end in zip(batch, ends, strict=True):
        mine = (np.arange(first, end) + start) % slots
        of_team = [controller_of(player) for player in order.players]
        controllers[mine] = [of_team[team] for team in teams]
        tags[mine] = order.match_tag
        first = end
    return controllers, tags

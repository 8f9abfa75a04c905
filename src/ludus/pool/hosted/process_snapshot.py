"""Snapshots of a pool of Python games: the match number of every slot, the standing orders and the spirit."""

from __future__ import annotations

import msgspec
import numpy as np

from ludus.flow.inputs.decode import from_json
from ludus.pool.hosted.control_block import UNSTARTED, Longs
from ludus.pool.hosted.shard import PoolPlan
from ludus.pool.orders import Controllers, Tags, checked_orders
from ludus.pool.team_rewards import team_rewards_problem

_MAGIC = b"ludus.process.1\n"


class Snapshot(msgspec.Struct, omit_defaults=True):
    """Content of a snapshot. ``orders`` and ``tags`` are empty if no slot has an order.

    ``spirit`` and ``zero_sum``: how teams share rewards.
    """

    game: str
    seed: int
    slots: int
    matches: list[int]
    orders: list[list[int]] = []
    tags: list[int] = []
    spirit: float = 0.0
    zero_sum: bool = False


def encode(plan: PoolPlan, matches: Longs, orders: Controllers, tags: Tags, spirit: float = 0.0) -> bytes:
    """Return a snapshot of ``matches: [slots]``, of the standing orders and of the spirit."""
    snapshot = Snapshot(plan.spec.name, plan.seed, len(matches), matches.tolist())
    snapshot.spirit, snapshot.zero_sum = spirit, plan.zero_sum
    if (orders >= 0).any():
        snapshot.orders, snapshot.tags = orders.tolist(), tags.tolist()
    return _MAGIC + msgspec.json.encode(snapshot)


def decode(data: bytes, plan: PoolPlan) -> tuple[Longs, Controllers, Tags, float]:
    """Return matches, orders, tags and spirit of a snapshot of the pool with ``plan``.

    Raises:
        ValueError: Damaged bytes, or bytes of another pool.
    """
    if not data.startswith(_MAGIC):
        raise ValueError("snapshot: not one of a pool of Python games")
    try:
        stored = from_json(data[len(_MAGIC) :], Snapshot)
    except msgspec.DecodeError as error:
        raise ValueError(f"snapshot: {error}") from None
    game, slots = plan.spec.name, plan.slots
    if (stored.game, stored.seed, stored.slots) != (game, plan.seed, slots):
        raise ValueError(f"snapshot: of {stored.game}, seed {stored.seed}, {stored.slots} slots")
    if stored.zero_sum != plan.zero_sum:
        raise ValueError(f"snapshot: of a pool with zero_sum={stored.zero_sum}")
    if problem := team_rewards_problem(plan.spec, stored.spirit, False):
        raise ValueError(f"snapshot: {problem}")
    if len(stored.matches) != slots:
        raise ValueError(f"snapshot: {len(stored.matches)} match numbers, expected {slots}")
    if not all(UNSTARTED <= match < 2**62 for match in stored.matches):
        raise ValueError(f"snapshot: a match number outside {UNSTARTED}..2^62")
    matches = np.array(stored.matches, np.int64)
    if not stored.orders and not stored.tags:
        plans = len(plan.lineup.plans)
        return matches, np.full((slots, plans), -1, np.int32), np.zeros(slots, np.uint64), stored.spirit
    try:
        orders, tags = np.array(stored.orders, np.int64), np.array(stored.tags, np.uint64)
        return matches, *checked_orders(plan.spec, plan.lineup, slots, orders, tags), stored.spirit
    except (ValueError, OverflowError) as error:
        raise ValueError(f"snapshot: orders: {error}") from None

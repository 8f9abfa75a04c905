"""Snapshots of a pool of Python games: the match number of every slot, and the standing orders."""

from __future__ import annotations

import msgspec
import numpy as np

from ludus.flow.decode import from_json
from ludus.pool.control_block import UNSTARTED, Longs
from ludus.pool.orders import Controllers, Tags, checked_orders
from ludus.pool.shard import PoolPlan

_MAGIC = b"ludus.process.1\n"


class Snapshot(msgspec.Struct, omit_defaults=True):
    """Content of a snapshot. ``orders`` and ``tags`` are empty if no slot has an order."""

    game: str
    seed: int
    slots: int
    matches: list[int]
    orders: list[list[int]] = []
    tags: list[int] = []


def encode(game: str, seed: int, matches: Longs, orders: Controllers, tags: Tags) -> bytes:
    """Return a snapshot of ``matches: [slots]`` and of the standing orders."""
    snapshot = Snapshot(game, seed, len(matches), matches.tolist())
    if (orders >= 0).any():
        snapshot.orders, snapshot.tags = orders.tolist(), tags.tolist()
    return _MAGIC + msgspec.json.encode(snapshot)


def decode(data: bytes, plan: PoolPlan) -> tuple[Longs, Controllers, Tags]:
    """Return matches, orders and tags of a snapshot of the pool with ``plan``.

    Raises:
        ValueError: Damaged bytes, or those of another pool.
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
    if len(stored.matches) != slots:
        raise ValueError(f"snapshot: {len(stored.matches)} match numbers, expected {slots}")
    if not all(UNSTARTED <= match < 2**62 for match in stored.matches):
        raise ValueError(f"snapshot: a match number outside {UNSTARTED}..2^62")
    matches = np.array(stored.matches, np.int64)
    if not stored.orders and not stored.tags:
        plans = len(plan.lineup.plans)
        return matches, np.full((slots, plans), -1, np.int32), np.zeros(slots, np.uint64)
    try:
        orders, tags = np.array(stored.orders, np.int64), np.array(stored.tags, np.uint64)
        return matches, *checked_orders(plan.spec, plan.lineup, slots, orders, tags)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"snapshot: orders: {error}") from None

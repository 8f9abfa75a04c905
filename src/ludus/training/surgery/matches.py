"""Matches in play under other settings: slots, opponents, rewards, slabs.

A pool of the new settings is made, and the matches of the old one are put into its slots. A match stays in
its slot with the players that started it. It starts again where a player of it has no seat in the new lineup.
Shapes: ``R`` rows of a pool, ``N`` slots.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import cast

import msgspec
import numpy as np

from ludus.league.matchmaker import Matchmaker
from ludus.pool.native import NativePool, StoredSlot
from ludus.presets.config import Preset
from ludus.rollouts.commands import RestoreMatches
from ludus.rollouts.match_sampler import POOL, ROWS
from ludus.surgery.plan import SurgeryError
from ludus.training.actor_learner.sampler import LocalSampler, build_sampler
from ludus.training.actor_learner.state import TrainerState
from ludus.training.surgery.conversion import Arrays


class Moved(msgspec.Struct, frozen=True):
    """Numbers of matches in play.

    ``kept`` continue, ``again`` start again for lack of a seat, ``ended`` had slots that are no more.
    ``started``: slots that are new. ``steps``: decisions of slabs in flight, which are dropped.
    """

    kept: int
    again: int = 0
    ended: int = 0
    started: int = 0
    steps: int = 0

    def text(self) -> str:
        """Return what happens to them in words."""
        parts = [f"{self.kept} continue"]
        if self.again:
            parts.append(f"{self.again} start again: a player of theirs has no seat in the new lineup")
        if self.ended:
            parts.append(f"{self.ended} end with their slots")
        if self.started:
            parts.append(f"{self.started} slots are new")
        if self.steps:
            parts.append(f"{self.steps:,} decisions in flight are dropped")
        return "; ".join(parts)


def move_matches(
    rollout: Arrays,
    presets: tuple[Preset, Preset],
    state: TrainerState,
    matchmaker: Matchmaker,
    *,
    slabs: bool,
) -> tuple[Arrays, Moved, bool]:
    """Return the rollout's arrays under the new settings; the counters of ``state`` follow them.

    Args:
        rollout: Those of the old run, with memory of rows as the new network has it.
        presets: Settings of the old run, and those after surgery.
        state: Counters.
        matchmaker: That of the new settings, with its state.
        slabs: Whether slabs in flight fit the new settings where rows stay as they are.

    Returns:
        The arrays, what happens to the matches, and whether rows stand for the seats that they stood for.

    Raises:
        SurgeryError: The snapshot is not of the old settings, or the new pool refuses it.
    """
    with _sampler(presets[0], state) as before, _sampler(presets[1], state) as after:
        old_rows, new_rows = _rows(before), _rows(after)
        same = old_rows == new_rows
        if POOL in rollout:
            arrays, moved = _move(rollout, before, after, state, matchmaker)
        else:
            arrays, moved = {n: a for n, a in rollout.items() if n.startswith(ROWS)}, Moved(0)
    if slabs and same:
        return arrays | {n: a for n, a in rollout.items() if n.startswith("slab")}, moved, same
    dropped = state.dropped
    state.drop_waiting()
    return arrays, msgspec.structs.replace(moved, steps=state.dropped - dropped), same


@contextmanager
def _sampler(preset: Preset, state: TrainerState) -> Iterator[LocalSampler]:
    sampler = build_sampler(preset, slabs=1, restarts=max(0, state.restarts))
    try:
        yield sampler
    finally:
        sampler.close()


def _rows(sampler: LocalSampler) -> list[tuple[int, int]]:
    """Return slot and seat of each row."""
    return list(zip(sampler.pool.row_slot.tolist(), sampler.pool.row_seat.tolist(), strict=True))


def _move(
    rollout: Arrays, before: LocalSampler, after: LocalSampler, state: TrainerState, matchmaker: Matchmaker
) -> tuple[Arrays, Moved]:
    old_pool, new_pool = (cast(NativePool, s.pool) for s in (before, after))
    try:
        old = old_pool.snapshot_parts(rollout[POOL].tobytes())
    except ValueError as error:
        raise SurgeryError("checkpoint.pool", str(error), "matches of the run's settings") from error
    for group in range(new_pool.groups):
        new_pool.attach(group, after.facts.slabs[0])
        new_pool.recv(group)
    fresh = after.snapshot()
    policies = _policies(before, after)
    slots, again = _slots(old, new_pool.slots, set(_rows(after)), policies)
    arrays: Arrays = {POOL: np.frombuffer(new_pool.snapshot_join(slots), np.uint8)}
    arrays |= _row_arrays(rollout, fresh, before, after, policies)
    _bind_lanes(after, slots, state, matchmaker, policies)
    try:
        after.send(RestoreMatches(arrays))
    except ValueError as error:
        raise SurgeryError("checkpoint.pool", str(error), "matches that fit the new settings") from error
    more = len(slots) - len(old)
    return arrays, Moved(sum(bool(s.match) for s in slots), again, max(0, -more), max(0, more))


def _policies(before: LocalSampler, after: LocalSampler) -> dict[int, int]:
    """Return the new policy id of each old one that still has a seat: of learners, and of lanes by number."""
    ids = {p for plan in after.lineup.plans for c in plan.controllers if (p := c.policy) >= 0}
    kept = {*before.facts.actors, *(lane for lane in before.lanes.ids if lane in after.lanes.ids)}
    return {policy: policy for policy in sorted(kept & ids)}


def _slots(
    old: list[StoredSlot], count: int, rows: set[tuple[int, int]], policies: Mapping[int, int]
) -> tuple[list[StoredSlot], int]:
    """Return the new slots, and how many matches start again.

    Numbers of matches are not used again: if the number of slots changed, slots count from the next multiple
    of it on.
    """
    start = (-(-max(s.next for s in old) // count) + 1) * count
    slots = [StoredSlot(old[i].next if count == len(old) else start + i) for i in range(count)]
    again = 0
    for slot, mine in enumerate(old[:count]):
        if not mine.match:
            continue
        if all((slot, seat) in rows and policy in policies for seat, policy in mine.players):
            slots[slot] = mine._replace(next=slots[slot].next)
        else:
            again += 1
    return slots, again


def _row_arrays(
    rollout: Arrays, fresh: Arrays, before: LocalSampler, after: LocalSampler, policies: Mapping[int, int]
) -> Arrays:
    """Return memory of rows, and who decided last, for the rows of the new pool."""
    place = {row: i for i, row in enumerate(_rows(before))}
    pairs = np.array([(i, place[r]) for i, r in enumerate(_rows(after)) if r in place]).reshape(-1, 2)
    made: Arrays = {}
    for name, start in fresh.items():
        if name == POOL:
            continue
        made[name] = start.copy()
        old = rollout.get(name)
        policy = name.removeprefix(f"{ROWS}memory.")
        if policy != name and int(policy) not in policies:
            continue
        if old is None or old.shape[1:] != start.shape[1:] or old.dtype != start.dtype:
            continue
        if name == f"{ROWS}time_step":
            made[name] = old
        else:
            made[name][pairs[:, 0]] = old[pairs[:, 1]]
    return made


def _bind_lanes(
    sampler: LocalSampler,
    slots: list[StoredSlot],
    state: TrainerState,
    matchmaker: Matchmaker,
    policies: Mapping[int, int],
) -> None:
    """Keep the lanes of players in play, and bind those that matches start with from now on."""
    used = {policy for slot in slots for _, policy in slot.players} & set(sampler.lanes.ids)
    sampler.lanes.load({lane: p for lane, p in state.lanes.items() if lane in policies})
    orders = matchmaker.next_orders(sampler.pool.slots)
    sampler.lanes.bind(list(orders.mixture), used)
    state.lanes = dict(sorted(sampler.lanes.bound.items()))
    state.frozen = list(dict.fromkeys((*orders.kept, *state.lanes.values())))

"""Shard of games with one seat whose library steps all slots by one call."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ludus.flow import Slab
from ludus.flow.inputs.finite import all_finite, not_finite
from ludus.flow.seeds import match_seed
from ludus.games.contained import close_quietly
from ludus.games.python_game import VectorGame
from ludus.pool.hosted.control_block import (
    DECISIONS,
    SLOT,
    TICKS,
    ControlBlock,
    Longs,
)
from ludus.pool.hosted.shard import Bools, PoolPlan, Shard, failure

_ONE = np.int16(1)


class VectorEnvShard(Shard):
    """Matches that a library steps by one call.

    A finished match shows its last observation, inactive, for one step, in which the library starts the next
    one. A step costs a fixed number of numpy calls, kept to a minimum.
    """

    def __init__(
        self, plan: PoolPlan, control: ControlBlock, slots: range, worker: int, make: Callable[[], VectorGame]
    ) -> None:
        """Make one game of all slots."""
        super().__init__(plan, control, slots, worker)
        self.make = make
        self.game = make()
        self.done = np.zeros(len(slots), np.bool_)  # ended in the last step
        self.acting = np.zeros(len(slots), np.bool_)  # rows that decide at the present time step
        self.cut = plan.cut
        self.idle = False  # some slots have no match left
        self.opened: Slab | None = None  # the slab whose masks were opened last

    def close(self) -> None:
        """Release the games' resources."""
        close_quietly(self.game)

    def _play(self, slab: Slab, before: int, lost: bool) -> None:
        control, span, now, rows = self.control, self.span, before + 1, self.rows
        self.heartbeat[SLOT] = self.slots.start
        if before < 0:
            self._next_matches(np.arange(self.slots.start, self.slots.stop), True)
            self._restart(slab, now)
            return
        if lost:
            self._fail(slab, before, control.match[span] >= 0, "")
            return
        try:
            reward, terminated, truncated = self.game.step(slab.actions[before, rows])
            if not np.isfinite(reward.sum()) and not np.isfinite(reward[self.acting]).all():
                raise ValueError("rewards: hold values that are not finite")
            self._observe(slab, now)
        except BaseException as error:
            self._fail(slab, before, self.acting, failure("step", error))
            return
        if self.idle:
            terminated, truncated = terminated & self.acting, truncated & self.acting
            reward = np.where(self.acting, reward, np.float32(0.0))
        ended = terminated | truncated
        control.tick[span] += self.acting
        if self.cut and (self.acting & ~ended & (control.tick[span] >= self.cut)).any():
            self._fail(slab, before, self.acting, self._too_long())
            return
        control.returns[span, 0] += reward
        slab.reward[before, rows] = reward
        slab.terminated[before, rows] = terminated
        slab.truncated[before, rows] = truncated > terminated
        self.counters[TICKS] += int(np.count_nonzero(self.acting))
        fresh, self.done = self.done, ended
        if ended.any():
            self._finish(slab, now, np.flatnonzero(ended), terminated)
            active = ~ended
        elif not self.idle:
            active = np.ones(len(self.slots), np.bool_)
        else:
            active = np.array(control.match[span] >= 0)
        if self.idle:
            playing = control.match[span] >= 0
            active, fresh = active & playing, fresh & playing
        self._activate(slab, now, active, fresh)

    def _too_long(self) -> str:
        """Return the error of a library that plays on after the limit. It cannot end one match."""
        return (
            f"step: a match is not over after {self.cut} ticks, the limit of {self.plan.spec.name}: its "
            "vectorised form ignores it; set the parameter vectorise = no, or end episodes there (truncated)"
        )

    def _activate(self, slab: Slab, now: int, active: Bools, first: Bools) -> None:
        """Mark the rows that decide at ``now``. Every action is legal."""
        control, span, rows = self.control, self.span, self.rows
        if self.opened is not slab:
            slab.mask[:, rows] = 1
            self.opened = slab
        slab.active[now, rows] = active
        slab.is_first[now, rows] = first
        if self.controllers == 1 and self.only == 0:
            slab.policy[now, rows] = active - _ONE
        else:
            slab.policy[now, rows] = np.where(active, control.policy[span, 0], np.int16(-1))
        control.decisions[span] += active
        self.acting = active
        self.counters[DECISIONS] += int(np.count_nonzero(active))

    def _observe(self, slab: Slab, now: int) -> None:
        views = {n: a[now, self.rows] for n, a in slab.obs.items()}
        self.game.observe(views)
        for name in self.floats:
            if np.isfinite(views[name].sum()) or all_finite(views[name]):
                continue
            broken = not_finite(f"observation {name}", views[name])  # its place starts with the slot
            views[name][...] = 0
            raise ValueError(broken)

    def _finish(self, slab: Slab, now: int, ended: Longs, terminated: Bools) -> None:
        slots = ended + self.slots.start
        for n, f in self.control.final.items():
            f[slots] = slab.obs[n][now, slots]
        self._record_many(slots, ~terminated[ended])
        self.idle = not self._next_matches(slots).all() or self.idle

    def _fail(self, slab: Slab, before: int, acted: Bools, text: str) -> None:
        """End every match of the shard: the library cannot restart a single one."""
        control = self.control
        self._clear(slab, before)
        for i in np.flatnonzero(acted).tolist():
            slot = self.slots[i]
            for n, f in control.final.items():
                f[slot] = slab.obs[n][before, slot]
            slab.truncated[before, slot] = 1
            self._record(slot, True, text or self._lost_text(slot))
            self._next_match(slot, False)
        close_quietly(self.game)
        self.game = self.make()
        self._restart(slab, before + 1)

    def _restart(self, slab: Slab, now: int) -> None:
        """Start all matches. Seeds depend on the slots of the shard and their match numbers."""
        match = self.control.match[self.span]
        playing = match >= 0
        self.idle = not playing.all()
        self.game.reset(match_seed(self.plan.seed, int(match.max())))
        self.done = np.zeros(len(self.slots), np.bool_)
        self._observe(slab, now)
        self._activate(slab, now, playing, playing)

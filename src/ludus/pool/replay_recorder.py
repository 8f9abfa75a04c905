"""Replay recorder of a pool of Python games: the parent records what its matches receive and return.

It reads everything from the slab and the control block when a group is received and sent; workers are not
involved. It costs time for each tracked slot; a pool that records nothing has no recorder.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from ludus.flow import Slab
from ludus.games.records.match_record import MatchRecorder
from ludus.native import core
from ludus.pool.hosted.control_block import ControlBlock, Floats
from ludus.pool.hosted.shard import PoolPlan


class ReplayRecorder:
    """Records the matches of a pool while its groups are received and sent."""

    def __init__(
        self,
        plan: PoolPlan,
        params: Mapping[str, str],
        control: ControlBlock,
        record: Container[int],
        follow: bool,
    ) -> None:
        """Record the matches ``record``; with ``follow`` track every match for :meth:`state`."""
        self._spec, self._params, self._seed, self._control = plan.spec, params, plan.seed, control
        self._record, self._follow = record, follow
        controllers = [c for p in plan.lineup.plans for c in p.controllers]
        self._names = {c.policy: c.name or f"policy:{c.policy}" for c in controllers}
        self._recorders: dict[int, MatchRecorder] = {}
        self._replays: dict[int, bytes] = {}  # by match, until they are taken

    def received(self, slab: Slab, t: int, slots: range) -> None:
        """Record a group's time step ``t``, received for the first time."""
        control = self._control
        for slot in slots:
            recorder = self._recorders.get(slot)
            if recorder is not None and t > 0:
                recorder.earn(self._rewards(slab, t - 1, slot))
                if control.ended[slot]:
                    self._finish(slot, recorder)
                    recorder = None
                else:
                    self._show(recorder, slab, t, slot)
            match = int(control.match[slot])
            if recorder is None and match >= 0 and (self._follow or match in self._record):
                recorder = MatchRecorder(self._spec, self._seed, match, digest=match in self._record)
                self._recorders[slot] = recorder
                self._show(recorder, slab, t, slot)

    def _rewards(self, slab: Slab, t: int, slot: int) -> Floats:
        """Return the game's own rewards of a slot's decisions at ``t``, whatever teams share: ``[seats]``."""
        one_seat = self._spec.seats == 1
        rewards: Floats = slab.reward[t, slot : slot + 1] if one_seat else self._control.earned[slot]
        return rewards

    def _show(self, recorder: MatchRecorder, slab: Slab, t: int, slot: int) -> None:
        first = slot * self._spec.seats
        rows = [first + s for s in range(self._spec.seats) if slab.active[t, first + s]]
        recorder.observe(
            (row - first, [o[t, row] for o in slab.obs.values()], slab.mask[t, row]) for row in rows
        )

    def _finish(self, slot: int, recorder: MatchRecorder) -> None:
        control = self._control
        del self._recorders[slot]
        if control.failed[slot] or recorder.match not in self._record:
            return
        recorder.end()
        self._replays[recorder.match] = recorder.encode(
            self._params,
            [self._names[p] for p in control.last_policy[slot].tolist()],
            not control.last_truncated[slot],
            control.last_outcome[slot].tolist(),
        )

    def sent(self, slab: Slab, t: int, slots: range) -> None:
        """Record a group's decisions at ``t``, which are about to be played."""
        seats = self._spec.seats
        for slot in slots:
            recorder = self._recorders.get(slot)
            if recorder is None:
                continue
            for row in range(slot * seats, (slot + 1) * seats):
                if slab.active[t, row]:
                    recorder.decide(row - slot * seats, slab.actions[t, row].tolist())

    def take(self, match: int) -> bytes:
        """Return and drop the replay of a finished match; empty if it has none."""
        return self._replays.pop(match, b"")

    def state(self, slot: int) -> bytes:
        """Return seed and moves that lead to the slot's state, for a search."""
        recorder = self._recorders.get(slot)
        if recorder is None or not self._follow:
            raise ValueError(f"slot {slot}: the pool does not track this match; make it with states=True")
        return core.hosted_state(self._seed, recorder.match, recorder.actions)

    def forget(self) -> None:
        """Drop the matches in play; they continue elsewhere."""
        self._recorders.clear()

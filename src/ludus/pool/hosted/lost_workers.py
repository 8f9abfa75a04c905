"""Waiting for the workers of a pool, and the matches of those that die or hang.

A worker that dies or hangs is killed and replaced. Its matches end with an error, matches of other workers
continue undisturbed.
"""

from __future__ import annotations

import select
from collections.abc import Sequence

from ludus.flow.seeds import match_seed
from ludus.pool.hosted.control_block import (
    KIND,
    MAX_ERROR,
    PLAY,
    PLAY_AFTER_LOSS,
    SLOT,
    ControlBlock,
    share,
)
from ludus.pool.hosted.process_group import SlotGroup
from ludus.pool.hosted.shared import Doorbell
from ludus.pool.hosted.worker_pool import WorkerPool


class WorkerWait:
    """Waits until the workers have played a group, and replaces those that are lost meanwhile."""

    def __init__(
        self, workers: WorkerPool, groups: Sequence[SlotGroup], control: ControlBlock, seed: int
    ) -> None:
        """Wait for ``workers``; ``seed`` is the pool's, for messages."""
        self._workers, self._groups, self._control, self._seed = workers, groups, control, seed
        self._replaced: set[int] = set()  # workers replaced since their last step
        self._lost: set[tuple[int, int]] = set()  # (worker, group): matches lost before their next step

    def command_kind(self, number: int, group: int) -> int:
        """Return the kind of the next command of a worker for a group."""
        if (number, group) not in self._lost:
            return PLAY
        self._lost.remove((number, group))
        return PLAY_AFTER_LOSS

    def first(self) -> SlotGroup:
        """Wait for the first group that is ready; the one that was sent first if several are."""
        playing = [g for g in self._groups if g.playing]
        if not playing:
            raise ValueError("recv: no group is playing; attach or send one first")
        playing.sort(key=lambda g: g.sent)
        if not self._workers:
            return playing[0]
        doorbells = [g.doorbell for g in playing]
        poll = self._workers.poll(doorbells)
        while True:
            for g in playing:
                if self._ready(g):
                    return g
            self._sleep(poll, doorbells)

    def until_played(self, g: SlotGroup) -> None:
        """Wait until every worker has completed the group's last command."""
        if self._ready(g):
            g.doorbell.clear()
        else:
            if g.poll is None:
                g.poll = self._workers.poll([g.doorbell])
            poll = g.poll
            while not self._ready(g):
                self._sleep(poll, [g.doorbell])
        if self._replaced:
            played = {n for n in self._replaced if self._control.command[n, g.number, KIND] == PLAY}
            for number in played:
                self._workers.worked(number)
            self._replaced -= played

    def _ready(self, g: SlotGroup) -> bool:
        return bool((self._control.done[: len(self._workers), g.number] >= g.sent).all())

    def _sleep(self, poll: select.poll, doorbells: Sequence[Doorbell]) -> None:
        """Wait for news; replace workers that died or hung for too long."""
        for number, why in self._workers.wait(poll, doorbells).items():
            slot = int(self._control.heartbeat[number, SLOT])
            stepped = self._stepped_match(slot)
            self._workers.kill(number, stepped + why, poll)
            self._end_matches(number, slot, stepped, why)
            self._workers.restart(number, poll)

    def _end_matches(self, number: int, slot: int, stepped: str, why: str) -> None:
        """End the matches of a dead worker; the one in ``slot`` was in a step."""
        self._replaced.add(number)
        for g in self._groups:
            for lost in share(g.slots.start, g.slots.stop, len(self._workers), number):
                mine = lost == slot or slot < 0
                text = why if mine else f"lost with another match of its worker: {stepped}{why}"
                self._control.loss[lost] = text.encode()[:MAX_ERROR]
            if g.playing and self._control.done[number, g.number] < g.sent:
                self._control.command[number, g.number, KIND] = PLAY_AFTER_LOSS
            elif g.slab is not None:
                self._lost.add((number, g.number))
            g.poll = None
        self._control.heartbeat[number, SLOT] = -1

    def _stepped_match(self, slot: int) -> str:
        if slot < 0:
            return ""
        match = int(self._control.match[slot])
        tick = int(self._control.tick[slot])
        return f"slot {slot}, match {match}, seed {match_seed(self._seed, match)}, tick {tick}: "

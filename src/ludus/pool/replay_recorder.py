"""The tapes of a pool of Python games: what its matches are told and show, written down by the parent.

Everything that a tape needs stands in slab and cells when a group is received and sent, so workers know
nothing of it. It costs time for each slot that is followed; a pool that records nothing has no tapes.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from ludus.flow import GameSpec, Lineup, Slab
from ludus.games.match_record import Tape
from ludus.native import core
from ludus.pool.control_block import Cells, Floats


class Tapes:
    """``record``: numbers of the matches whose replay is wanted. ``follow``: every match is followed, so
    that :meth:`state` knows where it stands."""

    def __init__(
        self,
        spec: GameSpec,
        lineup: Lineup,
        params: Mapping[str, str],
        seed: int,
        cells: Cells,
        record: Container[int],
        follow: bool,
    ) -> None:
        self._spec, self._params, self._seed, self._cells = spec, params, seed, cells
        self._record, self._follow = record, follow
        self._names = {c.policy: c.name or f"policy:{c.policy}" for p in lineup.plans for c in p.controllers}
        self._tapes: dict[int, Tape] = {}
        self._replays: dict[int, bytes] = {}  # by match, until they are taken

    def received(self, slab: Slab, t: int, slots: range) -> None:
        """A group's moment at ``t`` was received for the first time."""
        cells, seats = self._cells, self._spec.seats
        for slot in slots:
            tape = self._tapes.get(slot)
            if tape is not None and t > 0:
                rows = slice(slot * seats, (slot + 1) * seats)
                rewards: Floats = slab.reward[t - 1, rows]
                tape.earn(rewards)
                if cells.ended[slot]:
                    self._finish(slot, tape)
                    tape = None
                else:
                    self._show(tape, slab, t, slot)
            match = int(cells.match[slot])
            if tape is None and match >= 0 and (self._follow or match in self._record):
                tape = Tape(self._spec, self._seed, match, digest=match in self._record)
                self._tapes[slot] = tape
                self._show(tape, slab, t, slot)

    def _show(self, tape: Tape, slab: Slab, t: int, slot: int) -> None:
        first = slot * self._spec.seats
        rows = [first + s for s in range(self._spec.seats) if slab.active[t, first + s]]
        tape.moment((row - first, [o[t, row] for o in slab.obs.values()], slab.mask[t, row]) for row in rows)

    def _finish(self, slot: int, tape: Tape) -> None:
        cells = self._cells
        del self._tapes[slot]
        if cells.failed[slot] or tape.match not in self._record:
            return
        tape.end()
        self._replays[tape.match] = tape.encode(
            self._params,
            [self._names[p] for p in cells.last_policy[slot].tolist()],
            not cells.last_truncated[slot],
            cells.last_outcome[slot].tolist(),
        )

    def sent(self, slab: Slab, t: int, slots: range) -> None:
        """A group's decisions at ``t`` are about to be played."""
        seats = self._spec.seats
        for slot in slots:
            tape = self._tapes.get(slot)
            if tape is None:
                continue
            for row in range(slot * seats, (slot + 1) * seats):
                if slab.active[t, row]:
                    tape.decide(row - slot * seats, slab.actions[t, row].tolist())

    def take(self, match: int) -> bytes:
        """The replay of a match that ended; empty if it has none."""
        return self._replays.pop(match, b"")

    def state(self, slot: int) -> bytes:
        """Where the slot's match stands: the way to it, for a search."""
        tape = self._tapes.get(slot)
        if tape is None or not self._follow:
            raise ValueError(f"slot {slot}: the pool does not follow this match; make it with states=True")
        return core.hosted_state(self._seed, tape.match, tape.actions)

    def forget(self) -> None:
        """The matches under way go on elsewhere."""
        self._tapes.clear()

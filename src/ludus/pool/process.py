"""The pool of games written in Python: worker processes, observations written in place.

Each worker plays a share of every group, so that it steps one group while the policy decides for the
other. Slabs and the control block lie in memory that all of them map; on the step path nothing is sent but a
command number in the control block and a doorbell notification. A worker that dies or hangs is killed and
replaced: its matches end with an error; those of other workers continue undisturbed.
"""

from __future__ import annotations

import os
import select
import time
import weakref
from collections.abc import Container, Mapping, Sequence
from functools import lru_cache
from types import TracebackType
from typing import Literal, final

import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec, Lineup, MatchResult, PoolStats, Slab, StepBatch
from ludus.flow.masks import legal_choices
from ludus.flow.seeds import match_seed
from ludus.flow.slab import Array
from ludus.games import registry
from ludus.games.names import is_typed
from ludus.games.python_game import ProcessUnusable
from ludus.pool import process_snapshot
from ludus.pool.control_block import (
    BEFORE,
    IDLE,
    KIND,
    MAX_ERROR,
    NUMBER,
    PLAY,
    PLAY_AFTER_LOSS,
    SLAB,
    SLOT,
    UNBEGUN,
    ControlBlock,
    Longs,
    share,
)
from ludus.pool.errors import MatchError, PoolError
from ludus.pool.orders import Controllers, InPlay, Tags, checked_orders
from ludus.pool.replay_recorder import ReplayRecorder
from ludus.pool.shard import Plan, Shard
from ludus.pool.shards import make_shard
from ludus.pool.shared import Doorbell, Segment, Sizes, shared_slab
from ludus.pool.watch import Watch
from ludus.pool.worker import Start
from ludus.pool.worker_pool import WorkerPool

_NO_ROWS = np.empty(0, np.int32)
MAX_EMPTY = 1000  # matches in a row without a decision: a run of them would never end


class _Group:
    """One group as the parent sees it."""

    def __init__(self, number: int, slots: range, seats: int) -> None:
        self.number, self.slots = number, slots
        self.rows = slice(slots.start * seats, slots.stop * seats)
        self.all_rows = np.arange(self.rows.start, self.rows.stop, dtype=np.int32)
        self.slab: Slab | None = None
        self.t = -1
        self.playing = False
        self.given = False  # results of the last step were returned
        self.doorbell = Doorbell()
        self.poll: select.poll | None = None  # of its doorbell and every worker's channel
        self.sent = 0  # number of the last command
        self.orders_changed = False  # since its last send


@final
class ProcessPool:
    """``slots`` match slots of a Python game, in ``groups`` contiguous groups, on ``workers`` processes.

    Implements :class:`ludus.pool.protocol.Pool`; slabs must come from :meth:`slab`. Slot s plays matches s,
    s + N, ...; match m is reset with a seed of ``(seed, m)``, so it depends on the actions alone (except in
    vectorised games, where it also depends on the other matches of the shard).

    ``workers=0`` plays inside :meth:`recv` in the calling process, for debugging and for small games: then
    a game that hangs hangs the caller. ``timeout_s``: a worker that has a command and shows no progress for
    longer, in one game's ``step`` or ``reset`` or between them, is killed and replaced (0 = never). Only the
    time counts in which the caller waits in :meth:`recv` and itself runs. ``start_timeout_s`` is for making
    the games; a worker whose process is stopped meanwhile is replaced after ``timeout_s``.
    ``on_error``, ``num_matches`` and ``truncate_ticks`` are those of ``NativePool``.

    ``record`` names the matches whose replay comes in ``MatchResult.replay`` (empty for a match that failed);
    ``states`` enables :meth:`slot_state`. Either way slots are stepped one by one, never by one call of a
    library, so that a match depends on its own seed and decisions alone.

    Raises ``ValueError`` for invalid arguments and :class:`PoolError` when workers cannot start.
    """

    def __init__(
        self,
        game: str,
        params: Mapping[str, object] | None = None,
        lineup: Lineup | None = None,
        *,
        slots: int,
        groups: int = 2,
        workers: int = 1,
        seed: int = 0,
        num_matches: int | None = None,
        truncate_ticks: int = 0,
        on_error: Literal["raise", "truncate"] = "raise",
        timeout_s: float = 60.0,
        start_timeout_s: float = 180.0,
        record: Container[int] = (),
        states: bool = False,
    ) -> None:
        if lineup is None:
            raise ValueError(f"{game} pool: lineup is missing")
        if slots < 1 or groups < 1 or slots % groups:
            raise ValueError(f"slots={slots}, groups={groups}: expected a multiple of groups")
        if workers < 0:
            raise ValueError(f"workers={workers}, expected >= 0")
        if on_error not in ("raise", "truncate"):
            raise ValueError(f"on_error={on_error!r}, expected 'raise' or 'truncate'")
        self._params = registry.text_params(params or {})
        maker = registry.maker(game, self._params)
        self._game = registry.python_reference(game)
        self._spec, self._lineup, self._seed = maker.spec, lineup, seed
        _check_lineup(self._spec, lineup)
        self._slots, self._raise = slots, on_error == "raise"
        alone = states or record != ()
        self._plan = Plan(self._spec, lineup, seed, slots, num_matches, truncate_ticks, alone)
        size = slots // groups
        workers = min(workers, size)
        self._groups = [_Group(g, range(g * size, (g + 1) * size), self._spec.seats) for g in range(groups)]
        self._segment = _control_segment(self._spec, lineup, max(workers, 1), groups, slots)
        self._control = ControlBlock.allocate(
            self._segment.allocate, self._spec, lineup, max(workers, 1), groups, slots
        )
        self._control.match[...] = UNBEGUN
        self._control.orders[...] = -1
        self._orders: Controllers = np.full((slots, len(lineup.plans)), -1, np.int32)
        self._tags: Tags = np.zeros(slots, np.uint64)
        self._recorders: ReplayRecorder | None = None
        if alone:
            self._recorders = ReplayRecorder(
                self._spec, lineup, self._params, seed, self._control, record, states
            )
        for p, plan in enumerate(lineup.plans):
            self._control.mixture[p, : len(plan.controllers)] = [c.weight for c in plan.controllers]
        rows = np.arange(slots * self._spec.seats, dtype=np.int32)
        self._row_slot, self._row_seat = rows // self._spec.seats, rows % self._spec.seats
        self._policies = sorted({c.policy for p in lineup.plans for c in p.controllers})
        seats = range(self._spec.seats)
        self._plans_of = [tuple(self._plan.plan_of(slot, seat) for seat in seats) for slot in seats]
        self._empty = 0  # matches in a row that ended without a decision
        self._recv_wait_ns = 0
        self._command = 0
        self._fallen: set[int] = set()  # workers replaced since their last step
        self._lost: set[tuple[int, int]] = (
            set()
        )  # (worker, group) whose matches were lost before their next step
        self._workers = WorkerPool(
            self._spec.name,
            [self._start(number, workers) for number in range(workers)],
            [self._segment.descriptor, *(d for g in self._groups for d in g.doorbell.descriptors)],
            Watch(self._control.heartbeat, self._control.command, self._control.done, timeout_s),
            timeout_s=timeout_s,
            start_timeout_s=start_timeout_s,
        )
        self._closer = weakref.finalize(
            self, _close, self._workers, self._groups, self._control, self._segment, os.getpid()
        )
        self._serial: list[Shard] = []
        if workers == 0:
            self._serial = [make_shard(maker, self._plan, self._control, g.slots, 0) for g in self._groups]
        try:
            self._workers.start()
        except BaseException:
            self._closer()
            raise

    def _start(self, number: int, workers: int) -> Start:
        """The first message to a worker."""
        spans = [share(g.slots.start, g.slots.stop, workers, number) for g in self._groups]
        return Start(
            reference=self._game,
            typed=is_typed(self._game),
            params=self._params,
            spec=self._spec,
            lineup=self._lineup,
            seed=self._seed,
            slots=self._slots,
            num_matches=self._plan.num_matches,
            truncate_ticks=self._plan.truncate_ticks,
            alone=self._plan.alone,
            groups=[(s.start, s.stop) for s in spans],
            worker=number,
            workers=workers,
            control_bytes=self._segment.size,
            doorbell_descriptors=len(self._groups[0].doorbell.descriptors),
        )

    # ---- properties ------------------------------------------------------------------------------

    @property
    def spec(self) -> GameSpec:
        return self._spec

    @property
    def lineup(self) -> Lineup:
        return self._lineup

    @property
    def slots(self) -> int:
        """Slots."""
        return self._slots

    @property
    def rows(self) -> int:
        """``R``: slots times seats."""
        return self._slots * self._spec.seats

    @property
    def groups(self) -> int:
        return len(self._groups)

    @property
    def row_slot(self) -> Array:
        """int32[R]: slot of each row."""
        return self._row_slot

    @property
    def row_seat(self) -> Array:
        """int32[R]: seat of each row."""
        return self._row_seat

    @property
    def worker_pids(self) -> list[int]:
        """Process ids of the workers that play now."""
        return self._workers.pids

    def group_rows(self, group: int) -> slice:
        """The contiguous rows of a group."""
        return self._groups[group].rows

    def group_finished(self, group: int) -> bool:
        """Whether the group has played its matches and all of them have been received."""
        g = self._groups[group]
        idle = bool((self._control.match[g.slots.start : g.slots.stop] == IDLE).all())
        return g.slab is not None and not g.playing and g.given and idle

    @property
    def finished(self) -> bool:
        """Whether the ``num_matches`` matches are played and received."""
        return all(self.group_finished(g.number) for g in self._groups)

    def slab(self, steps: int) -> Slab:
        """Memory of ``steps`` steps that every worker can write into."""
        made = shared_slab(self._spec, steps, self.rows)
        self._workers.slabs.append(made)
        slab = made[0]
        slab.row_slot, slab.row_seat = self.row_slot, self.row_seat
        return slab

    # ---- play ------------------------------------------------------------------------------------

    def attach(self, group: int, slab: Slab) -> None:
        """The group writes into ``slab`` from t = 0 on; the first attach starts its matches."""
        g = self._groups[group]
        number = self._number(slab)
        if number < 0:
            raise ValueError("attach: workers cannot write into this slab; make it with pool.slab(steps)")
        if g.playing:
            raise ValueError(f"attach: group {group} is playing; receive it first")
        self._workers.give(number)
        before = g.slab
        g.slab = slab
        if before is None:
            self._order(g, number, -1)
            return
        if before is not slab or g.t != 0:
            for name, array in before.obs.items():
                slab.obs[name][0, g.rows] = array[g.t, g.rows]
            for name in ("mask", "active", "is_first", "policy"):
                getattr(slab, name)[0, g.rows] = getattr(before, name)[g.t, g.rows]
        g.t = 0

    def send(self, group: int) -> None:
        """Takes ``slab.actions[t]`` of the group's active rows and starts playing. Never blocks."""
        g = self._groups[group]
        if g.slab is None or g.playing:
            raise ValueError(f"send: receive group {group} first")
        if g.t >= g.slab.steps:
            raise ValueError(f"send: the slab of group {group} is full; attach one")
        if self._recorders is not None:
            self._recorders.sent(g.slab, g.t, g.slots)
        self._order(g, self._number(g.slab), g.t)

    def _number(self, slab: Slab) -> int:
        """Of a slab of this pool; -1 for any other."""
        return next((i for i, (known, _) in enumerate(self._workers.slabs) if known is slab), -1)

    def _order(self, g: _Group, slab: int, before: int) -> None:
        if g.orders_changed:
            mine = slice(g.slots.start, g.slots.stop)
            self._control.orders[mine], self._control.order_tags[mine] = self._orders[mine], self._tags[mine]
            g.orders_changed = False
        self._command += 1
        g.sent = self._command
        g.playing, g.given = True, False
        g.t = before + 1
        for number in range(len(self._workers)):
            cell = self._control.command[number, g.number]
            lost = (number, g.number) in self._lost
            self._lost.discard((number, g.number))
            cell[SLAB], cell[BEFORE], cell[KIND] = slab, before, PLAY_AFTER_LOSS if lost else PLAY
            cell[NUMBER] = g.sent  # last: from here on the worker may read the cell
            self._workers.notify(number)

    def recv(self, group: int | None = None) -> StepBatch:
        """Waits for ``group``, or for the first of those that play. Releases the GIL.

        Receiving a group again before its send returns the same time step, without its results. Raises
        :class:`MatchError` according to the pool's ``on_error``, and :class:`PoolError` when a worker
        cannot be replaced.
        """
        begin = time.perf_counter_ns()
        g = self._groups[group] if group is not None else self._first_ready()
        if g.slab is None:
            raise ValueError(f"recv: attach a slab to group {g.number} first")
        if g.playing:
            if self._workers:
                self._wait(g)
            else:
                self._play_here(g, g.slab)
            g.playing = False
        self._recv_wait_ns += time.perf_counter_ns() - begin
        return self._batch(g)

    def _play_here(self, g: _Group, slab: Slab) -> None:
        """Plays a step of a pool without workers."""
        try:
            self._serial[g.number].play(slab, g.t - 1, False)
        except ProcessUnusable as error:
            raise PoolError(f"{self._spec.name}: {error} (or set pool.threads above 1)") from error

    def _batch(self, g: _Group) -> StepBatch:
        assert g.slab is not None
        slab, rows, control = g.slab, g.rows, self._control
        if self._recorders is not None and not g.given:
            self._recorders.received(slab, g.t, g.slots)
        ended = np.flatnonzero(control.ended[g.slots.start : g.slots.stop])
        results: list[MatchResult] = []
        final_rows = _NO_ROWS
        final_obs = {name: a[:0] for name, a in control.final.items()}
        if len(ended):
            if not g.given:
                results = self._results(ended + g.slots.start)
                self._check_decisions(results)
            if g.t > 0:
                over = slab.terminated[g.t - 1, rows] | slab.truncated[g.t - 1, rows]
                final_rows = g.all_rows[over != 0]
                final_obs = {name: a[final_rows] for name, a in control.final.items()}
        g.given = True
        active = slab.active[g.t, rows]
        if len(self._policies) == 1 and bool(active.all()):
            policy_rows = {self._policies[0]: g.all_rows}
        else:
            who = slab.policy[g.t, rows]
            policy_rows = {p: g.all_rows[who == p] for p in self._policies}
        if self._raise:
            for r in results:
                if r.error:
                    raise MatchError(self._spec.name, r.slot, self._seed, r.match, r.ticks, r.error)
        return StepBatch(
            group=g.number,
            t=g.t,
            slab=slab,
            rows=rows,
            policy_rows=policy_rows,
            final_rows=final_rows,
            final_obs=final_obs,
            results=results,
        )

    def _check_decisions(self, results: Sequence[MatchResult]) -> None:
        """Raises :class:`PoolError` where no match has a decision: many in a row, or all of a schedule."""
        for result in results:
            empty = result.decisions == 0 and not result.error
            self._empty = self._empty + 1 if empty else 0
        limit = min(MAX_EMPTY, self._plan.num_matches or MAX_EMPTY)
        if self._empty >= limit:
            raise PoolError(
                f"{self._spec.name}: {self._empty} matches in a row ended without a decision of any seat; "
                "expected at least one agent that acts after reset() (agents of PettingZoo, to_act() of a "
                "Python game)"
            )

    def _results(self, slots: Longs) -> list[MatchResult]:
        control = self._control
        columns = (
            control.last_match,
            control.last_ticks,
            control.last_decisions,
            control.last_outcome,
            control.last_returns,
            control.last_policy,
            control.last_truncated,
            control.failed,
            control.last_tag,
        )
        rows = zip(slots.tolist(), *(c[slots].tolist() for c in columns), strict=True)
        return [
            MatchResult(
                match=match,
                slot=slot,
                seed=self._seed,
                ticks=ticks,
                decisions=decisions,
                outcome=tuple(outcome),
                returns=tuple(returns),
                players=_players(tuple(policy)),
                plan_of_seat=self._plans_of[slot % self._spec.seats],
                truncated=bool(truncated),
                error=control.error[slot].decode(errors="replace") if failed else "",
                replay=self._recorders.take(match) if self._recorders is not None else b"",
                tag=tag,
            )
            for slot, match, ticks, decisions, outcome, returns, policy, truncated, failed, tag in rows
        ]

    # ---- waiting and lost workers ---------------------------------------------------------------------

    def _ready(self, g: _Group) -> bool:
        return bool((self._control.done[: len(self._workers), g.number] >= g.sent).all())

    def _first_ready(self) -> _Group:
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

    def _wait(self, g: _Group) -> None:
        if self._ready(g):
            g.doorbell.clear()
        else:
            if g.poll is None:
                g.poll = self._workers.poll([g.doorbell])
            poll = g.poll
            while not self._ready(g):
                self._sleep(poll, [g.doorbell])
        if self._fallen:
            played = {n for n in self._fallen if self._control.command[n, g.number, KIND] == PLAY}
            for number in played:
                self._workers.worked(number)
            self._fallen -= played

    def _sleep(self, poll: select.poll, doorbells: Sequence[Doorbell]) -> None:
        """Waits for news; replaces workers that died or hung for too long."""
        for number, why in self._workers.wait(poll, doorbells).items():
            slot = int(self._control.heartbeat[number, SLOT])
            stepped = self._stepped_match(slot)
            self._workers.kill(number, stepped + why, poll)
            self._lose(number, slot, stepped, why)
            self._workers.restart(number, poll)

    def _lose(self, number: int, slot: int, stepped: str, why: str) -> None:
        """Ends the matches of a dead worker; the one in ``slot`` was in a step."""
        self._fallen.add(number)
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

    # ---- settings and state ----------------------------------------------------------------------

    def set_handover(self, plan: int, ticks: int) -> None:
        """Python games have no bots that could play before a policy."""
        if ticks:
            raise ValueError(f"{self._spec.name} has no bots; a handover needs one")

    def set_mixture(self, plan: int, weights: list[float]) -> None:
        """Weights of a plan's controllers for matches that start from now on."""
        count = len(self._lineup.plans[plan].controllers)
        if len(weights) != count or not sum(weights) > 0 or min(weights) < 0:
            raise ValueError(f"set_mixture: {weights}, expected {count} numbers >= 0 that do not sum to 0")
        self._control.mixture[plan, :count] = weights

    def set_orders(self, orders: npt.NDArray[np.integer], tags: npt.NDArray[np.integer]) -> None:
        """Standing orders for matches that start after the group's next send, until the next call.

        ``orders: [slots, plans]``: index of each plan's controller, -1 = drawn. ``tags: [slots]``: for
        ``MatchResult.tag``. An order for one plan of a team holds for the whole team.
        """
        self._replace_orders(*checked_orders(self._spec, self._lineup, self._slots, orders, tags))

    def _replace_orders(self, controllers: Controllers, tags: Tags) -> None:
        self._orders, self._tags = controllers, tags
        for g in self._groups:
            g.orders_changed = True

    def in_play(self, group: int) -> InPlay:
        """Tag and controllers of the match in each slot of a group that is not playing."""
        g = self._groups[group]
        if g.playing:
            raise ValueError(f"in_play: group {group} is playing; receive it first")
        matches = InPlay(
            np.zeros(len(g.slots), np.uint64), np.full((len(g.slots), self._orders.shape[1]), -1, np.int32)
        )
        for i, slot in enumerate(g.slots):
            if g.slab is None or self._control.match[slot] < 0:
                continue
            matches.tags[i] = self._control.tag[slot]
            for seat, policy in enumerate(self._control.policy[slot].tolist()):
                plan = self._plan.plan_of(slot, seat)
                known = [c.policy for c in self._lineup.plans[plan].controllers]
                matches.controllers[i, plan] = known.index(policy)
        return matches

    def random_actions(self, group: int, seed: int = 0) -> None:
        """Fills ``slab.actions[t]`` with uniformly random legal choices of every head."""
        g = self._groups[group]
        assert g.slab is not None
        generator = np.random.Generator(np.random.Philox(key=[seed, self._command]))
        mask, actions = g.slab.mask[g.t, g.rows], g.slab.actions[g.t, g.rows]
        for k, head in enumerate(self._spec.heads):
            if head.kind == "continuous":
                actions[:, k] = generator.standard_normal(len(actions), np.float32).view(np.int32)
            else:
                legal = legal_choices(self._spec, mask, k, actions)
                draws = generator.random(legal.shape, np.float32) * legal
                actions[:, k] = draws.argmax(axis=1)

    def slot_state(self, slot: int) -> bytes:
        """Seed and moves that lead to the slot's state, for a search. Raises ``ValueError`` without
        ``states``."""
        if self._recorders is None:
            raise ValueError("slot_state: the pool does not track its matches; make it with states=True")
        return self._recorders.state(slot)

    def slot_tick(self, slot: int) -> int:
        """Steps since the slot's match began."""
        return int(self._control.tick[slot])

    def stats(self) -> PoolStats:
        total = [int(x) for x in self._control.counters.sum(axis=0)]
        ticks, decisions, matches, errors, busy, wait = total
        return PoolStats(ticks, decisions, 0, matches, errors, busy, wait, self._recv_wait_ns)

    def snapshot(self) -> bytes:
        """The match number of every slot. Python games cannot be stored: a restore starts new matches."""
        return process_snapshot.encode(self._game, self._seed, self._control.match, self._orders, self._tags)

    def restore(self, data: bytes) -> None:
        """The next attach continues with the matches after those in play."""
        matches, orders, tags = process_snapshot.decode(
            data, self._game, self._seed, self._spec, self._lineup, self._slots
        )
        if any(g.playing for g in self._groups):
            raise ValueError("snapshot: receive every group first")
        for g in self._groups:  # the next attach begins matches
            g.slab = None
        if self._recorders is not None:
            self._recorders.forget()
        self._control.match[...] = matches
        self._control.resumed[0] = 1
        self._replace_orders(orders, tags)

    def close(self) -> None:
        """Ends the workers, matches in flight included. Idempotent."""
        for shard in self._serial:
            shard.close()
        self._serial = []
        self._closer()

    def __enter__(self) -> ProcessPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@lru_cache(maxsize=4096)
def _players(policies: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(f"policy:{p}" for p in policies)


def _control_segment(spec: GameSpec, lineup: Lineup, workers: int, groups: int, slots: int) -> Segment:
    sizes = Sizes()
    ControlBlock.allocate(sizes, spec, lineup, workers, groups, slots)
    return Segment(sizes.total)


def _check_lineup(spec: GameSpec, lineup: Lineup) -> None:
    """Python games have no bots inside the pool: every seat is a policy's."""
    if len(lineup.plans) != spec.seats:
        raise ValueError(f"{spec.name} has {spec.seats} seats, the lineup {len(lineup.plans)} plans")
    for i, plan in enumerate(lineup.plans):
        if plan.frame_skip not in (0, 1):
            raise ValueError(
                f"plan {i}: frame_skip={plan.frame_skip}; a Python game decides at every step: "
                "use a parameter of the game, or a wrapper"
            )
        if plan.handover_bot or plan.handover_ticks:
            raise ValueError(f"plan {i}: {spec.name} has no bots, so no handover")
        if not plan.controllers or not sum(c.weight for c in plan.controllers) > 0:
            raise ValueError(f"plan {i}: no controller with a weight above 0")
        for c in plan.controllers:
            if c.bot or c.policy < 0 or not c.weight >= 0:
                raise ValueError(f"plan {i}: {c}: every seat of a Python game is a policy's")


def _close(
    workers: WorkerPool, groups: Sequence[_Group], control: ControlBlock, segment: Segment, owner: int
) -> None:
    """Workers exit once ``closing`` is set in the control block; the others are killed."""
    if os.getpid() != owner:  # a fork of the parent: the workers are not its own
        return
    control.closing[0] = 1
    workers.shutdown()
    for g in groups:
        g.doorbell.close()
    segment.close()

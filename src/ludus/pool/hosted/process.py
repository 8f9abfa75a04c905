"""The pool of games written in Python: worker processes, observations written in place.

Each worker plays a share of every group, so that it steps one group while the policy decides for the
other. Slabs and the control block lie in memory that all of them map; on the step path nothing is sent but a
command number in the control block and a doorbell notification.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import final

import numpy as np

from ludus.flow import Lineup, MatchResult, PoolOptions, PoolStats, Slab, StepBatch, Terms
from ludus.flow.masks import legal_choices
from ludus.flow.slab import Allocator
from ludus.games import registry
from ludus.games.checks.agent_order import has_agents
from ludus.games.python_game import ProcessUnusable
from ludus.pool.base import PoolBase
from ludus.pool.core_arguments import refuse_bots
from ludus.pool.errors import MatchError, PoolError
from ludus.pool.hosted import process_snapshot
from ludus.pool.hosted.control_block import BEFORE, IDLE, KIND, NUMBER, SLAB
from ludus.pool.hosted.lost_workers import WorkerWait
from ludus.pool.hosted.process_group import SlotGroup
from ludus.pool.hosted.process_start import check_lineup, check_options, close, make_control, start_messages
from ludus.pool.hosted.shard import PoolPlan, Shard
from ludus.pool.hosted.shards import make_shard
from ludus.pool.hosted.shared import shared_slab
from ludus.pool.hosted.watch import Watchdog
from ludus.pool.hosted.worker_pool import WorkerPool
from ludus.pool.match_results import ResultReader
from ludus.pool.orders import Controllers, InPlay, Tags
from ludus.pool.replay_recorder import ReplayRecorder
from ludus.pool.team_rewards import check_team_rewards

_NO_ROWS = np.empty(0, np.int32)


@final
class ProcessPool(PoolBase):
    """Match slots of a Python game, played by worker processes.

    Implements :class:`ludus.pool.protocol.Pool`; slabs must come from :meth:`slab`. Slot s plays matches s,
    s + N, ...; match m is reset with a seed of ``(seed, m)``, so it depends on the actions alone (except in
    vectorised games, where it also depends on the other matches of the shard).

    With ``threads=0`` the calling process plays inside :meth:`recv`, for debugging and for small games: then
    a game that hangs hangs the caller. A worker that has a command and shows no progress for longer than
    ``timeout_s``, in one game's ``step`` or ``reset`` or between them, is killed and replaced. Only the time
    counts in which the caller waits in :meth:`recv` and itself runs. ``start_timeout_s`` is for making the
    games; a worker whose process is stopped meanwhile is replaced after ``timeout_s``.

    With ``record`` or ``states`` slots are stepped one by one, never by one call of a library, so that a
    match depends only on its own seed and decisions.
    """

    def __init__(self, game: str, params: Mapping[str, object], lineup: Lineup, options: PoolOptions) -> None:
        """Make the games and start the workers; matches start at the first attach.

        Args:
            game: A reference of a Python game.
            params: Parameters of the rules.
            lineup: Controllers of each role of a match.
            options: Size, seed and behaviour. All tensors are written, whatever ``inputs`` names.

        Raises:
            ValueError: Invalid arguments.
            PoolError: Workers cannot start.
        """
        check_options(options)
        self._params = registry.text_params(params)
        maker = registry.maker(game, self._params)
        self._game = registry.python_reference(game)
        super().__init__(maker.spec, lineup, options)
        check_lineup(self._spec, lineup)
        check_team_rewards(self._spec, options.spirit, options.zero_sum)
        slots, seats = options.slots, self._spec.seats
        alone = options.states or len(options.record) > 0
        self._plan = PoolPlan(
            self._spec,
            lineup,
            options.seed,
            slots,
            options.num_matches,
            options.truncate_ticks,
            alone,
            options.zero_sum,
        )
        self._spirit = options.spirit
        size = slots // options.groups
        workers = min(options.threads, size)
        self._groups = [SlotGroup(g, range(g * size, (g + 1) * size), seats) for g in range(options.groups)]
        rows = np.arange(slots * seats, dtype=np.int32)
        self._set_rows(rows // seats, rows % seats, [g.rows for g in self._groups])
        self._segment, self._control = make_control(self._plan, max(workers, 1), options.groups)
        self._orders: Controllers = np.full((slots, len(lineup.plans)), -1, np.int32)
        self._tags: Tags = np.zeros(slots, np.uint64)
        self._recorder: ReplayRecorder | None = None
        if alone:
            recorded = frozenset(int(m) for m in options.record)
            self._recorder = ReplayRecorder(self._plan, self._params, self._control, recorded, options.states)
        self._results = ResultReader(self._plan, self._control, self._recorder)
        self._policies = sorted({c.policy for p in lineup.plans for c in p.controllers})
        self._recv_wait_ns = 0
        self._command = 0
        self._workers = WorkerPool(
            self._spec.name,
            start_messages(self._game, self._params, self._plan, self._groups, workers, self._segment.size),
            [self._segment.descriptor, *(d for g in self._groups for d in g.doorbell.descriptors)],
            Watchdog(self._control.heartbeat, self._control.command, self._control.done, options.timeout_s),
            timeout_s=options.timeout_s,
            start_timeout_s=options.start_timeout_s,
        )
        self._wait = WorkerWait(self._workers, self._groups, self._control, options.seed)
        self._closer = weakref.finalize(
            self, close, self._workers, self._groups, self._control, self._segment, os.getpid()
        )
        self._serial: list[Shard] = []
        if workers == 0:
            self._serial = [make_shard(maker, self._plan, self._control, g.slots, 0) for g in self._groups]
        try:
            self._workers.start()
        except BaseException:
            self._closer()
            raise
        if self._workers.agents and has_agents(maker):
            maker.seat_agents(self._workers.agents)

    @property
    def worker_pids(self) -> list[int]:
        """Process ids of the workers that play now."""
        return self._workers.pids

    def group_finished(self, group: int) -> bool:
        """Return whether the group has played its matches and all of them have been received."""
        g = self._groups[group]
        idle = bool((self._control.match[g.span] == IDLE).all())
        return g.slab is not None and not g.playing and g.received and idle

    def _new_slab(self, steps: int, allocate: Allocator) -> Slab:
        slab, segment = shared_slab(self._spec, steps, self._rows)
        self._workers.slabs.append((slab, segment))
        return slab

    # ---- the step loop ---------------------------------------------------------------------------

    def attach(self, group: int, slab: Slab) -> None:
        """Let the group write into ``slab`` from t = 0 on; the first attach starts its matches."""
        g = self._groups[group]
        number = self._number(slab)
        if number < 0:
            raise ValueError("attach: workers cannot write into this slab; make it with pool.slab(steps)")
        if g.playing:
            raise ValueError(f"attach: group {group} is playing; receive it first")
        self._workers.give(number)
        if g.slab is None:
            g.slab = slab
            self._order(g, number, -1)
        else:
            g.move_to(slab)

    def send(self, group: int) -> None:
        """Take ``slab.actions[t]`` of the group's active rows and start playing. Never blocks."""
        g = self._groups[group]
        if g.slab is None or g.playing:
            raise ValueError(f"send: receive group {group} first")
        if g.t >= g.slab.steps:
            raise ValueError(f"send: the slab of group {group} is full; attach one")
        if self._recorder is not None:
            self._recorder.sent(g.slab, g.t, g.slots)
        self._order(g, self._number(g.slab), g.t)

    def _number(self, slab: Slab) -> int:
        """Return the number of a slab of this pool; -1 for any other."""
        return next((i for i, (known, _) in enumerate(self._workers.slabs) if known is slab), -1)

    def _order(self, g: SlotGroup, slab: int, before: int) -> None:
        """Write the command to play from time step ``before`` (-1: to start) for every worker."""
        control = self._control
        if g.orders_changed:
            control.orders[g.span], control.order_tags[g.span] = self._orders[g.span], self._tags[g.span]
            g.orders_changed = False
        control.spirit[g.span] = self._spirit
        self._command += 1
        g.sent = self._command
        g.playing, g.received = True, False
        g.t = before + 1
        for number in range(len(self._workers)):
            cell = control.command[number, g.number]
            cell[SLAB], cell[BEFORE] = slab, before
            cell[KIND] = self._wait.command_kind(number, g.number)
            cell[NUMBER] = g.sent  # last: from here on the worker may read the cell
            self._workers.notify(number)

    def recv(self, group: int | None = None) -> StepBatch:
        """Wait for ``group``, or for the first of those that play. Releases the GIL.

        Receiving a group again before its send returns the same time step, without its results.

        Raises:
            MatchError: A match failed and ``on_error`` is ``"raise"``.
            PoolError: A worker cannot be replaced, or no match has a decision.
        """
        start = time.perf_counter_ns()
        g = self._groups[group] if group is not None else self._wait.first()
        if g.slab is None:
            raise ValueError(f"recv: attach a slab to group {g.number} first")
        if g.playing:
            if self._workers:
                self._wait.until_played(g)
            else:
                self._play_here(g, g.slab)
            g.playing = False
        self._recv_wait_ns += time.perf_counter_ns() - start
        return self._batch(g, g.slab)

    def _play_here(self, g: SlotGroup, slab: Slab) -> None:
        """Play a step of a pool without workers."""
        try:
            self._serial[g.number].play(slab, g.t - 1, False)
        except ProcessUnusable as error:
            raise PoolError(f"{self._spec.name}: {error} (or set pool.threads above 1)") from error

    def _batch(self, g: SlotGroup, slab: Slab) -> StepBatch:
        rows, control, fresh = g.rows, self._control, not g.received
        if self._recorder is not None and fresh:
            self._recorder.received(slab, g.t, g.slots)
        ended = np.flatnonzero(control.ended[g.span])
        results: list[MatchResult] = []
        final_rows = _NO_ROWS
        final_obs = {name: a[:0] for name, a in control.final.items()}
        if len(ended):
            if fresh:
                results = self._results.read(ended + g.slots.start)
            if g.t > 0:
                over = slab.terminated[g.t - 1, rows] | slab.truncated[g.t - 1, rows]
                final_rows = g.all_rows[over != 0]
                final_obs = {name: a[final_rows] for name, a in control.final.items()}
        g.received = True
        active = slab.active[g.t, rows]
        if len(self._policies) == 1 and bool(active.all()):
            policy_rows = {self._policies[0]: g.all_rows}
        else:
            who = slab.policy[g.t, rows]
            policy_rows = {p: g.all_rows[who == p] for p in self._policies}
        if self._raise:
            self._raise_failure(results)
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

    def _raise_failure(self, results: Sequence[MatchResult]) -> None:
        for r in results:
            if r.error:
                raise MatchError(self._spec.name, r.slot, self._seed, r.match, r.ticks, r.error)

    # ---- settings and state ----------------------------------------------------------------------

    def set_mixture(self, plan: int, weights: list[float]) -> None:
        """Set the weights of a plan's controllers for matches that start later."""
        count = len(self._lineup.plans[plan].controllers)
        if len(weights) != count or not sum(weights) > 0 or min(weights) < 0:
            raise ValueError(f"set_mixture: {weights}, expected {count} numbers >= 0 that do not sum to 0")
        self._control.mixture[plan, :count] = weights

    def set_terms(self, terms: Terms) -> None:
        """Change conditions of play (:meth:`ludus.pool.Pool.set_terms`)."""
        refuse_bots(self._spec, terms)
        if terms.spirit is not None:
            check_team_rewards(self._spec, terms.spirit, False)
            self._spirit = terms.spirit

    def _set_orders(self, controllers: Controllers, tags: Tags) -> None:
        self._orders, self._tags = controllers, tags
        for g in self._groups:
            g.orders_changed = True

    def _fill_in_play(self, group: int, matches: InPlay) -> None:
        g = self._groups[group]
        if g.playing:
            raise ValueError(f"in_play: group {group} is playing; receive it first")
        for i, slot in enumerate(g.slots):
            if g.slab is None or self._control.match[slot] < 0:
                continue
            matches.tags[i] = self._control.tag[slot]
            for seat, policy in enumerate(self._control.policy[slot].tolist()):
                plan = self._plan.plan_of(slot, seat)
                known = [c.policy for c in self._lineup.plans[plan].controllers]
                matches.controllers[i, plan] = known.index(policy)

    def random_actions(self, group: int, seed: int = 0) -> None:
        """Fill ``slab.actions[t]`` with uniformly random legal choices of every head."""
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
        """Return seed and moves that lead to the slot's state, for a search.

        Raises:
            ValueError: The pool was made without ``states``.
        """
        if self._recorder is None:
            raise ValueError("slot_state: the pool does not track its matches; make it with states=True")
        return self._recorder.state(slot)

    def slot_tick(self, slot: int) -> int:
        """Return the number of steps since the slot's match started."""
        return int(self._control.tick[slot])

    def stats(self) -> PoolStats:
        """Return the counters since the pool was made."""
        total = [int(x) for x in self._control.counters.sum(axis=0)]
        ticks, decisions, matches, errors, busy, wait = total
        return PoolStats(ticks, decisions, 0, matches, errors, busy, wait, self._recv_wait_ns)

    def snapshot(self) -> bytes:
        """Return the match number of every slot. Games are not stored: a restore starts new matches."""
        matches = self._control.match
        return process_snapshot.encode(self._plan, matches, self._orders, self._tags, self._spirit)

    def restore(self, data: bytes) -> None:
        """Let the next attach continue with the matches after those in play."""
        matches, orders, tags, spirit = process_snapshot.decode(data, self._plan)
        if any(g.playing for g in self._groups):
            raise ValueError("snapshot: receive every group first")
        for g in self._groups:  # the next attach starts matches
            g.slab = None
        if self._recorder is not None:
            self._recorder.forget()
        self._control.match[...] = matches
        self._control.resumed[0] = 1
        self._set_orders(orders, tags)
        self._spirit = spirit

    def close(self) -> None:
        """Stop the workers, matches in flight included. Idempotent."""
        for shard in self._serial:
            shard.close()
        self._serial = []
        self._closer()

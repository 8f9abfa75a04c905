"""Shard: the slots of one group that one worker plays. It writes into slab and control block.

The same code runs in a worker process and, without workers, inside the caller's ``recv``. Rows get the same
values as in the native pool (``cpp/pool/match.hpp``): rewards count from the first decision of a row in a
match, and the last observation of a match goes to the side buffer.
"""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec, Lineup, Slab
from ludus.flow.masks import free_heads
from ludus.flow.seeds import mix
from ludus.flow.slab import Array
from ludus.games.contained import exit_text
from ludus.games.numbers import write_scores
from ludus.games.python_game import MAX_TICKS as UNBOUNDED_TICKS
from ludus.games.python_game import ProcessUnusable, PythonGame
from ludus.pool.hosted.control_block import (
    ERRORS,
    IDLE,
    MATCHES,
    MAX_ERROR,
    PLAYS,
    SLOT,
    UNSTARTED,
    ControlBlock,
    Longs,
)

Bools = npt.NDArray[np.bool_]

_CONTROLLER = 0x636F  # stream


def failure(call: str, error: BaseException) -> str:
    """Return the error of a match whose ``call`` of the game raised ``error``.

    An error of the process itself is raised again.
    """
    if isinstance(error, (ProcessUnusable, KeyboardInterrupt)):
        raise error
    if isinstance(error, SystemExit):
        return f"{call}: {exit_text(error)}"
    return f"{call}: {type(error).__name__}: {error}"


class PoolPlan(msgspec.Struct, frozen=True):
    """Settings that every shard of a pool receives when it is made, in this process or in a worker."""

    spec: GameSpec
    lineup: Lineup
    seed: int
    slots: int  # of the whole pool
    num_matches: int | None
    truncate_ticks: int
    alone: bool = False  # matches are independent: no library call steps several of them
    zero_sum: bool = False  # of the rewards that teams share

    @property
    def cut(self) -> int:
        """Ticks after which a match is cut off: the option, or what the game declares. 0 = never."""
        declared = self.spec.max_ticks if 0 < self.spec.max_ticks < UNBOUNDED_TICKS else 0
        return min(filter(None, (self.truncate_ticks, declared)), default=0)

    def plan_of(self, slot: int, seat: int) -> int:
        """Return the plan that fills a seat of a slot."""
        if not self.lineup.rotate:
            return seat
        turns = self.spec.turns
        return (seat - turns[slot % len(turns)]) % self.spec.seats


class Shard:
    """State shared by single and vectorised matches."""

    def __init__(self, plan: PoolPlan, control: ControlBlock, slots: range, worker: int) -> None:
        """Play ``slots`` as part of worker ``worker``."""
        self.plan, self.control, self.slots = plan, control, slots
        self.seats = plan.spec.seats
        self.span = slice(slots.start, slots.stop)
        self.rows = slice(slots.start * self.seats, slots.stop * self.seats)
        self.counters = control.counters[worker]
        self.heartbeat = control.heartbeat[worker]
        policies = {c.policy for p in plan.lineup.plans for c in p.controllers}
        self.controllers, self.only = len(policies), min(policies)
        self.free_heads = free_heads(plan.spec)
        self.floats = [t.name for t in plan.spec.observation if t.dtype == "f32"]

    def play(self, slab: Slab, before: int, lost: bool) -> None:
        """Play from the decisions at ``before`` to the time step after it.

        Args:
            slab: Memory to write into.
            before: Time step of the decisions; -1 to start the first matches.
            lost: The worker of these slots died: their matches end with the error in the control block.
        """
        self.heartbeat[PLAYS] += 1
        self.control.ended[self.span] = 0
        self._play(slab, before, lost)
        self.heartbeat[SLOT] = -1

    def _clear(self, slab: Slab, before: int) -> None:
        """Clear the step between ``before`` and the next time step."""
        slab.reward[before, self.rows] = 0.0
        self.control.earned[self.span] = 0.0
        slab.terminated[before, self.rows] = 0
        slab.truncated[before, self.rows] = 0

    def _play(self, slab: Slab, before: int, lost: bool) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Release the games' resources."""
        raise NotImplementedError

    def _blocked(self, masks: Array) -> str:
        """Return the error of a mask without a legal choice in ``masks: uint8[..., A]``, or ""."""
        for name, span in self.free_heads:
            if not masks[..., span].any(axis=-1).all():
                return f"no legal action: the mask allows no choice of head {name}"
        return ""

    def _next_match(self, slot: int, first: bool) -> bool:
        """Move a slot on to its next match; False when none is left for it."""
        return bool(self._next_matches(np.array([slot]), first)[0])

    def _next_matches(self, slots: Longs, first: bool = False) -> Bools:
        """Move ``slots: [n]`` on to their next matches; False where none is left."""
        control, plan = self.control, self.plan
        match = control.match[slots]
        if first:
            begin = match + plan.slots if control.resumed[0] else slots
            match = np.where(match == IDLE, IDLE, np.where(match == UNSTARTED, slots, begin))
        else:
            match = match + plan.slots
        there = match >= 0
        if plan.num_matches is not None:
            there &= match < plan.num_matches
        control.match[slots] = np.where(there, match, IDLE)
        control.tick[slots] = 0
        control.decisions[slots] = 0
        control.returns[slots] = 0.0
        control.decided[slots] = 0
        control.tag[slots] = control.order_tags[slots]
        if self.controllers == 1:
            control.policy[slots] = self.only
            return there
        for slot in slots[there].tolist():
            for seat in range(self.seats):
                control.policy[slot, seat] = self._choose(slot, plan.plan_of(slot, seat))
        return there

    def _choose(self, slot: int, plan: int) -> int:
        """Return the policy of a plan in the match of a slot: by the standing order, or drawn."""
        order = int(self.control.orders[slot, plan])
        if order >= 0:
            return self.plan.lineup.plans[plan].controllers[order].policy
        return self._draw(int(self.control.match[slot]), plan)

    def _draw(self, match: int, plan: int) -> int:
        """Return the policy of a plan in a match, sampled by the weights of the mixture."""
        controllers = self.plan.lineup.plans[plan].controllers
        if len(controllers) == 1:
            return controllers[0].policy
        weights = self.control.mixture[plan, : len(controllers)]
        teams = self.plan.spec.teams
        stream = teams.index(teams[plan]) if teams else plan  # a team draws as one
        point = mix(self.plan.seed, _CONTROLLER, match, stream) / 2.0**64 * float(weights.sum())
        index = int(np.searchsorted(weights.cumsum(), point, side="right"))
        return controllers[min(index, len(controllers) - 1)].policy

    def _record(self, slot: int, truncated: bool, error: str) -> None:
        """Write the result of a slot's match, which is over, to the control block, without its outcome."""
        self._record_many(np.array([slot]), np.array([truncated]))
        if error:
            self._record_error(slot, error)

    def _record_many(self, slots: Longs, truncated: Bools) -> None:
        """:meth:`_record` of ``slots: [n]`` without errors."""
        control = self.control
        control.ended[slots] = 1
        control.last_match[slots] = control.match[slots]
        control.last_ticks[slots] = control.tick[slots]
        control.last_decisions[slots] = control.decisions[slots]
        control.last_truncated[slots] = truncated
        control.last_returns[slots] = control.returns[slots]
        control.last_outcome[slots] = 0.0
        control.last_scores[slots] = 0.0
        control.last_policy[slots] = control.policy[slots]
        control.last_tag[slots] = control.tag[slots]
        control.failed[slots] = 0
        self.counters[MATCHES] += len(slots)

    def _record_outcome(self, slot: int, game: PythonGame) -> None:
        """Write outcome and named scores of the match that was recorded last; an error of them is its own."""
        control, field = self.control, "outcome"
        try:
            game.outcome(control.last_outcome[slot])
            if self.plan.spec.scores:
                field = "scores"
                write_scores(game, control.last_scores[slot])
        except BaseException as error:
            control.last_outcome[slot] = 0.0
            control.last_scores[slot] = 0.0
            self._record_error(slot, failure(field, error))

    def _record_error(self, slot: int, error: str) -> None:
        """Record the error of the match that was recorded last."""
        self.control.failed[slot] = 1
        self.control.error[slot] = error.encode()[:MAX_ERROR]
        self.counters[ERRORS] += 1

    def _lost_text(self, slot: int) -> str:
        """Return the parent's message about the loss of this slot's match."""
        return self.control.loss[slot].decode(errors="replace") or "the worker died"

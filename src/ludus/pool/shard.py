"""The slots of one group that one worker plays, and what it writes into slab and control block.

The same code runs in a worker process and, without workers, inside the caller's ``recv``. What a row is
given is what the native pool gives (``cpp/pool/match.hpp``): rewards count from its first decision in a
match on, and the last observation of a match goes to the side buffer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec, Lineup, Slab
from ludus.flow.seeds import match_seed, mix
from ludus.flow.slab import Array
from ludus.games.python_game import GameMaker, PythonGame, VectorGame
from ludus.pool.control_block import (
    DECISIONS,
    ERRORS,
    IDLE,
    MATCHES,
    MAX_ERROR,
    PLAYS,
    SLOT,
    TICKS,
    UNBEGUN,
    Bytes,
    ControlBlock,
    Floats,
    Longs,
)

Bools = npt.NDArray[np.bool_]

_ONE = np.int16(1)
_CONTROLLER = 0x636F  # stream


@dataclass(frozen=True, slots=True)
class Plan:
    """What every shard of a pool receives when it is made."""

    spec: GameSpec
    lineup: Lineup
    seed: int
    slots: int  # of the whole pool
    num_matches: int | None
    truncate_ticks: int
    alone: bool = False  # no match may depend on those beside it: nothing is stepped by one call

    def plan_of(self, slot: int, seat: int) -> int:
        """The plan that fills a seat of a slot."""
        if not self.lineup.rotate:
            return seat
        turns = self.spec.turns
        return (seat - turns[slot % len(turns)]) % self.spec.seats


class Shard:
    """State that single matches and vectorised ones have in common."""

    def __init__(self, plan: Plan, control: ControlBlock, slots: range, worker: int) -> None:
        self.plan, self.control, self.slots = plan, control, slots
        self.seats = plan.spec.seats
        self.span = slice(slots.start, slots.stop)
        self.rows = slice(slots.start * self.seats, slots.stop * self.seats)
        self.counters = control.counters[worker]
        self.heartbeat = control.heartbeat[worker]
        policies = {c.policy for p in plan.lineup.plans for c in p.controllers}
        self.controllers, self.only = len(policies), min(policies)
        self.floats = [t.name for t in plan.spec.observation if t.dtype == "f32"]

    def play(self, slab: Slab, before: int, lost: bool) -> None:
        """From the decisions at ``before`` (-1: from nothing) to the time step after it.

        ``lost``: whoever played these slots is gone; their matches end with the error in the control block.
        """
        self.heartbeat[PLAYS] += 1
        self.control.ended[self.span] = 0
        self._play(slab, before, lost)
        self.heartbeat[SLOT] = -1

    def _clear(self, slab: Slab, before: int) -> None:
        """Nothing has happened between ``before`` and the next time step yet."""
        slab.reward[before, self.rows] = 0.0
        slab.terminated[before, self.rows] = 0
        slab.truncated[before, self.rows] = 0

    def _play(self, slab: Slab, before: int, lost: bool) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def _next_match(self, slot: int, first: bool) -> bool:
        """Moves a slot on to its next match; False when none is left for it."""
        return bool(self._next_matches(np.array([slot]), first)[0])

    def _next_matches(self, slots: Longs, first: bool = False) -> Bools:
        """Moves ``slots: [n]`` on to their next matches; False where none is left."""
        control, plan = self.control, self.plan
        match = control.match[slots]
        if first:
            begin = match + plan.slots if control.resumed[0] else slots
            match = np.where(match == IDLE, IDLE, np.where(match == UNBEGUN, slots, begin))
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
        if self.controllers == 1:
            control.policy[slots] = self.only
            return there
        for slot in slots[there].tolist():
            for seat in range(self.seats):
                control.policy[slot, seat] = self._draw(int(control.match[slot]), plan.plan_of(slot, seat))
        return there

    def _draw(self, match: int, plan: int) -> int:
        """The policy of a plan in a match, by the weights of the mixture."""
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
        """The match of a slot is over: its result goes to the control block. Outcomes are the caller's."""
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
        control.last_policy[slots] = control.policy[slots]
        control.failed[slots] = 0
        self.counters[MATCHES] += len(slots)

    def _record_error(self, slot: int, error: str) -> None:
        """What was wrong with the match that was recorded last."""
        self.control.failed[slot] = 1
        self.control.error[slot] = error.encode()[:MAX_ERROR]
        self.counters[ERRORS] += 1

    def _lost_text(self, slot: int) -> str:
        """What the parent wrote about the loss of this slot's match."""
        return self.control.loss[slot].decode(errors="replace") or "the worker died"


class Slots(Shard):
    """A game object a slot, any number of seats."""

    def __init__(
        self, plan: Plan, control: ControlBlock, slots: range, worker: int, make: Callable[[], PythonGame]
    ) -> None:
        super().__init__(plan, control, slots, worker)
        self.games = [make() for _ in slots]
        self.legal: list[Callable[[int, Array], None] | None] = [
            getattr(g, "legal", None) for g in self.games
        ]
        self.broken: dict[int, str] = {}  # slots whose next match could not begin, with the error

    def close(self) -> None:
        for game in self.games:
            closing = getattr(game, "close", None)
            if closing is not None:
                with contextlib.suppress(Exception):
                    closing()

    def _play(self, slab: Slab, before: int, lost: bool) -> None:
        now, count, seats, control = before + 1, len(self.slots), self.seats, self.control
        names = list(slab.obs)
        views = {n: slab.obs[n][now, self.rows].reshape(count, seats, *slab.obs[n].shape[2:]) for n in names}
        masks = slab.mask[now, self.rows].reshape(count, seats, -1)
        slab.active[now, self.rows] = 0
        slab.is_first[now, self.rows] = 0
        slab.policy[now, self.rows] = -1
        show = _Show(slab, now, views, masks)
        if before < 0:
            for i, slot in enumerate(self.slots):
                begun = lost and control.match[slot] >= 0  # and took its worker along
                if begun:
                    self._record(slot, True, self._lost_text(slot))
                self._begin(i, not begun, show)
            return
        self._clear(slab, before)
        over: list[tuple[int, bool]] = []
        errors: dict[int, str] = {}
        playing = [i for i in range(count) if control.match[self.slots[i]] >= 0]
        if lost:
            errors = {i: self._lost_text(self.slots[i]) for i in playing}
        else:
            waiting = self.broken
            self.broken = {}
            errors.update(waiting)
            playing = [i for i in playing if i not in waiting]
            self._step(slab, before, playing, over, errors, show)
        for i, truncated in over:
            if i not in errors:
                self._finish(i, truncated, "", slab, before, show)
        for i, text in errors.items():
            self._finish(i, True, text, slab, before, show)

    def _step(
        self,
        slab: Slab,
        before: int,
        playing: list[int],
        over: list[tuple[int, bool]],
        errors: dict[int, str],
        show: _Show,
    ) -> None:
        """Every match of ``playing`` moves on by its decisions."""
        count, control, heartbeat, games = len(self.slots), self.control, self.heartbeat, self.games
        actions = slab.actions[before, self.rows].reshape(count, self.seats, -1)
        earned = np.zeros((count, self.seats), np.float32)
        decided = control.decided[self.span].copy()
        first, cut = self.slots.start, self.plan.truncate_ticks
        for i in playing:
            heartbeat[SLOT] = first + i
            game = games[i]
            field = "step"
            try:
                ended = game.step(actions[i])
                field = "rewards"
                game.rewards(earned[i])
                if ended:
                    over.append((i, game.truncated))
                    continue
                field = "observe"
                self._show(i, show)
            except Exception as error:
                errors[i] = f"{field}: {type(error).__name__}: {error}"
        inside = np.zeros(count, np.bool_)
        inside[playing] = True
        self._pay(slab, before, earned, decided, inside, errors)
        self.counters[TICKS] += len(playing)
        if cut:
            done = {i for i, _ in over}
            late = np.flatnonzero(inside & (control.tick[self.span] >= cut)).tolist()
            over += [(i, True) for i in late if i not in done and i not in errors]
        self._check_finite(playing, errors, show)

    def _pay(
        self,
        slab: Slab,
        before: int,
        earned: Floats,
        decided: Bytes,
        inside: Bools,
        errors: dict[int, str],
    ) -> None:
        """Rewards of the step, for rows that had decided by then; ticks of every match that was stepped."""
        control, span = self.control, self.span
        if not np.isfinite(earned).all():
            for i in np.flatnonzero(~np.isfinite(earned).all(axis=1)).tolist():
                errors.setdefault(i, f"rewards: {earned[i].tolist()}, expected finite numbers")
                earned[i] = 0.0
        control.tick[span] += inside
        control.returns[span] += earned
        slab.reward[before, self.rows] = (earned * decided).reshape(-1)

    def _check_finite(self, playing: Sequence[int], errors: dict[int, str], show: _Show) -> None:
        """No observation may hold NaN or infinity: a network would spread them to every weight."""
        for name in self.floats:
            view = show.views[name]
            if np.isfinite(view).all():
                continue
            flat = ~np.isfinite(view.reshape(len(self.slots), -1)).all(axis=1)
            for i in np.flatnonzero(flat).tolist():
                if i in playing:
                    errors.setdefault(i, f"observation {name}: holds values that are not finite")
                view[i] = 0

    def _show(self, i: int, show: _Show) -> None:
        """The time step as every seat that must act sees it."""
        slot, control, game, legal = self.slots[i], self.control, self.games[i], self.legal[i]
        slab, now = show.slab, show.now
        row = slot * self.seats
        for seat in game.to_act():
            if not 0 <= seat < self.seats:
                raise ValueError(f"to_act: seat {seat} is not in [0, {self.seats})")
            game.observe(seat, {n: v[i, seat] for n, v in show.views.items()})
            if legal is not None:
                legal(seat, show.masks[i, seat])
            else:
                show.masks[i, seat] = 1
            at = row + seat
            slab.active[now, at] = 1
            slab.policy[now, at] = control.policy[slot, seat]
            if not control.decided[slot, seat]:
                slab.is_first[now, at] = 1
                control.decided[slot, seat] = 1
            control.decisions[slot] += 1
            self.counters[DECISIONS] += 1

    def _hide(self, i: int, show: _Show) -> None:
        row = self.slots[i] * self.seats
        at = slice(row, row + self.seats)
        show.slab.active[show.now, at] = 0
        show.slab.is_first[show.now, at] = 0
        show.slab.policy[show.now, at] = -1

    def _withdraw(self, i: int, show: _Show) -> None:
        """Nobody decides at a time step that was shown and turned out to be the last."""
        slot = self.slots[i]
        at = slice(slot * self.seats, (slot + 1) * self.seats)
        asked = int(np.count_nonzero(show.slab.active[show.now, at]))
        self.control.decisions[slot] -= asked
        self.counters[DECISIONS] -= asked
        self.control.decided[slot] &= 1 - show.slab.is_first[show.now, at]
        self._hide(i, show)

    def _begin(self, i: int, first: bool, show: _Show) -> None:
        """The next match of a slot, if one is left. A failure shows in the next step's results."""
        slot = self.slots[i]
        self.heartbeat[SLOT] = slot
        if not self._next_match(slot, first):
            return
        try:
            self.games[i].reset(match_seed(self.plan.seed, int(self.control.match[slot])))
            self._show(i, show)
            for name in self.floats:
                if not np.isfinite(show.views[name][i]).all():
                    show.views[name][i] = 0
                    raise ValueError(f"observation {name}: holds values that are not finite")
        except Exception as error:
            self._hide(i, show)
            self.broken[i] = f"reset: {type(error).__name__}: {error}"

    def _finish(self, i: int, truncated: bool, error: str, slab: Slab, before: int, show: _Show) -> None:
        """The match is over: its rows are marked and keep their last observation; the next one begins."""
        slot, control, game = self.slots[i], self.control, self.games[i]
        row = slot * self.seats
        self._withdraw(i, show)
        for seat in range(self.seats):
            if not control.decided[slot, seat]:
                continue
            at = row + seat
            (slab.truncated if truncated else slab.terminated)[before, at] = 1
            out = {n: f[at] for n, f in control.final.items()}
            try:
                if error:
                    raise RuntimeError(error)
                game.observe(seat, out)
            except Exception:  # what the row saw before is the best that is known of a match that failed
                for n, target in out.items():
                    target[...] = slab.obs[n][before, at]
        self._record(slot, truncated, error)
        if not error:
            try:
                game.outcome(control.last_outcome[slot])
            except Exception as e:
                control.last_outcome[slot] = 0.0
                self._record_error(slot, f"outcome: {type(e).__name__}: {e}")
        self._begin(i, False, show)


@dataclass(slots=True)
class _Show:
    """Where the time step ``now`` of a shard is written.

    ``views[name]: packed[k, S, ...]``, ``masks: uint8[k, S, A]``.
    """

    slab: Slab
    now: int
    views: dict[str, Array]
    masks: Array


class Vector(Shard):
    """All slots stepped by one call of the library. A match that ended shows its last observation, inactive,
    for one step: the one in which the library begins the next.

    A step costs a fixed number of numpy's calls, so there are as few of them as can be.
    """

    def __init__(
        self, plan: Plan, control: ControlBlock, slots: range, worker: int, make: Callable[[], VectorGame]
    ) -> None:
        super().__init__(plan, control, slots, worker)
        self.make = make
        self.game = make()
        self.done = np.zeros(len(slots), np.bool_)  # ended in the last step
        self.acting = np.zeros(len(slots), np.bool_)  # rows that decide at the present time step
        self.idle = False  # some slots have no match left
        self.opened: Slab | None = None  # the slab whose masks were opened last

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.game.close()

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
        except Exception as error:
            self._fail(slab, before, self.acting, f"step: {type(error).__name__}: {error}")
            return
        if self.idle:
            terminated, truncated = terminated & self.acting, truncated & self.acting
            reward = np.where(self.acting, reward, np.float32(0.0))
        ended = terminated | truncated
        control.tick[span] += self.acting
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

    def _activate(self, slab: Slab, now: int, active: Bools, first: Bools) -> None:
        """Which rows decide at ``now``. Everything is legal, always."""
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
            if not np.isfinite(views[name].sum()) and not np.isfinite(views[name]).all():
                views[name][...] = 0
                raise ValueError(f"observation {name}: holds values that are not finite")

    def _finish(self, slab: Slab, now: int, ended: Longs, terminated: Bools) -> None:
        slots = ended + self.slots.start
        for n, f in self.control.final.items():
            f[slots] = slab.obs[n][now, slots]
        self._record_many(slots, ~terminated[ended])
        self.idle = not self._next_matches(slots).all() or self.idle

    def _fail(self, slab: Slab, before: int, acted: Bools, text: str) -> None:
        """Every match of the shard ends with it: the library cannot begin just one anew."""
        control = self.control
        self._clear(slab, before)
        for i in np.flatnonzero(acted).tolist():
            slot = self.slots[i]
            for n, f in control.final.items():
                f[slot] = slab.obs[n][before, slot]
            slab.truncated[before, slot] = 1
            self._record(slot, True, text or self._lost_text(slot))
            self._next_match(slot, False)
        with contextlib.suppress(Exception):
            self.game.close()
        self.game = self.make()
        self._restart(slab, before + 1)

    def _restart(self, slab: Slab, now: int) -> None:
        """All matches begin. What is drawn depends on the slots of the shard and on how far they are."""
        match = self.control.match[self.span]
        playing = match >= 0
        self.idle = not playing.all()
        self.game.reset(match_seed(self.plan.seed, int(match.max())))
        self.done = np.zeros(len(self.slots), np.bool_)
        self._observe(slab, now)
        self._activate(slab, now, playing, playing)


def make_shard(maker: GameMaker, plan: Plan, control: ControlBlock, slots: range, worker: int) -> Shard:
    """Vectorised where the game can be, else an object a slot."""
    from ludus.pool.single_agent import Single

    if plan.spec.seats > 1:
        return Slots(plan, control, slots, worker, maker.make)
    if not plan.truncate_ticks and not plan.alone and len(slots) > 0:
        first = maker.make_vector(len(slots))
        if first is not None:
            first.close()

            def make() -> VectorGame:
                made = maker.make_vector(len(slots))
                assert made is not None
                return made

            return Vector(plan, control, slots, worker, make)
    return Single(plan, control, slots, worker, maker.make)

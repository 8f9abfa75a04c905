"""Shard of games with any number of seats, one game object per slot."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ludus.flow import Slab
from ludus.flow.inputs.finite import all_finite, not_finite
from ludus.flow.seeds import match_seed
from ludus.flow.slab import Array
from ludus.games.contained import close_quietly
from ludus.games.numbers import flag, over_of, too_large, write_rewards
from ludus.games.python_game import PLAYING, TERMINATED, TRUNCATED, PythonGame
from ludus.pool.hosted.control_block import (
    DECISIONS,
    SLOT,
    TICKS,
    Bytes,
    ControlBlock,
    Floats,
)
from ludus.pool.hosted.shard import Bools, PoolPlan, Shard, failure
from ludus.pool.team_rewards import TeamRewards


class MultiAgentShard(Shard):
    """Matches of any number of seats, a game object for each slot."""

    def __init__(
        self, plan: PoolPlan, control: ControlBlock, slots: range, worker: int, make: Callable[[], PythonGame]
    ) -> None:
        """Make a game for each slot."""
        super().__init__(plan, control, slots, worker)
        self.games = [make() for _ in slots]
        self.legal: list[Callable[[int, Array], None] | None] = [
            getattr(g, "legal", None) for g in self.games
        ]
        self.team_rewards = TeamRewards(plan.spec, plan.zero_sum)
        self.broken: dict[int, str] = {}  # slots whose next match failed to start, with the error

    def close(self) -> None:
        """Release the games' resources."""
        for game in self.games:
            close_quietly(game)

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
                started = lost and control.match[slot] >= 0  # and took its worker along
                if started:
                    self._record(slot, True, self._lost_text(slot))
                self._start_match(i, not started, show)
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
        """Step every match of ``playing`` by its decisions."""
        count, control, heartbeat, games = len(self.slots), self.control, self.heartbeat, self.games
        actions = slab.actions[before, self.rows].reshape(count, self.seats, -1)
        earned = np.zeros((count, self.seats), np.float32)
        decided = control.decided[self.span].copy()
        first, cut = self.slots.start, self.plan.cut
        for i in playing:
            heartbeat[SLOT] = first + i
            game = games[i]
            field = "step"
            try:
                ended = over_of(game.step(actions[i]))
                field = "rewards"
                write_rewards(game, earned[i])
                if ended:
                    over.append((i, flag("truncated", game.truncated)))
                    continue
                field = "observe"
                self._show(i, show)
            except BaseException as error:
                errors[i] = failure(field, error)
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
        """Write rewards of rows that have decided in their match; count ticks of every stepped match.

        Results and replays keep the game's own rewards, whatever teams share.
        """
        control, span = self.control, self.span
        if not np.isfinite(earned).all():
            for i in np.flatnonzero(~np.isfinite(earned).all(axis=1)).tolist():
                errors.setdefault(i, f"rewards: {too_large(earned[i])}")
                earned[i] = 0.0
        control.tick[span] += inside
        control.returns[span] += earned
        control.earned[span] = earned * decided
        spirit = control.spirit[span]
        if self.team_rewards.shares(spirit):
            earned = self.team_rewards.share(earned, spirit)
        slab.reward[before, self.rows] = (earned * decided).reshape(-1)

    def _check_finite(self, playing: Sequence[int], errors: dict[int, str], show: _Show) -> None:
        """Report observations with NaN or infinity, which a network would spread to every weight."""
        for name in self.floats:
            view = show.views[name]
            if all_finite(view):
                continue
            flat = ~np.isfinite(view.reshape(len(self.slots), -1)).all(axis=1)
            for i in np.flatnonzero(flat).tolist():
                if i in playing:
                    errors.setdefault(i, not_finite(f"observation {name}", view[i]))
                view[i] = 0

    def _show(self, i: int, show: _Show) -> None:
        """Write the time step of every seat that must act."""
        slot, control, game, legal = self.slots[i], self.control, self.games[i], self.legal[i]
        slab, now = show.slab, show.now
        row = slot * self.seats
        for seat in game.to_act():
            if not 0 <= seat < self.seats:
                raise ValueError(f"to_act: seat {seat} is not in [0, {self.seats})")
            game.observe(seat, {n: v[i, seat] for n, v in show.views.items()})
            if legal is not None:
                legal(seat, show.masks[i, seat])
                blocked = self._blocked(show.masks[i, seat])
                if blocked:
                    raise ValueError(f"legal: seat {seat}: {blocked}")
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
        """Withdraw the decisions of a time step that turned out to be the last."""
        slot = self.slots[i]
        at = slice(slot * self.seats, (slot + 1) * self.seats)
        asked = int(np.count_nonzero(show.slab.active[show.now, at]))
        self.control.decisions[slot] -= asked
        self.counters[DECISIONS] -= asked
        self.control.decided[slot] &= 1 - show.slab.is_first[show.now, at]
        self._hide(i, show)

    def _start_match(self, i: int, first: bool, show: _Show) -> None:
        """Start a slot's next match, if one is left. The next step's results report a failure."""
        slot = self.slots[i]
        self.heartbeat[SLOT] = slot
        if not self._next_match(slot, first):
            return
        try:
            self.games[i].reset(match_seed(self.plan.seed, int(self.control.match[slot])))
            self._show(i, show)
            for name in self.floats:
                if broken := not_finite(f"observation {name}", show.views[name][i]):
                    show.views[name][i] = 0
                    raise ValueError(broken)
        except BaseException as error:
            self._hide(i, show)
            self.broken[i] = failure("reset", error)

    def _finish(self, i: int, truncated: bool, error: str, slab: Slab, before: int, show: _Show) -> None:
        """End a match, mark its rows, keep their last observation, and start the next match."""
        slot, control, game = self.slots[i], self.control, self.games[i]
        self._withdraw(i, show)
        error = error or self._write_final(i, slab, before)
        truncated = truncated or bool(error)
        ends = self._ends(i, truncated)
        for seat in np.flatnonzero(control.decided[slot]).tolist():
            at = slot * self.seats + seat
            (slab.truncated if ends[seat] == TRUNCATED else slab.terminated)[before, at] = 1
            if error:  # a failed match has no newer observation than the previous one
                for n, final in control.final.items():
                    final[at] = slab.obs[n][before, at]
        self._record(slot, truncated, error)
        if not error:
            self._record_outcome(slot, game)
        self._start_match(i, False, show)

    def _write_final(self, i: int, slab: Slab, before: int) -> str:
        """Write the last observation of each seat that has decided. Returns the error of one that is broken.

        A seat that its game no longer observes keeps the previous one.
        """
        slot, final = self.slots[i], self.control.final
        for seat in np.flatnonzero(self.control.decided[slot]).tolist():
            at = slot * self.seats + seat
            try:
                self.games[i].observe(seat, {n: f[at] for n, f in final.items()})
            except Exception:
                for n, target in final.items():
                    target[at] = slab.obs[n][before, at]
            for name in self.floats:
                if broken := not_finite(f"observation {name}", final[name][at]):
                    return broken
        return ""

    def _ends(self, i: int, truncated: bool) -> Bytes:
        """Return how each seat of a match that is over ended. Seats that still play end with the match."""
        out = np.full(self.seats, PLAYING, np.uint8)
        ends = getattr(self.games[i], "ends", None)
        if ends is not None:
            with contextlib.suppress(Exception):  # of a match that failed
                ends(out)
        out[out == PLAYING] = TRUNCATED if truncated else TERMINATED
        return out


@dataclass(slots=True)
class _Show:
    """Views into which the time step ``now`` of a shard is written.

    ``views[name]: packed[k, S, ...]``, ``masks: uint8[k, S, A]``.
    """

    slab: Slab
    now: int
    views: dict[str, Array]
    masks: Array

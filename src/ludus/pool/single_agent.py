"""Shard of single-agent games, one game object per slot: the common case, with minimal work per step.

Small observations are written into fixed memory of the shard and copied to the slab by one call for all
slots; large ones go to the slab directly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ludus.flow import Slab
from ludus.flow.inputs.finite import all_finite, not_finite
from ludus.flow.seeds import match_seed
from ludus.flow.slab import Array
from ludus.games.contained import close_quietly
from ludus.games.numbers import flag, over_of, too_large, write_rewards
from ludus.games.python_game import PythonGame
from ludus.pool.hosted.control_block import DECISIONS, SLOT, TICKS, ControlBlock, Longs
from ludus.pool.hosted.shard import Bools, PoolPlan, Shard, failure

SMALL = 4096  # bytes; smaller tensors of a row are copied instead of bound to new memory at every step


class SingleAgentShard(Shard):
    """``games[i]`` plays slot ``slots[i]``, which is row ``slots[i]`` too."""

    def __init__(
        self, plan: PoolPlan, control: ControlBlock, slots: range, worker: int, make: Callable[[], PythonGame]
    ) -> None:
        """Make a game for each slot."""
        super().__init__(plan, control, slots, worker)
        count = len(slots)
        self.games = [make() for _ in slots]
        self.legal: list[Callable[[int, Array], None] | None] = [
            getattr(g, "legal", None) for g in self.games
        ]
        self.masked = any(legal is not None for legal in self.legal)
        self.broken: dict[int, str] = {}  # slots whose next match failed to start, with the error
        self.earned = np.zeros((count, 1), np.float32)
        self.earned_of = list(self.earned)
        self.staged: dict[str, Array] = {}
        self.direct: list[str] = []
        for t in plan.spec.observation:
            if t.packed_dtype.itemsize * int(np.prod(t.packed_shape)) <= SMALL:
                self.staged[t.name] = np.zeros((count, *t.packed_shape), t.packed_dtype)
            else:
                self.direct.append(t.name)
        #: the arrays that game i observes into
        self.outs: list[dict[str, Array]] = [{n: a[i] for n, a in self.staged.items()} for i in range(count)]
        self.masks = np.ones((count, plan.spec.mask_size), np.uint8)
        self.mask_of = list(self.masks)

    def close(self) -> None:
        """Release the games' resources."""
        for game in self.games:
            close_quietly(game)

    def _play(self, slab: Slab, before: int, lost: bool) -> None:
        control, span, now, first = self.control, self.span, before + 1, self.slots.start
        for name in self.direct:
            for out, view in zip(self.outs, slab.obs[name][now, self.rows], strict=True):
                out[name] = view
        errors: dict[int, str] = {}
        over: dict[int, bool] = {}
        started = control.match[span] >= 0
        if before < 0:
            taken = np.flatnonzero(started) if lost else np.zeros(0, np.int64)  # took their worker along
            for i in taken.tolist():
                self._record(first + i, True, self._lost_text(first + i))
            fresh: Longs = np.arange(len(self.slots))
            self._next_matches(first + taken)
            others = np.setdiff1d(fresh, taken)
            if len(others):
                self._next_matches(first + others, first=True)
        else:
            self._clear(slab, before)
            if lost:
                errors = {i: self._lost_text(first + i) for i in np.flatnonzero(started).tolist()}
            else:
                errors.update(self.broken)
                stepped = started.copy()
                stepped[list(self.broken)] = False
                self.broken = {}
                self._step(slab, before, stepped, over, errors)
            fresh = self._finish(slab, before, over, errors)
        shown = control.match[span] >= 0
        for i in fresh.tolist():
            if shown[i]:
                shown[i] = self._start_match(i)
        for name, stage in self.staged.items():
            slab.obs[name][now, self.rows] = stage
        slab.mask[now, self.rows] = self.masks
        slab.active[now, self.rows] = shown
        slab.policy[now, self.rows] = np.where(shown, control.policy[span, 0], np.int16(-1))
        slab.is_first[now, self.rows] = 0
        slab.is_first[now, first + fresh] = shown[fresh]
        control.decisions[span] += shown
        control.decided[span, 0] = shown
        self.counters[DECISIONS] += int(np.count_nonzero(shown))

    def _step(
        self, slab: Slab, before: int, stepped: Bools, over: dict[int, bool], errors: dict[int, str]
    ) -> None:
        """Step the matches of ``stepped: [k]`` by their decisions; the rest stay."""
        control, span, heartbeat, first = self.control, self.span, self.heartbeat, self.slots.start
        games, earned_of, outs, legal, mask_of = (
            self.games,
            self.earned_of,
            self.outs,
            self.legal,
            self.mask_of,
        )
        actions = slab.actions[before, self.rows][:, None, :]
        earned = self.earned
        earned[...] = 0.0
        for i in np.flatnonzero(stepped).tolist():
            heartbeat[SLOT] = first + i
            game = games[i]
            field = "step"
            try:
                ended = over_of(game.step(actions[i]))
                field = "rewards"
                write_rewards(game, earned_of[i])
                if ended:
                    over[i] = flag("truncated", game.truncated)
                field = "observe"
                game.observe(0, outs[i])
                judge = legal[i]
                if judge is not None and not ended:
                    field = "legal"
                    judge(0, mask_of[i])
            except BaseException as error:
                errors[i] = failure(field, error)
        if not np.isfinite(earned).all():
            for i in np.flatnonzero(~np.isfinite(earned[:, 0])).tolist():
                errors.setdefault(i, f"rewards: {too_large(earned[i])}")
                earned[i] = 0.0
        control.tick[span] += stepped
        control.returns[span] += earned
        slab.reward[before, self.rows] = earned[:, 0]
        self.counters[TICKS] += int(np.count_nonzero(stepped))
        self._check_finite(slab, before + 1, stepped, errors)
        if self.masked and self._blocked(self.masks):
            self._check_masks(stepped, over, errors)
        cut = self.plan.cut
        if cut:
            late = stepped & (control.tick[span] >= cut)
            over.update({i: True for i in np.flatnonzero(late).tolist() if i not in over})

    def _check_masks(self, stepped: Bools, over: dict[int, bool], errors: dict[int, str]) -> None:
        """Report matches in which nothing is legal as errors."""
        for i, mask in enumerate(self.masks):
            blocked = self._blocked(mask)
            if not blocked:
                continue
            if stepped[i] and i not in over:
                errors.setdefault(i, f"legal: {blocked}")
            mask[...] = 1

    def _check_finite(self, slab: Slab, now: int, stepped: Bools, errors: dict[int, str]) -> None:
        """Report observations with NaN or infinity, which a network would spread to every weight."""
        for name in self.floats:
            array = self.staged.get(name)
            if array is None:
                array = slab.obs[name][now, self.rows]
            if all_finite(array):
                continue
            wrong = ~np.isfinite(array.reshape(len(self.slots), -1)).all(axis=1)
            for i in np.flatnonzero(wrong).tolist():
                if stepped[i]:
                    errors.setdefault(i, not_finite(f"observation {name}", array[i]))
                array[i] = 0

    def _finish(self, slab: Slab, before: int, over: dict[int, bool], errors: dict[int, str]) -> Longs:
        """End matches, mark their rows, keep their last observation, and return their indices."""
        if not over and not errors:
            return np.zeros(0, np.int64)
        control, first, now = self.control, self.slots.start, before + 1
        for i in errors:
            over[i] = True
        ended = np.array(sorted(over), np.int64)
        slots = first + ended
        truncated = np.array([over[i] for i in ended.tolist()])
        decided = control.decided[slots, 0] != 0
        slab.truncated[before, slots] = truncated & decided
        slab.terminated[before, slots] = ~truncated & decided
        for name, final in control.final.items():
            final[slots] = self.staged[name][ended] if name in self.staged else slab.obs[name][now, slots]
        for i in errors:  # a failed match has no newer observation than the previous one
            for name, final in control.final.items():
                final[first + i] = slab.obs[name][before, first + i]
        self._record_many(slots, truncated)
        for i in ended.tolist():
            slot = first + i
            if i in errors:
                self._record_error(slot, errors[i])
                continue
            self._record_outcome(slot, self.games[i])
        self._next_matches(slots)
        return ended

    def _start_match(self, i: int) -> bool:
        """Reset a slot's game. False if that failed: the next step reports it."""
        slot = self.slots[i]
        self.heartbeat[SLOT] = slot
        game = self.games[i]
        try:
            game.reset(match_seed(self.plan.seed, int(self.control.match[slot])))
            seats = list(game.to_act())
            if seats != [0]:
                raise ValueError(f"to_act: seats {seats}, expected [0]")
            game.observe(0, self.outs[i])
            judge = self.legal[i]
            if judge is not None:
                judge(0, self.mask_of[i])
                blocked = self._blocked(self.mask_of[i])
                if blocked:
                    raise ValueError(f"legal: {blocked}")
            for name in self.floats:
                if broken := not_finite(f"observation {name}", self.outs[i][name]):
                    self.outs[i][name][...] = 0
                    raise ValueError(broken)
        except BaseException as error:
            self.mask_of[i][...] = 1
            self.broken[i] = failure("reset", error)
            return False
        return True

"""Conformance checks of a game written in Python: random matches, and a message for each fault.

A failed check reports the value, its place (seed, tick, seat, field) and the expected value.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from ludus.flow.inputs.finite import not_finite
from ludus.flow.masks import legal_choices, possible_choices
from ludus.flow.slab import Array
from ludus.flow.spec import GameSpec
from ludus.games.checks.monitor import CallMonitor
from ludus.games.checks.repeated import compare, digests, not_promised
from ludus.games.checks.scores import check_scores
from ludus.games.checks.spec import CheckFailure, check_spec
from ludus.games.checks.vector import VectorFault, check_vector
from ludus.games.contained import GameExit
from ludus.games.numbers import LEARNABLE, flag, too_large, write_rewards
from ludus.games.python_game import ENOUGH_TICKS, PLAYING, TERMINATED, TRUNCATED, GameMaker, PythonGame
from ludus.games.python_game import MAX_TICKS as UNBOUNDED_TICKS

T = TypeVar("T")
MAX_TICKS = 3000  # of one random match
TRACE_TICKS = 200  # of the first match, which other processes play as well
END_S = 20.0  # of one match played on where none was over by then
SLOW_S = 1.0  # of one step: a pool's time-out would be near
CHECKS = (
    "spec",
    "plays",
    "seats",
    "masks",
    "observations_written",
    "observations_in_range",
    "rewards_finite",
    "ends",
    "outcomes",
    "deterministic",
    "reset_forgets",
    "independent",
    "vectorised",
    "process_untouched",
    "hash_order",
    "speed",
)

#: Checks that need a match played as far as it goes, and those that need one tick.
OF_MATCHES = ("ends", "outcomes", "deterministic", "reset_forgets", "independent", "hash_order", "speed")
OF_TICKS = ("seats", "masks", "observations_written", "observations_in_range", "rewards_finite")


@dataclass(slots=True)
class MatchTrace:
    """Record of one match, time step by time step."""

    steps: list[bytes] = field(default_factory=list)
    ticks: int = 0
    returns: float = 0.0  # of the first seat
    over: bool = False
    truncated: bool = False
    slowest_s: float = 0.0
    seconds: float = 0.0


class RandomMatch:
    """A match of random legal decisions that checks every return value."""

    def __init__(
        self, spec: GameSpec, game: PythonGame, seed: int, monitor: CallMonitor, keep: bool = True
    ) -> None:
        """Prepare a match. ``keep``: store every time step, to compare traces."""
        self.spec, self.game, self.seed, self.monitor, self.keep = spec, game, seed, monitor, keep
        self.rng = np.random.default_rng(seed)
        self.trace = MatchTrace()

    def where(self, more: str = "") -> str:
        """Return the current place for a message."""
        return f"seed {self.seed}, tick {self.trace.ticks}{more}"

    def play(self, ticks: int, seconds: float = math.inf) -> MatchTrace:
        """Play the whole match, or ``ticks`` of it, or until the game has used ``seconds``."""
        self.reset()
        while not self.trace.over and self.trace.ticks < ticks and self.trace.seconds < seconds:
            self._tick()
        return self.trace

    def reset(self) -> None:
        """Reset the game."""
        self._call("reset", lambda: self.game.reset(self.seed))

    def advance(self) -> None:
        """Play one tick, unless the match is over."""
        if not self.trace.over:
            self._tick()

    def _call(self, name: str, function: Callable[[], T], more: str = "", timed: bool = True) -> T:
        where = self.where(more)
        took = 0.0
        try:
            with self.monitor.call(name, where):
                start = time.perf_counter()
                try:
                    return function()
                finally:
                    took = time.perf_counter() - start
        except GameExit as error:
            end = self.monitor.end_of_match()
            raise CheckFailure("plays", f"{name}(): {error} ({where}); instead {end}") from error
        except Exception as error:
            raise CheckFailure(
                "plays", f"{name}() raised {type(error).__name__}: {error} ({where})"
            ) from error
        finally:
            if timed:
                self.trace.seconds += took
                self.trace.slowest_s = max(self.trace.slowest_s, took)

    def _tick(self) -> None:
        spec, trace = self.spec, self.trace
        seats = list(self._call("to_act", self.game.to_act))
        self._check_seats(seats)
        actions = np.zeros((spec.seats, len(spec.heads)), np.int32)
        shown = bytearray(bytes(seats))
        for seat in seats:
            seen = self._observe(seat)
            mask = self._legal(seat)
            actions[seat] = self._choose(mask)
            for array in seen.values():
                shown += array.tobytes()
            shown += mask.tobytes()
        over = self._call("step", lambda: self.game.step(actions))
        trace.ticks += 1
        rewards = np.zeros(spec.seats, np.float32)
        self._call("rewards", lambda: write_rewards(self.game, rewards))
        if not np.isfinite(rewards).all():
            raise CheckFailure("rewards_finite", f"({self.where()}): rewards {too_large(rewards)}")
        if (np.abs(rewards) > LEARNABLE).any():
            raise CheckFailure(
                "rewards_finite",
                f"({self.where()}): rewards {rewards.tolist()} are too large to learn from: scale them, to "
                "about -1 to 1",
            )
        shown += rewards.tobytes()
        trace.returns += float(rewards[0])
        over = self._flag("step() returned a value that", over)
        if self.keep:
            trace.steps.append(bytes(shown))
        if over:
            self._end()

    def _flag(self, what: str, value: object) -> bool:
        try:
            return flag(what, value)
        except ValueError as error:
            raise CheckFailure("ends", f"{error} ({self.where()})") from None

    def _check_seats(self, seats: list[int]) -> None:
        count = self.spec.seats
        if not seats:
            raise CheckFailure(
                "seats",
                f"{self.monitor.who_acts()} is empty ({self.where()}); "
                "expected at least one until the match is over",
            )
        wrong = [s for s in seats if not 0 <= s < count]
        if wrong:
            raise CheckFailure("seats", f"to_act() names seat {wrong[0]} ({self.where()}); there are {count}")
        if sorted(set(seats)) != seats:
            raise CheckFailure(
                "seats", f"to_act() is {seats} ({self.where()}), expected ascending seats, each once"
            )
        if self.spec.turn_based and len(seats) > 1:
            raise CheckFailure(
                "seats", f"to_act() is {seats} ({self.where()}) in a game whose spec is turn_based"
            )

    def _observe(self, seat: int) -> dict[str, Array]:
        """Observe twice, into memory filled differently: every byte must be written, always alike."""
        seen: list[dict[str, Array]] = []
        mismatch = getattr(self.game, "mismatch", None)
        differs = "" if mismatch is None else mismatch(seat)
        if differs:
            raise CheckFailure("observations_in_range", f"{differs} ({self.where(f', seat {seat}')})")
        for filler in (0x00, 0xFF):
            out = {t.name: np.full(t.packed_shape, 0, t.packed_dtype) for t in self.spec.observation}
            for array in out.values():
                array.view(np.uint8)[...] = filler
            look = functools.partial(self.game.observe, seat, out)
            self._call("observe", look, f", seat {seat}", timed=not seen)
            seen.append(out)
        for t in self.spec.observation:
            a, b = seen[0][t.name], seen[1][t.name]
            where = self.where(f", seat {seat}, tensor {t.name}")
            if broken := not_finite(where, a):
                raise CheckFailure("observations_in_range", broken)
            if a.tobytes() != b.tobytes():
                raise CheckFailure(
                    "observations_written", f"{where}: bytes are left unwritten, or change when asked twice"
                )
            if t.dtype != "bits" and t.low < t.high:
                low, high = float(a.min()), float(a.max())
                slack = 1e-6 * max(1.0, abs(t.low), abs(t.high)) if t.dtype == "f32" else 0.0
                if low < t.low - slack or high > t.high + slack:
                    raise CheckFailure(
                        "observations_in_range",
                        f"{where}: values from {low:g} to {high:g}, the spec has {t.low:g} to {t.high:g}",
                    )
        return seen[0]

    def _legal(self, seat: int) -> Array:
        spec = self.spec
        mask = np.full(spec.mask_size, 1, np.uint8)
        legal = getattr(self.game, "legal", None)
        if legal is None:
            return mask
        mask[...] = 0xFF
        where = self.where(f", seat {seat}")
        try:
            self._call("legal", lambda: legal(seat, mask))
        except CheckFailure as failure:
            raise CheckFailure("masks", failure.detail) from failure.__cause__
        if not np.isin(mask, (0, 1)).all():
            raise CheckFailure(
                "masks", f"legal() left {mask.tolist()[:20]} ({where}), expected 0 and 1 alone"
            )
        for k, head in enumerate(spec.heads):
            if not head.depends_on and not possible_choices(spec, mask, k).any():
                raise CheckFailure("masks", f"legal() forbids every choice of head {head.name} ({where})")
        return mask

    def _check_ends(self) -> None:
        """Check that ``ends()``, if the game has it, writes one of three values for every seat."""
        ends = getattr(self.game, "ends", None)
        if ends is None:
            return
        how = np.full(self.spec.seats, 0xFF, np.uint8)
        self._call("ends", lambda: ends(how))
        if not np.isin(how, (PLAYING, TERMINATED, TRUNCATED)).all():
            raise CheckFailure(
                "ends",
                f"ends() wrote {how.tolist()} ({self.where()}), expected PLAYING, TERMINATED or TRUNCATED",
            )

    def _choose(self, mask: Array) -> Array:
        out = np.zeros(len(self.spec.heads), np.int32)
        for k, head in enumerate(self.spec.heads):
            if head.kind == "continuous":
                out[k] = self.rng.standard_normal(1).astype(np.float32).view(np.int32)[0]
            else:
                legal = np.flatnonzero(legal_choices(self.spec, mask[None], k, out[None])[0])
                out[k] = self.rng.choice(legal) if len(legal) else 0
        return out

    def _end(self) -> None:
        trace, spec = self.trace, self.spec
        trace.over = True
        trace.truncated = self._flag("truncated", self.game.truncated)
        outcome = np.full(spec.seats, np.nan, np.float32)
        self._call("outcome", lambda: self.game.outcome(outcome))
        if not (np.isfinite(outcome).all() and (np.abs(outcome) <= 1).all()):
            raise CheckFailure(
                "outcomes", f"outcome {outcome.tolist()} ({self.where()}), expected -1 to 1 for each seat"
            )
        check_scores(spec, self.game, self._call, self.where())
        self._check_ends()
        for seat in range(spec.seats):
            self._observe(seat)  # every seat has a last observation


def check_python(maker: GameMaker, matches: int, seed: int) -> tuple[list[tuple[str, bool, str]], float]:
    """Return ``(check, passed, detail)`` of every check, and nanoseconds a tick of random play.

    In this process: a game that crashes or hangs takes it along. ``check_process`` has one for it.
    """
    with closing(CallMonitor(maker.spec.name)) as monitor:
        rows, ns_per_tick, _ = check_monitored(maker, matches, seed, monitor)
    return rows, ns_per_tick


def trace_of(maker: GameMaker, seed: int, monitor: CallMonitor) -> list[str]:
    """Return the trace of the first match as :func:`check_monitored` does."""
    trace = _player(maker, maker.make(), seed, monitor, TRACE_TICKS)()
    return digests(trace.steps, TRACE_TICKS)


def check_monitored(
    maker: GameMaker, matches: int, seed: int, monitor: CallMonitor
) -> tuple[list[tuple[str, bool, str]], float, list[str]]:
    """Run :func:`check_python` call by call under ``monitor``, and digest each tick of the first match."""
    failed: dict[str, str] = {}
    notes: dict[str, str] = {}
    ticks, seconds, slowest, ended = 0, 0.0, 0.0, 0

    def run(check: str, work: Callable[[], T]) -> T | None:
        try:
            return work()
        except CheckFailure as failure:
            failed.setdefault(failure.check, failure.detail)
        except Exception as error:
            failed.setdefault(check, f"{type(error).__name__}: {error}")
        return None

    def close(game: PythonGame) -> None:
        method = getattr(game, "close", None)
        if method is not None:
            run("plays", lambda: _close(method, monitor))

    run("spec", lambda: check_spec(maker.spec))
    make = functools.partial(_make, maker, monitor)
    game = run("plays", make)
    if game is None or failed:
        return _findings(failed, notes, (*OF_MATCHES, *OF_TICKS, "process_untouched")), 0.0, []
    first: MatchTrace | None = None
    for m in range(matches):
        trace = run("plays", _player(maker, game, seed + m, monitor))
        if trace is None:
            break
        seconds += trace.seconds
        ticks, ended, slowest = ticks + trace.ticks, ended + trace.over, max(slowest, trace.slowest_s)
        first = first or trace
        if ticks > 20 * MAX_TICKS:
            break
    if first is not None and not failed:
        if not ended:
            run("ends", lambda: _check_end(maker.spec, game, seed, monitor))
        unlike = failed if maker.spec.reproducible else {}
        again = run("reset_forgets", _player(maker, game, seed, monitor))
        compare(first.steps, _steps(again), "reset_forgets", "after other matches on the same object", unlike)
        other = run("deterministic", make)
        if other is not None:
            again = run("deterministic", _player(maker, other, seed, monitor))
            compare(first.steps, _steps(again), "deterministic", "on a new object", unlike)
            side = functools.partial(_side_by_side, maker, game, other, seed, first, monitor)
            unlike |= run("independent", side) or {}
            close(other)
        notes |= not_promised(maker.spec, unlike)
        both = functools.partial(_check_vector, maker, game, seed, monitor, skip=bool(failed))
        notes["vectorised"] = run("vectorised", both) or ""
        if slowest > SLOW_S:
            failed["speed"] = f"one call took {slowest:.1f} s; a pool kills what hangs (pool.timeout_s)"
    close(game)
    wrong, notes["process_untouched"] = monitor.verdict()
    if wrong:
        failed["process_untouched"] = wrong
    missing = _not_made(first, monitor)
    return (
        _findings(failed, notes, missing),
        1e9 * seconds / max(1, ticks),
        digests(first.steps, TRACE_TICKS) if first else [],
    )


def _make(maker: GameMaker, monitor: CallMonitor) -> PythonGame:
    try:
        with monitor.call("__init__", "making the game"):
            return getattr(maker, "guest", maker).make()
    except GameExit as error:
        raise CheckFailure("plays", f"__init__(): {error}; instead raise an exception") from error


def _close(close: Callable[[], object], monitor: CallMonitor) -> None:
    """Check that ``close`` works at any time."""
    try:
        with monitor.call("close", "after the last match"):
            close()
    except Exception as error:
        reason = str(error) if isinstance(error, GameExit) else f"raised {type(error).__name__}: {error}"
        raise CheckFailure("plays", f"close(): {reason}; expected it to return at any time") from error


def _check_end(spec: GameSpec, game: PythonGame, seed: int, monitor: CallMonitor) -> None:
    """Play one match as far as it may go: evaluations count whole matches and wait for their ends."""
    declared = 0 < spec.max_ticks < UNBOUNDED_TICKS
    limit = spec.max_ticks if declared else ENOUGH_TICKS
    trace = RandomMatch(spec, game, seed, monitor, keep=False).play(limit, END_S)
    if trace.over or (declared and trace.ticks < limit):
        return
    bound = f"the spec declares at most {limit}" if declared else "the spec declares no max_ticks"
    raise CheckFailure(
        "ends",
        f"a match of random decisions (seed {seed}) was not over after {trace.ticks} ticks; {bound}. "
        "Evaluations need matches that end: truncate them (max_episode_steps of Gymnasium)",
    )


def _check_vector(maker: GameMaker, game: PythonGame, seed: int, monitor: CallMonitor, *, skip: bool) -> str:
    """Compare the form that a pool plays with ``game``, if that is another one; ``skip``: do nothing."""
    if skip:
        return ""

    def one(seed: int) -> tuple[int, float] | None:
        trace = RandomMatch(maker.spec, game, seed, monitor, keep=False).play(MAX_TICKS)
        return (trace.ticks, trace.returns) if trace.over else None

    try:
        return check_vector(maker, seed, monitor, one)
    except VectorFault as fault:
        raise CheckFailure("vectorised", str(fault)) from fault


def _player(
    maker: GameMaker, game: PythonGame, seed: int, monitor: CallMonitor, ticks: int = MAX_TICKS
) -> Callable[[], MatchTrace]:
    return lambda: RandomMatch(maker.spec, game, seed, monitor).play(ticks)


def _side_by_side(
    maker: GameMaker, a: PythonGame, b: PythonGame, seed: int, first: MatchTrace, monitor: CallMonitor
) -> dict[str, str]:
    """Play two matches in turns. Returns the finding if the second influences the first."""
    one, two = RandomMatch(maker.spec, a, seed, monitor), RandomMatch(maker.spec, b, seed + 1, monitor)
    one.reset()
    two.reset()
    for _ in range(min(first.ticks, 200)):
        one.advance()
        two.advance()
    count = len(one.trace.steps)
    if one.trace.steps == first.steps[:count]:
        return {}
    return {"independent": "a match changes when another match is played at the same time"}


def _steps(trace: MatchTrace | None) -> list[bytes] | None:
    return None if trace is None else trace.steps


def _not_made(first: MatchTrace | None, monitor: CallMonitor) -> tuple[str, ...]:
    """Return the checks that the first match, None where it failed, did not come to."""
    matches = OF_MATCHES if first is None else ()
    return matches if monitor.calls("rewards") else (*matches, *OF_TICKS)


def _findings(
    failed: Mapping[str, str], notes: Mapping[str, str], missing: Collection[str]
) -> list[tuple[str, bool, str]]:
    """Return a row for each check that was made; passed ones may have a note."""
    made = [check for check in CHECKS if check in failed or check not in missing]
    return [(check, check not in failed, failed.get(check) or notes.get(check, "")) for check in made]

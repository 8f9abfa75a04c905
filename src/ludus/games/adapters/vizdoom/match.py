"""A match of several ViZDoom engines against each other, without a window: ``players`` of 2 to 8.

One engine per seat, joined by the engine's own peer-to-peer protocol over 127.0.0.1. Without
synchronisation that protocol sometimes freezes: an engine that runs ahead waits for packets that no peer
sends any more. So all seats advance by one tic, wait for each other, and advance again. An engine that does
not finish a tic in time counts as frozen; only SIGKILL ends a frozen engine.

An engine polls for packets without a pause. On shared processors that keeps the others from answering, so
engines are started with a library that yields the processor while they wait (:func:`yielding`).

A thread may stay inside the library after its engine was killed. The library has crashed a process that
started an engine meanwhile, so such a process starts none (:func:`check_process`).
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from typing import Any

import numpy as np

from ludus.flow.slab import Array
from ludus.games.adapters.seat_threads import SeatThreads
from ludus.games.adapters.vizdoom.engine import (
    ALIVE_TICS,
    JOIN_TICS,
    TICS_PER_S,
    begin,
    gather,
    gathered,
    host_arguments,
    join_arguments,
    missing_bots,
)
from ludus.games.adapters.vizdoom.processes import (
    ReservedPort,
    check_process,
    engine_processes,
    keep_stuck,
    kill,
    starting,
    yielding,
)
from ludus.games.adapters.vizdoom.quiet import quiet
from ludus.games.adapters.vizdoom.setting import MatchSetting
from ludus.games.adapters.vizdoom.shaping import Shaper, VariableReader
from ludus.games.adapters.vizdoom.tally import FragTally, best_of_bots, outcomes, places, scoreboard
from ludus.games.python_game import Bytes, Floats, Ints

START_S = 60.0  # for all engines to find each other
AGAIN_S = 30.0  # for a new match of the same engines
STOP_S = 3.0  # for an engine to end by itself
GONE_S = 20.0  # for a seat's thread to notice that its engine has been killed


class VizdoomMatch:
    """``players`` engines, started once; every match is a new episode of all of them.

    A match ends after ``match_tics``; the most frags win, and built-in bots count. Raises
    ``RuntimeError`` with the seats of engines that die or freeze; :meth:`reset` then starts new ones.
    :class:`ProcessUnusable` from :meth:`reset` means that this process cannot.
    """

    def __init__(self, maker: MatchSetting) -> None:
        """Start a thread and an engine for each seat."""
        self.spec, self._maker = maker.spec, maker
        seats = maker.players
        self._threads = SeatThreads(seats, "vizdoom-seat")
        self._games: list[Any] = []
        self._engines: set[int] = set()  # pids
        self._seats = [maker.seat() for _ in range(seats)]
        self._tallies = [FragTally() for _ in range(seats)]
        self._shapers = [Shaper(maker.shaping) for _ in range(seats)]
        self._variables = VariableReader(maker.shaping.variables)
        self._earned = np.zeros(seats, np.float32)
        self._totals = np.zeros(seats)  # the scenario's reward, at the last decision
        self._numbers = [0] * seats  # the engine's number of each seat
        self._board: dict[int, int] = {}
        self._tics = 0
        self._barrier = threading.Barrier(seats)  # between two tics of a decision
        self._skip = 0  # tics of this decision
        self._done = [0] * seats  # of them, each seat
        self._seed = 0
        self._port: ReservedPort | None = None
        self.truncated = False
        self._launch()

    @property
    def engines(self) -> set[int]:
        """Process ids of the engines that run now."""
        return {pid for pid in self._engines if pid in engine_processes()}

    def reset(self, seed: int) -> None:
        """Start a match with ``seed`` in each engine."""
        self._tics, self.truncated, self._board, self._seed = 0, False, {}, seed
        self._barrier = threading.Barrier(len(self._seats))
        self._done[:] = [0] * len(self._done)
        if not self._games:
            self._launch()
        self._together("start", self._again, AGAIN_S)
        if self._maker.bots.count:
            self._gather()
        for seat, game in enumerate(self._games):
            self._begin(seat, game)

    def _gather(self) -> None:
        """Let the bots join; the match starts when all are there and no player is dead."""
        host, bots, players = self._games[0], self._maker.bots, len(self._seats)
        gather(host, bots)
        for tic in range(JOIN_TICS):
            self._together("tic", self._wait, self._maker.tic_s)
            alive = not any(game.is_player_dead() for game in self._games)
            if gathered(host, players, bots) and (alive or tic >= ALIVE_TICS):
                break
        if not gathered(host, players, bots):
            raise missing_bots(host, players, bots)
        begin(host, self._maker.respawn_s)

    def _launch(self) -> None:
        """Start all engines, which find each other."""
        with starting:
            check_process()
            self._launch_at(ReservedPort())

    def _launch_at(self, port: ReservedPort) -> None:
        before = engine_processes()
        self._port = port
        games = [self._maker.engine() for _ in self._seats]
        # An engine makes this folder when it starts; two that make it at the same time end the process.
        with contextlib.suppress(OSError):
            os.makedirs("_vizdoom", exist_ok=True)
        maker = self._maker
        for seat, game in enumerate(games):
            host = host_arguments(len(games), port.number, maker.respawn_s, maker.bots)
            game.add_game_args(host if seat == 0 else join_arguments(seat, port.number))
            # The end is ours: an engine that ends by itself leaves the rest waiting.
            game.set_episode_timeout(0)
        self._games = games
        try:
            with yielding(), quiet():
                self._together("start", self._start, START_S, before)
        finally:
            self._engines |= engine_processes() - before

    def to_act(self) -> Sequence[int]:
        """Return all seats."""
        return range(len(self._seats))

    def legal(self, seat: int, out: Array) -> None:
        """Write the legal choices: all but those that press a button that is off."""
        self._maker.actions.legal(out)

    def step(self, actions: Ints) -> bool:
        """Play one decision of every seat. True when ``match_tics`` are played."""
        if not self._games:
            raise RuntimeError("the engines of this match are gone")
        for game, action in zip(self._games, actions, strict=True):
            game.set_action(self._maker.actions.press(action))
        self._skip = min(self._maker.frame_skip, self._maker.match_tics - self._tics)
        self._done[:] = [0] * len(self._done)
        self._together("tic", self._advance, self._maker.tic_s)
        self._tics += self._skip
        over = bool(self._tics >= self._maker.match_tics)
        if over:
            self._board = scoreboard(self._games[0])
        return over

    def rewards(self, out: Floats) -> None:
        """Write the shaped rewards of the last step."""
        out[...] = self._earned

    def outcome(self, out: Floats) -> None:
        """Write +1 for the most frags, -1 for fewer, and 0 for all seats if all have equally many."""
        out[...] = outcomes([t.frags for t in self._tallies], self._board)

    def scores(self, out: Floats) -> None:
        """Write the named scores of the match: ``float32[S, F]``."""
        where = places([t.frags for t in self._tallies], self._board)
        best = [best_of_bots(self._board, self._numbers)] * (self._maker.bots.count > 0)
        for row, tally, place in zip(out, self._tallies, where, strict=True):
            row[...] = (tally.frags, tally.kills, tally.deaths, tally.suicides, place, *best)

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        """Write the seat's screen and game variables."""
        self._seats[seat].write(out)

    @property
    def ticks_per_s(self) -> float:
        """Decisions a second of the engines."""
        return float(TICS_PER_S / self._maker.frame_skip)

    def render(self) -> Bytes | None:
        """Return the screens of all seats, side by side."""
        screens = [seat.drawn() for seat in self._seats]
        return None if any(s is None for s in screens) else np.concatenate(screens, axis=1)  # type: ignore[arg-type]

    def close(self) -> None:
        """End the engines and the threads."""
        self._stop()
        self._threads.close()

    # The methods that run in a seat's own thread:

    def _start(self, seat: int) -> None:
        self._games[seat].init()

    def _again(self, seat: int) -> None:
        game = self._games[seat]
        game.set_seed(self._seed)
        game.set_action([0.0] * len(self._maker.actions.buttons))
        game.new_episode()

    def _wait(self, seat: int) -> None:
        self._games[seat].advance_action(1, True)

    def _begin(self, seat: int, game: Any) -> None:
        import vizdoom

        self._numbers[seat] = int(game.get_game_variable(vizdoom.GameVariable.PLAYER_NUMBER))
        self._totals[seat] = game.get_total_reward()
        self._tallies[seat].start(game)
        self._shapers[seat].start(self._variables.read(game))
        self._seats[seat].look(game)

    def _advance(self, seat: int) -> None:
        """Play a decision, tic by tic in step with the other engines; only the last frame is rendered."""
        game, last = self._games[seat], self._skip - 1
        try:
            for tic in range(last):
                game.advance_action(1, False)
                self._done[seat] = tic + 1
                self._barrier.wait(self._maker.tic_s)
            game.advance_action(1, True)
            self._done[seat] = last + 1
            self._look(seat, game)  # while others still draw
        except BaseException:
            self._barrier.abort()  # the other engines stop waiting for this seat
            raise

    def _look(self, seat: int, game: Any) -> None:
        """Read what a decision has earned, and the screen after it."""
        total = game.get_total_reward()
        reward, self._totals[seat] = total - self._totals[seat], total
        self._tallies[seat].update(game, reward)
        over = self._tics + self._skip >= self._maker.match_tics
        self._earned[seat] = self._shapers[seat].reward(reward, self._variables.read(game), over)
        self._seats[seat].look(game)

    def _together(
        self, what: str, each: Callable[[int], object], limit_s: float, before: set[int] | None = None
    ) -> None:
        """Run ``each`` for all seats in parallel under a watchdog, until the last is done."""
        futures = [self._threads.submit(seat, each, seat) for seat in range(len(self._games))]
        moved, done, late = -1, set[Future[object]](), set(futures)
        while late and sum(self._done) > moved and not any(f.exception() for f in done):
            moved = sum(self._done)
            done, late = wait(futures, limit_s, FIRST_EXCEPTION)
        errors = {futures.index(f): f.exception() for f in done}
        broken = {seat: e for seat, e in errors.items() if e is not None}
        if not late and not broken:
            return
        # A seat that waited for another has not failed. Where one has, the others may yet finish their tic.
        waited = {seat for seat, e in broken.items() if isinstance(e, threading.BrokenBarrierError)}
        if len(waited) < len(broken):
            _, late = wait(late, min(limit_s, self._maker.tic_s))
        if before is not None:
            self._engines |= engine_processes() - before
        frozen = sorted(futures.index(f) for f in late)
        self._kill()
        keep_stuck(wait(late, GONE_S)[1])  # the end of an engine releases the engines that wait for it
        self._games = []
        raise RuntimeError(
            _wrong(what, frozen, {s: e for s, e in broken.items() if s not in waited}, limit_s)
        )

    def _stop(self) -> None:
        """End all engines: first by a request, then by SIGKILL."""
        games, self._games = self._games, []
        futures = [self._threads.submit(seat, game.close) for seat, game in enumerate(games)]
        _, late = wait(futures, STOP_S)
        self._kill()
        keep_stuck(wait(late, GONE_S)[1])

    def _kill(self) -> None:
        kill(self._engines)
        self._engines = set()
        if self._port is not None:
            self._port.close()


def _wrong(what: str, frozen: list[int], broken: dict[int, BaseException | None], limit_s: float) -> str:
    reasons = []
    if frozen and not broken:  # else they wait for the engines that failed
        reasons.append(f"seats {', '.join(map(str, frozen))} did not finish a {what} within {limit_s:g} s")
    for seat, error in sorted(broken.items()):
        text = str(error).strip().splitlines()
        reasons.append(f"seat {seat}: {type(error).__name__}: {text[0] if text else ''}")
    if not reasons:  # all engines finished, but one had timed out
        reasons.append(f"a seat needed longer than {limit_s:g} s for a {what}")
    return f"{what}: " + "; ".join(reasons)

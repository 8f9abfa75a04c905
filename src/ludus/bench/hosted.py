"""Simulation speed of games written in Python: the pool with its worker processes beside the library itself.

Both play in turns, so that other load on the machine falls on both. The library plays in as many processes
as the pool has workers, one match in each (:class:`ludus.games.python_game.BareGame`).
"""

from __future__ import annotations

import contextlib
import multiprocessing
import statistics
import time
from collections.abc import Iterator, Mapping
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, cast

import msgspec

from ludus.flow import Controller, Lineup, PoolOptions, SeatPlan
from ludus.flow.process.interrupts import leave_to_parent
from ludus.games import registry
from ludus.games.contained import close_quietly
from ludus.games.names import is_typed, loaded, typed
from ludus.pool.errors import PoolError
from ludus.pool.factory import make_pool

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.process import BaseProcess

    from ludus.games.python_game import BareGame, GameMaker
    from ludus.pool.protocol import Pool

TURNS = 4
GROUPS = 2
STEPS = 32  # of the slab that the pool writes into
START_S = 180.0  # for a process to start the library
WARM_TICKS = 8
_PLAY, _END = b"play", b"end"


class HostedBench(msgspec.Struct, frozen=True):
    """Speed of a Python game with random choices; nothing is learned.

    A tick is a step of one match. ``frames`` of the library are in a tick; ``bare_*`` and ``share_of_bare``
    are None for games whose adapter cannot play the library by itself. Rates are medians of ``TURNS`` turns.
    """

    game: str
    threads: int
    matches: int
    seconds: float
    frames: int
    ticks_per_s: float
    frames_per_s: float
    failed: int
    bare_ticks_per_s: float | None = None
    bare_frames_per_s: float | None = None
    share_of_bare: float | None = None
    turns: tuple[float, ...] = ()
    bare_turns: tuple[float, ...] = ()


class BareProcesses:
    """Processes that play the library by itself, and sleep between two turns."""

    def __init__(self, game: str, params: Mapping[str, object], processes: int, seed: int) -> None:
        """Start the processes and the library in each. Raises :class:`PoolError` if one cannot."""
        context = multiprocessing.get_context("spawn")
        text = registry.text_params(params)
        self._name = game
        self._processes: list[BaseProcess] = []
        self._pipes: list[Connection] = []
        try:
            for number in range(processes):
                ours, theirs = context.Pipe()
                self._pipes.append(ours)
                arguments = (theirs, str(game), is_typed(game), text, seed + number)
                process = context.Process(target=_play_bare, args=arguments, daemon=True)
                process.start()
                self._processes.append(process)
                theirs.close()
            self.frames = max(int(self._answer(pipe)) for pipe in self._pipes)
        except BaseException:
            self.close()
            raise

    def turn(self, seconds: float) -> float:
        """Play for ``seconds`` in all processes; return their ticks a second together."""
        for pipe in self._pipes:
            pipe.send_bytes(_PLAY + str(seconds).encode())
        return sum(float(self._answer(pipe, seconds)) for pipe in self._pipes)

    def close(self) -> None:
        """End the processes."""
        for pipe in self._pipes:
            with contextlib.suppress(OSError):
                pipe.send_bytes(_END)
            pipe.close()
        for process in self._processes:
            process.join(10.0)
            if process.exitcode is None:
                process.kill()
                process.join()

    def _answer(self, pipe: Connection, more_s: float = 0.0) -> bytes:
        try:
            if not pipe.poll(START_S + more_s):
                raise PoolError(f"{self._name}: its library did not answer within {START_S + more_s:g} s")
            answer = pipe.recv_bytes(1 << 16)
        except (EOFError, OSError) as error:
            raise PoolError(f"{self._name}: a process that played its library ended") from error
        if answer.startswith(b"!"):
            raise PoolError(f"{self._name}: {answer[1:].decode(errors='replace')}")
        return answer


def bench_hosted(
    game: str,
    params: Mapping[str, object],
    *,
    threads: int = 1,
    matches: int = 16,
    seconds: float = 3.0,
    seed: int = 1,
) -> HostedBench:
    """Time the pool of a Python game, and its library by itself in turns where the adapter can.

    Args:
        game: A reference of a Python game.
        params: Parameters of the rules.
        threads: Worker processes of the pool, and processes of the library.
        matches: Simultaneous matches of each worker, in two groups.
        seconds: Measuring time of each side, approximately.
        seed: Seed of the matches and of the choices.

    Raises:
        PoolError: The library cannot be played by itself.
        PoolError: Workers do not start.
    """
    made = registry.maker(game, params)
    slots = max(GROUPS, -(-threads * matches // GROUPS) * GROUPS)
    plans = tuple(SeatPlan((Controller(policy=0),)) for _ in range(made.spec.seats))
    options = PoolOptions(slots=slots, groups=GROUPS, threads=threads, seed=seed, on_error="truncate")
    with contextlib.ExitStack() as stack:
        pool = make_pool(game, params, Lineup(plans), options)
        stack.callback(pool.close)
        player = _PoolPlayer(pool, seed)
        bare: BareProcesses | None = None
        if bare_of(made) is not None:
            bare = BareProcesses(game, params, threads, seed)
            stack.callback(bare.close)
        if bare is not None and bare.frames == 0:
            bare = None
        if bare is not None:
            bare.turn(min(0.2, seconds / TURNS))
        player.turn(min(0.2, seconds / TURNS))
        ours, theirs = [], []
        for _ in range(TURNS):
            ours.append(player.turn(seconds / TURNS))
            if bare is not None:
                theirs.append(bare.turn(seconds / TURNS))
        failed = pool.stats().errors
    frames, rate = bare.frames if bare is not None else 1, statistics.median(ours)
    out = HostedBench(
        *(made.spec.name, threads, slots, seconds, frames, rate, rate * frames, failed), turns=tuple(ours)
    )
    if bare is None:
        return out
    limit = statistics.median(theirs)
    return msgspec.structs.replace(
        out,
        bare_ticks_per_s=limit,
        bare_frames_per_s=limit * frames,
        share_of_bare=statistics.median(a / b for a, b in zip(ours, theirs, strict=True)),
        bare_turns=tuple(theirs),
    )


def bare_of(made: GameMaker) -> Callable[[int], BareGame | None] | None:
    """Return the maker's ``bare``, None for an adapter without one."""
    bare = getattr(made, "bare", None)
    return cast("Callable[[int], BareGame | None]", bare) if callable(bare) else None


class _PoolPlayer:
    """A pool that plays with uniformly random legal choices."""

    def __init__(self, pool: Pool, seed: int) -> None:
        """Start the first matches of ``pool``."""
        self._pool, self._seed, self._step = pool, seed, 0
        self._slab = pool.slab(STEPS)
        self._attach()

    def turn(self, seconds: float) -> float:
        """Play for ``seconds`` and return the ticks a second of all matches."""
        pool = self._pool
        before, started = pool.stats().ticks, time.perf_counter()
        while (elapsed := time.perf_counter() - started) < seconds:
            self._step += 1
            for group in range(GROUPS):
                batch = pool.recv(group)
                if batch.t == STEPS:
                    pool.attach(group, self._slab)
                    pool.recv(group)
                pool.random_actions(group, self._seed + self._step)
                pool.send(group)
        for group in range(GROUPS):  # the last steps are not part of the other side's turn
            pool.recv(group)
        elapsed = time.perf_counter() - started
        return (pool.stats().ticks - before) / elapsed

    def _attach(self) -> None:
        for group in range(GROUPS):
            self._pool.attach(group, self._slab)


def _play_bare(pipe: Connection, game: str, was_typed: bool, params: dict[str, str], seed: int) -> None:
    """Play the library in this process, when asked for as long as asked, until the pipe ends."""
    leave_to_parent()
    admitted = typed if was_typed else loaded  # checked by the parent, which has made the game
    try:
        make = bare_of(registry.maker(admitted(game), params))
        assert make is not None
        bare = make(seed)
        if bare is None:
            pipe.send_bytes(b"0")
            return
        for _ in range(WARM_TICKS):
            bare.tick()
    except Exception as error:
        pipe.send_bytes(f"!{type(error).__name__}: {error}".encode()[: 1 << 15])
        return
    try:
        pipe.send_bytes(str(bare.frames).encode())
        for seconds in _asked(pipe):
            ticks, started = 0, time.perf_counter()
            while time.perf_counter() - started < seconds:
                bare.tick()
                ticks += 1
            pipe.send_bytes(str(ticks / (time.perf_counter() - started)).encode())
    except (EOFError, OSError):  # the parent has ended
        pass
    except Exception as error:
        pipe.send_bytes(f"!{type(error).__name__}: {error}".encode()[: 1 << 15])
    finally:
        close_quietly(bare)


def _asked(pipe: Connection) -> Iterator[float]:
    """Yield the seconds of each turn that the parent asks for."""
    while (asked := pipe.recv_bytes(1 << 16)) != _END:
        yield float(asked.removeprefix(_PLAY))

"""Threads in which a search plays against itself, and the matches that they finish."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from ludus.flow.process.as_found import one_thread
from ludus.mcts import Matches, SelfPlay
from ludus.mcts.network import NetworkEvaluator

LOOK_S = 0.25  # seconds between two checks of the thread that waits, for Ctrl-C and the end of its minutes


@dataclass(slots=True)
class SelfPlayTimes:
    """Times and counts of all threads together, since the last call."""

    busy_s: float = 0.0
    evaluate_s: float = 0.0  # of it, inside the network
    batches: int = 0
    evaluations: int = 0
    simulations: int = 0
    moves: int = 0
    lookups: int = 0
    hits: int = 0


class Stop(Protocol):
    """Interface of what ends a thread's play."""

    def is_set(self) -> bool:
        """Return whether the thread ends before its next batch."""
        ...


class Worker:
    """Matches of one thread."""

    def __init__(self, play: SelfPlay) -> None:
        """Start without times."""
        self.play = play
        self.moves = play.moves  # after the last batch
        self.times = SelfPlayTimes()
        self._seen = SelfPlayTimes()

    def run(self, stop: Stop, look: Callable[[], None] = lambda: None) -> None:
        """Play batch after batch until ``stop``, and calls ``look`` after each.

        The batch that was collected last is always answered.
        """
        one_thread()
        play, times = self.play, self.times
        assert isinstance(play.evaluator, NetworkEvaluator)
        started = time.perf_counter()
        while not stop.is_set():
            count = play.collect()
            evaluated = time.perf_counter()
            answers = play.evaluator.evaluate(play.batch, count)
            times.evaluate_s += time.perf_counter() - evaluated
            play.deliver(*answers)
            times.batches += 1
            times.evaluations += count
            self.moves = play.moves
            look()
        times.busy_s += time.perf_counter() - started


@dataclass(frozen=True, slots=True)
class Share:
    """A number of moves that a thread makes, unless it is stopped (:class:`Stop`)."""

    worker: Worker
    moves: int  # of the thread in the session
    stopping: Callable[[], bool]

    def is_set(self) -> bool:
        """See :class:`Stop`."""
        return self.worker.moves >= self.moves or self.stopping()


class SelfPlayWorkers(Protocol):
    """Interface of what plays a run's self-play. Made, started and paused by one thread.

    Matches continue where they were when the workers start again; weights change between two batches.
    """

    def play_until(self, moves: int, stopping: Callable[[], bool]) -> None:
        """Play until all workers together have made ``moves`` in this session, or ``stopping``.

        A worker that fails ends the wait too. Workers keep playing when this returns.
        """
        ...

    def start(self) -> None:
        """Start the workers. Idempotent."""
        ...

    def pause(self) -> None:
        """Stop the workers and wait for them. Raises what a worker raised. Idempotent."""
        ...

    def failed(self) -> bool:
        """Return whether a worker has ended by an error; :meth:`pause` raises it."""
        ...

    def take_matches(self) -> Matches:
        """Return the matches that ended since the last call. Only while paused."""
        ...

    def set_weights(self, evaluator: NetworkEvaluator, version: int, seed: int) -> None:
        """Replace the weights of all workers. Only while paused."""
        ...

    def set_resign(self, below: float) -> None:
        """Set the value below which seats resign. Only while paused."""
        ...

    def moves(self) -> int:
        """Return the number of moves of all workers in the batches that are done."""
        ...

    def times(self) -> SelfPlayTimes:
        """Return times and counts since the last call. Only while paused."""
        ...

    def numbers(self) -> dict[str, float]:
        """Return the metrics of machines that play for this process; empty where there are none.

        Seconds are those since the last call.
        """
        ...

    def close(self) -> None:
        """Stop the workers. Idempotent."""
        ...


class Workers:
    """Self-play of several threads of this process (:class:`SelfPlayWorkers`).

    The thread that waits sleeps until the last move wakes it. If it polled every few milliseconds, a thread
    that plays would release the interpreter lock each time, and on a busy machine wait each time until the
    operating system runs it.
    """

    def __init__(self, plays: list[SelfPlay]) -> None:
        """Make a thread for each of ``plays``."""
        self.workers = [Worker(play) for play in plays]
        self._stop = threading.Event()
        self._awaited = sys.maxsize  # moves of all threads
        self._reached = threading.Event()  # these moves, or the end of a thread
        self._executor = ThreadPoolExecutor(len(plays), "self-play")
        self._running: list[Future[None]] = []

    def start(self) -> None:
        """Start the threads. Idempotent."""
        if self._running:
            return
        self._stop.clear()
        self._running = [self._executor.submit(w.run, self._stop, self._look) for w in self.workers]
        for future in self._running:
            future.add_done_callback(lambda _: self._reached.set())

    def play_until(self, moves: int, stopping: Callable[[], bool]) -> None:
        """Play until all threads together have made ``moves`` in this session, or ``stopping``.

        A thread that fails ends the wait too. Threads keep playing when this returns.
        """
        self._awaited = moves
        self._reached.clear()
        self.start()
        self._look()
        while not stopping() and not self.failed() and not self._reached.wait(LOOK_S):
            pass
        self._awaited = sys.maxsize

    def play_shares(self, moves: int, stopping: Callable[[], bool]) -> None:
        """Play until each thread has made its share of ``moves`` more, or ``stopping``. Only while paused.

        A thread's end depends on its own moves alone: equal calls give equal matches.
        """
        share = -(-moves // len(self.workers))
        shares = [Share(w, w.moves + share, stopping) for w in self.workers]
        for future in [self._executor.submit(s.worker.run, s) for s in shares]:
            future.result()

    def _look(self) -> None:
        if self.moves() >= self._awaited:
            self._reached.set()

    def pause(self) -> None:
        """Stop the threads and wait for them. Raises what a thread raised. Idempotent."""
        self._stop.set()
        running, self._running = self._running, []
        for future in running:
            future.result()

    def failed(self) -> bool:
        """Return whether a thread has ended by an error; :meth:`pause` raises it."""
        return any(f.done() for f in self._running)

    def take_matches(self) -> Matches:
        """Return the matches that ended since the last call. Only while paused."""
        return Matches.join([w.play.take_matches() for w in self.workers])

    def set_weights(self, evaluator: NetworkEvaluator, version: int, seed: int) -> None:
        """Replace the weights of all threads. Only while paused."""
        for index, worker in enumerate(self.workers):
            worker.play.evaluator = evaluator.sibling(seed + index, worker.play.evaluator)
            worker.play.set_version(version)

    def set_resign(self, below: float) -> None:
        """Set the value below which seats resign. Only while paused."""
        for worker in self.workers:
            worker.play.set_resign(below)

    def moves(self) -> int:
        """Return the number of moves of all threads in the batches that are done."""
        return sum(w.moves for w in self.workers)

    def times(self) -> SelfPlayTimes:
        """Return times and counts since the last call. Only while paused."""
        total = SelfPlayTimes()
        for worker in self.workers:
            t, play = worker.times, worker.play
            lookups, hits = play.cache_counts
            t.simulations, t.moves, t.lookups, t.hits = play.simulations, play.moves, lookups, hits
            for name in SelfPlayTimes.__slots__:
                now = getattr(t, name)
                setattr(total, name, getattr(total, name) + now - getattr(worker._seen, name))
                setattr(worker._seen, name, now)
        return total

    def numbers(self) -> dict[str, float]:
        """Return no metrics: the threads are of this process."""
        return {}

    def close(self) -> None:
        """Stop the threads. Idempotent."""
        self._stop.set()
        self._executor.shutdown()
        self._running = []

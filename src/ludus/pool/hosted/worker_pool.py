"""Worker supervisor: starts, watches, restarts and stops the worker processes of a pool."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

import msgspec

from ludus.flow import Slab
from ludus.flow.inputs.decode import from_json
from ludus.games.checks.agent_order import SAME_HASHES
from ludus.pool.errors import PoolError
from ludus.pool.hosted.shared import Doorbell, Segment, wait_for
from ludus.pool.hosted.watch import Patience, Watchdog, is_stopped
from ludus.pool.hosted.worker import READY, UNUSABLE, NewSlab, WorkerStart, receive_message, send_message

CLOSE_S = 2.0  # for games to release their resources
MAX_LOSSES = 3  # of one worker in a row without a step in between
# Crashes: a process killed from outside while it made its games is not restarted.
_CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)

# The current folder is on a worker's path only if it is on the parent's: it may be a run from elsewhere.
_RUN = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; from ludus.pool.hosted.worker import main; "
    "sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))"
)
_QUIET = {"SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy", "PYGAME_HIDE_SUPPORT_PROMPT": "1"}
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(slots=True)
class _Worker:
    """One worker, as the parent sees it."""

    process: subprocess.Popen[bytes]
    channel: socket.socket
    lifeline: socket.socket
    doorbell: Doorbell
    slabs: set[int] = field(default_factory=set)  # numbers of the slabs that it has received
    losses: int = 0


@final
class WorkerPool:
    """Processes of the workers 0, 1, ...; a replacement keeps the number."""

    def __init__(
        self,
        name: str,
        starts: Sequence[WorkerStart],
        descriptors: Sequence[int],
        watch: Watchdog,
        *,
        timeout_s: float,
        start_timeout_s: float,
    ) -> None:
        """Prepare the workers; :meth:`start` makes their processes.

        Args:
            name: Name of the game, for messages.
            starts: First message to each worker.
            descriptors: Descriptors that all share: the control segment first, then every group's doorbell.
            watch: Watch that finds workers without an answer.
            timeout_s: Seconds after which such a worker is lost (0: never).
            start_timeout_s: Seconds that a worker may take to make its games.
        """
        self._name, self._starts, self._descriptors = name, starts, list(descriptors)
        self._timeout_s, self._start_timeout_s = timeout_s, start_timeout_s
        self._workers: list[_Worker] = []
        self._watch = watch
        self.agents: list[str] = []  # seats of an environment that names them, in the order of the workers
        self.slabs: list[tuple[Slab, Segment]] = []  # by number, shared by all workers

    def __len__(self) -> int:
        """Return the number of workers that were started."""
        return len(self._workers)

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers that play now."""
        return [h.process.pid for h in self._workers]

    def start(self) -> None:
        """Start all workers and wait until they have made their games. Raises :class:`PoolError`."""
        self._workers += [_spawn() for _ in self._starts]
        for number, worker in enumerate(self._workers):
            self._send_start(number, worker)
        for number in range(len(self._workers)):
            self._await_ready(number)

    def give(self, slab: int) -> None:
        """Send the slab of that number to the workers that lack it."""
        for worker in self._workers:
            if slab not in worker.slabs:
                _give_slab(worker, slab, *self.slabs[slab])

    def notify(self, number: int) -> None:
        """Notify the worker of news in the control block."""
        self._workers[number].doorbell.notify()

    def poll(self, doorbells: Sequence[Doorbell]) -> select.poll:
        """Return a poll for :meth:`wait` that wakes when a doorbell is notified or a worker dies."""
        poll = select.poll()
        for doorbell in doorbells:
            poll.register(doorbell.wait_descriptor, select.POLLIN)
        for worker in self._workers:
            poll.register(worker.channel, select.POLLHUP)
        return poll

    def wait(self, poll: select.poll, doorbells: Sequence[Doorbell]) -> dict[int, str]:
        """Sleep until something happens. Return the workers that died or are overdue, with the reason."""
        news = {descriptor for descriptor, _ in wait_for(poll, self._watch.every_s)}
        for doorbell in doorbells:
            doorbell.clear()
        gone = {n: _how_it_died(h.process) for n, h in enumerate(self._workers) if h.channel.fileno() in news}
        for number in self._watch.overdue():
            why = "its process was stopped, and " if is_stopped(self._workers[number].process.pid) else ""
            gone.setdefault(number, f"{why}took longer than {self._timeout_s:g} s (pool.timeout_s)")
        return gone

    def kill(self, number: int, why: str, poll: select.poll) -> None:
        """Kill a worker. Raises :class:`PoolError` with ``why`` after too many losses of it in a row."""
        poll.unregister(self._workers[number].channel)
        self._lose(number, why)

    def restart(self, number: int, poll: select.poll) -> None:
        """Replace a killed worker; the new one gets all slabs and reads its commands at once."""
        self._respawn(number)
        self._await_ready(number)
        worker = self._workers[number]
        for i, (slab, segment) in enumerate(self.slabs):
            _give_slab(worker, i, slab, segment)
        worker.doorbell.notify()
        poll.register(worker.channel, select.POLLHUP)
        self._watch.see(number)

    def worked(self, number: int) -> None:
        """Reset the worker's count of losses, after a completed step."""
        self._workers[number].losses = 0

    def _lose(self, number: int, why: str) -> None:
        worker = self._workers[number]
        _kill(worker)
        worker.losses += 1
        if worker.losses > MAX_LOSSES:
            raise PoolError(f"{self._name}: worker {number} was lost {worker.losses} times in a row: {why}")

    def _respawn(self, number: int) -> None:
        worker = _spawn()
        worker.losses = self._workers[number].losses
        self._workers[number] = worker
        self._send_start(number, worker)

    def _await_ready(self, number: int) -> None:
        """Wait until the worker has made its games.

        One that crashes meanwhile, as engines sometimes do when many start at once, or is stopped, is
        replaced like one that is lost in play.
        """
        while why := self._handshake(self._workers[number]):
            self._lose(number, why)
            self._respawn(number)

    def _send_start(self, number: int, worker: _Worker) -> None:
        control, *doorbells = self._descriptors
        worker.channel.settimeout(self._start_timeout_s)  # a long message to one that does not read it
        with contextlib.suppress(BrokenPipeError, TimeoutError):  # _handshake detects its death
            send_message(
                worker.channel,
                msgspec.json.encode(self._starts[number]),
                [control, *worker.doorbell.descriptors, *doorbells],
            )

    def _handshake(self, worker: _Worker) -> str:
        """Wait until a worker has made its games. Return how it was lost, or ""."""
        if why := self._await_news(worker):
            return why
        try:
            reply, _ = receive_message(worker.channel)
        except TimeoutError:
            raise self._too_slow() from None
        except (EOFError, OSError):
            why = f"died while it made its games ({_how_it_died(worker.process)})"
            if -(worker.process.returncode or 0) in _CRASHES:
                return why
            raise PoolError(f"{self._name}: a worker {why}") from None
        finally:
            worker.channel.settimeout(None)
        if reply.startswith(READY):
            self.agents = from_json(reply.removeprefix(READY), list[str])
        elif reply:
            raise PoolError(f"{self._name}: {reply.decode(errors='replace')}")
        return ""

    def _await_news(self, worker: _Worker) -> str:
        """Wait until a starting worker answers. Return why it is lost if its process is stopped."""
        poll = select.poll()
        poll.register(worker.channel, select.POLLIN)
        started, stopped = Patience(self._watch.every_s), Patience(self._watch.every_s)
        while not wait_for(poll, self._watch.every_s):
            started.look()
            stopped.look()
            if stopped.interrupted or not is_stopped(worker.process.pid):
                stopped = Patience(self._watch.every_s)
            elif 0 < self._timeout_s < stopped.waited_s:
                return (
                    f"its process was stopped for longer than {self._timeout_s:g} s while it made its games"
                )
            if started.waited_s > self._start_timeout_s:
                raise self._too_slow()
        return ""

    def _too_slow(self) -> PoolError:
        return PoolError(f"{self._name}: a worker did not make its games within {self._start_timeout_s:g} s")

    def shutdown(self) -> None:
        """Stop all workers, after ``closing`` is set in the control block; kills those that do not exit."""
        for worker in self._workers:
            with contextlib.suppress(OSError):
                worker.channel.shutdown(socket.SHUT_RDWR)  # those that are still making their games
            worker.doorbell.notify()
        deadline = time.monotonic() + CLOSE_S
        for worker in self._workers:
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.process.wait(max(0.0, deadline - time.monotonic()))
            _kill(worker)
        self._workers.clear()
        for _, segment in self.slabs:
            segment.close()
        self.slabs.clear()


def _spawn() -> _Worker:
    """Start a worker in a separate session, so that Ctrl-C at the terminal reaches only the parent."""
    ours, theirs = socket.socketpair()
    lifeline, their_lifeline = socket.socketpair()
    environment = {**_QUIET, **os.environ, **SAME_HASHES, **dict.fromkeys(_ONE_THREAD, "1")}
    environment["PYTHONPATH"] = os.pathsep.join(p or os.getcwd() for p in sys.path)
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", _RUN, str(theirs.fileno()), str(their_lifeline.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=2,  # games' output must not mix with results
            pass_fds=(theirs.fileno(), their_lifeline.fileno()),
            env=environment,
            start_new_session=True,
        )
    except BaseException:
        ours.close()
        lifeline.close()
        raise
    finally:
        theirs.close()
        their_lifeline.close()
    return _Worker(process, ours, lifeline, Doorbell())


def _give_slab(worker: _Worker, number: int, slab: Slab, segment: Segment) -> None:
    worker.slabs.add(number)
    message = NewSlab(number=number, steps=slab.steps, rows=slab.rows)
    with contextlib.suppress(BrokenPipeError):
        send_message(worker.channel, msgspec.json.encode(message), [segment.descriptor])


def _how_it_died(process: subprocess.Popen[bytes]) -> str:
    try:
        code = process.wait(5.0)
    except subprocess.TimeoutExpired:
        return "the worker closed its channel"
    if code < 0:
        try:
            return f"the worker was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"the worker was ended by signal {-code}"
    if code == UNUSABLE:
        return "the game could not be played any further in its process"
    return f"the worker exited with code {code}"


def _kill(worker: _Worker) -> None:
    """Kill a worker and all of its children, by its process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(worker.process.pid, signal.SIGKILL)
    worker.process.wait()
    worker.channel.close()
    worker.lifeline.close()
    worker.doorbell.close()

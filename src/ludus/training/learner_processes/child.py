"""A process that this one starts, speaks to over a socket, and watches.

It runs in a session of its own, so that Ctrl-C at the terminal reaches only the run. When the run's process
exits for any reason, the kernel ends it (:func:`ludus.pool.hosted.worker.die_with_parent`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable

from ludus.pool.hosted.watch import Patience, is_stopped
from ludus.pool.hosted.worker import receive_message

STOPPED_S = 10.0  # that a process may be stopped (SIGSTOP) while this one waits for it
CLOSE_S = 2.0  # for a process to end by itself
LOOK_S = 0.5  # longest sleep between two looks at the processes
_WHY_S = 1.0  # for the last words of a process that has ended
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Child:
    """One of the processes that this one has started."""

    def __init__(self, name: str, module: str) -> None:
        """Start a process.

        Args:
            name: Name in messages: ``learner process 2``.
            module: Module whose ``run(channel, lifeline)`` it calls with two descriptors.

        Raises:
            OSError: The system starts no process.
        """
        self.name = name
        self._owner = os.getpid()
        self._stopped = Patience(LOOK_S)
        self.channel, theirs = socket.socketpair()
        self._lifeline, their_lifeline = socket.socketpair()
        environment = {**os.environ, **dict.fromkeys(_ONE_THREAD, "1")}
        environment["PYTHONPATH"] = os.pathsep.join(p or os.getcwd() for p in sys.path)
        code = (
            f"import sys; sys.path[:] = [p for p in sys.path if p]; from {module} import run; "
            "run(int(sys.argv[1]), int(sys.argv[2]))"
        )
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", code, str(theirs.fileno()), str(their_lifeline.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=2,  # what a method prints must not mix with results
                pass_fds=(theirs.fileno(), their_lifeline.fileno()),
                env=environment,
                start_new_session=True,
            )
        except OSError:
            self.channel.close()
            self._lifeline.close()
            raise
        finally:
            theirs.close()
            their_lifeline.close()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def why_stopped(self, limit_s: float) -> str:
        """Return why it counts as lost though it lives; "" while it does not. Called while waiting for it.

        Args:
            limit_s: Seconds for which it may be stopped.
        """
        if not self._stopped.due():
            return ""
        self._stopped.look()
        if self._stopped.interrupted or not is_stopped(self.pid):
            self._stopped = Patience(LOOK_S)
        elif self._stopped.waited_s > limit_s:
            return f"{self.name} was stopped for longer than {limit_s:g} s (SIGSTOP)"
        return ""

    def how_it_ended(self) -> str:
        """Return the end of a sentence about a process whose channel is closed."""
        self.channel.settimeout(_WHY_S)
        with contextlib.suppress(EOFError, OSError):
            message, _ = receive_message(self.channel)
            return f"failed: {message.decode(errors='replace')}"
        return self.exit_text()

    def exit_text(self) -> str:
        """Return the end of a sentence about a process that should have ended, from its exit code."""
        try:
            code = self._process.wait(_WHY_S)
        except subprocess.TimeoutExpired:
            return "has closed its channel"
        if code >= 0:
            return f"has exited with code {code}"
        try:
            return f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"

    def shut(self) -> None:
        """Close the channel for both sides: the process ends by itself."""
        with contextlib.suppress(OSError):
            self.channel.shutdown(socket.SHUT_RDWR)

    def end(self, deadline: float) -> None:
        """Wait for its end until ``deadline`` of the monotonic clock, then kill it."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, deadline - time.monotonic()))
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
        self.channel.close()
        self._lifeline.close()


def end_all(children: Iterable[Child], owner: int) -> None:
    """End processes that ``owner`` started, if this is the process ``owner``: a fork of it leaves them."""
    if os.getpid() != owner:
        return
    living = list(children)
    for child in living:
        child.shut()
    deadline = time.monotonic() + CLOSE_S
    for child in living:
        child.end(deadline)

"""A GTP engine as a child process: commands, answers, and how it may fail."""

from __future__ import annotations

import contextlib
import os
import queue
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from typing import IO, Literal

from ludus.flow.inputs.shown import shown, visible
from ludus.gtp.program_match import ProgramMatch
from ludus.pool.hosted.watch import Patience

MAX_ANSWER = 1 << 20  # bytes of an answer
MAX_NAME = 200  # characters of an engine's name
MAX_WORDS = 400  # characters of its last words
MOST_WAITING = 1024  # unread lines of an engine
ERRORS_BYTES = 4096  # kept of what an engine writes on stderr
LOOK_S = 0.5  # maximum time between two readings of the clock

#: How an engine failed: it did not start, ended, gave no answer in time, or broke the protocol.
Fault = Literal["start", "ended", "silent", "nonsense"]


class ProgramError(RuntimeError):
    """An engine ended, does not answer, or breaks the protocol.

    Attributes:
        program: The engine; None if it did not start.
        fault: How it failed.
        played: The match up to then, if one was played.
    """

    def __init__(self, text: str, program: GtpProgram | None = None, fault: Fault = "start") -> None:
        """Report ``text``; other arguments as the attributes."""
        super().__init__(text)
        self.program, self.fault = program, fault
        self.played: ProgramMatch | None = None


class CommandFailure(ProgramError):
    """The program answered a command with ``?``."""


class GtpProgram:
    """A GTP engine as a child process. Use it as a context manager.

    Time in which this process stood still (Ctrl-Z, a suspended machine) counts neither for ``timeout_s`` nor
    in ``waited_s``: the engine may have stood still too.

    Attributes:
        name: The engine's name and version.
        waited_s: Seconds waited for answers so far.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        timeout_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """Start the engine.

        Args:
            command: The command and its arguments, as a shell line or a list.
            timeout_s: Time limit of an answer in seconds.
            clock: Source of seconds.
            stopped: Asked while an answer is awaited, each :data:`LOOK_S`: whether the wait is over.

        Raises:
            ProgramError: The engine does not start or does not answer.
        """
        words = shlex.split(command) if isinstance(command, str) else list(command)
        self.timeout_s = timeout_s
        self.command = " ".join(words)
        try:
            # In a separate session: Ctrl-C reaches only this process, and an engine ends with its children.
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError, IndexError) as error:
            why = error.strerror if isinstance(error, OSError) else ""
            raise ProgramError(f"{visible(self.command) or 'a command'}: {why or error}") from None
        self._lines: queue.Queue[str | None] = queue.Queue(MOST_WAITING)
        self._errors = b""
        self._closed = threading.Event()
        threads = (("gtp program", self._read), ("gtp errors", self._read_errors))
        self._threads = [threading.Thread(target=run, daemon=True, name=name) for name, run in threads]
        for thread in self._threads:
            thread.start()
        self._number = 0
        self._clock, self._stopped = clock, stopped
        self.waited_s = 0.0
        self.name = self.command
        try:
            self.name = visible(f"{self.ask('name')} {self.ask('version')}")[:MAX_NAME]
        except CommandFailure:
            pass
        except ProgramError as error:
            error.fault = "start"
            self.close()
            raise
        except BaseException:
            self.close()
            raise

    def _read(self) -> None:  # runs in its own thread
        out = self._process.stdout
        assert out is not None
        with contextlib.suppress(OSError, ValueError):  # closed
            while line := out.readline(MAX_ANSWER):
                self._put(line.decode("utf-8", errors="replace"))
        self._put(None)

    def _put(self, line: str | None) -> None:
        while not self._closed.is_set():
            with contextlib.suppress(queue.Full):  # no one asks, and the engine writes more
                self._lines.put(line, timeout=LOOK_S)
                return

    def _read_errors(self) -> None:  # runs in its own thread
        errors = self._process.stderr
        assert errors is not None
        with contextlib.suppress(OSError, ValueError):  # closed
            while found := os.read(errors.fileno(), ERRORS_BYTES):
                self._errors = (self._errors + found)[-ERRORS_BYTES:]

    def _ended(self) -> ProgramError:
        """Return the error of an engine that has ended, with its last words."""
        self._threads[1].join(LOOK_S)
        lines = self._errors.decode("utf-8", errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return self._error("it has ended" + (f": {visible(last)[:MAX_WORDS]}" if last else ""), "ended")

    def _error(self, text: str, fault: Fault) -> ProgramError:
        return ProgramError(f"{visible(self.command)}: {text}", self, fault)

    def ask(self, command: str) -> str:
        """Return the answer to a command. Raise :class:`CommandFailure` or :class:`ProgramError`."""
        (text,) = self.ask_all([command])
        return text

    def ask_all(self, commands: Sequence[str]) -> list[str]:
        """Send several commands at once and return their answers. Raises as :meth:`ask`."""
        first = self._number + 1
        self._number += len(commands)
        text = "".join(f"{first + i} {c}\n" for i, c in enumerate(commands))
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(text.encode())
            stdin.flush()
        except (OSError, ValueError):
            raise self._ended() from None
        answers = [self._answer(first + i) for i in range(len(commands))]
        for command, (good, answer) in zip(commands, answers, strict=True):
            if not good:
                text = f"{visible(self.command)}: {command}: {shown(answer)}"
                raise CommandFailure(text, self, "nonsense")
        return [answer for _, answer in answers]

    def _answer(self, number: int) -> tuple[bool, str]:
        lines: list[str] = []
        size = 0
        patience = Patience(min(LOOK_S, self.timeout_s / 4), self._clock)
        while True:
            line = self._line(patience)
            if line is None:
                self._lines.put(None)  # it stays ended
                raise self._ended()
            size += len(line)
            if size >= MAX_ANSWER:
                raise self._error(f"an answer of more than {MAX_ANSWER:,} characters", "nonsense")
            line = line.rstrip("\r\n")
            if line:
                lines.append(line)
            elif lines:
                break
        head = lines[0]
        mark = f"{head[0]}{number}"
        if head[0] not in "=?" or not (head == mark or head.startswith(mark + " ")):
            text = f"expected an answer to command {number}, got {shown(head)}"
            raise self._error(text, "nonsense")
        return head[0] == "=", "\n".join([head[len(mark) :].strip(), *lines[1:]]).strip()

    def _line(self, patience: Patience) -> str | None:
        """Return the next line; None at the end of the output."""
        before = patience.waited_s
        while True:
            try:
                return self._lines.get(timeout=min(LOOK_S, self.timeout_s / 4))
            except queue.Empty:
                pass
            finally:
                patience.look()
                self.waited_s += patience.waited_s - before
                before = patience.waited_s
            if self._stopped():
                raise self._error("the wait for its answer is over", "silent")
            if patience.waited_s >= self.timeout_s:
                raise self._error(f"no answer within {self.timeout_s:g} s", "silent")

    def close(self, wait_s: float = 2.0) -> None:
        """Send ``quit``, then end the process and its children. Idempotent.

        Args:
            wait_s: Time that the engine has to end by itself, in seconds.
        """
        process = self._process
        self._closed.set()
        if process.poll() is None:
            try:
                assert process.stdin is not None
                process.stdin.write(b"quit\n")
                process.stdin.close()
                process.wait(wait_s)
            except (OSError, ValueError, subprocess.TimeoutExpired):
                pass
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)  # also what it has started
        process.wait()
        for thread in self._threads:
            thread.join(LOOK_S)
        pipes: tuple[IO[bytes] | None, ...] = (process.stdin, process.stdout, process.stderr)
        for pipe in pipes:
            with contextlib.suppress(OSError, ValueError):
                if pipe is not None:
                    pipe.close()

    def __enter__(self) -> GtpProgram:
        """Return the running engine."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the engine."""
        self.close()

"""Processes of a sweep: each trains, resumes or evaluates one run.

A process keeps a file of the sweep's directory locked while it lives, also after the sweep was killed. A
sweep started again waits for such a process instead of training its run twice.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from ludus.storage.files import open_new, open_own, own_folder

What = Literal["train", "resume", "greedy"]
MAX_MESSAGE = 400  # shown characters of a process's last line
MAX_READ = 1 << 16
#: The command line of ``ludus``. The current folder is not on its path: it may be untrusted.
_RUN = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; sys.argv[0] = 'ludus'; "
    "from ludus.cli.__main__ import main; sys.exit(main())"
)
INTERNAL = "internal error"  # starts the line under a traceback


class ProcessCommand(msgspec.Struct, frozen=True):
    """A command line of ``ludus``. ``result``: the file that gets its stdout once it has succeeded."""

    what: What
    words: tuple[str, ...]
    result: str = ""


class ProcessEnd(msgspec.Struct, frozen=True):
    """The end of a process.

    ``code``: exit code, negative for a signal; ``cpu_s``: processor time; ``message``: its last line.
    """

    code: int
    cpu_s: float
    seconds: float
    message: str


class Process:
    """A process of one run. Made by :func:`launch`."""

    def __init__(
        self, process: subprocess.Popen[bytes], command: ProcessCommand, log: Path, offset: int
    ) -> None:
        """Watch ``process``, whose output in ``log`` starts at byte ``offset``."""
        self.command = command
        self._process, self._log, self._offset = process, log, offset
        self._started = time.monotonic()

    def poll(self) -> ProcessEnd | None:
        """Return how it ended; None while it runs. A result that it has written is put in its place."""
        pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
        if pid == 0:
            return None
        code = self._process.returncode = os.waitstatus_to_exitcode(status)
        if self.command.result and code == 0:
            os.replace(_aside(Path(self.command.result)), self.command.result)
        seconds = time.monotonic() - self._started
        return ProcessEnd(code, usage.ru_utime + usage.ru_stime, seconds, self._message(code))

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Send a signal: after SIGTERM a run saves and ends, also one whose process is stopped."""
        self._process.send_signal(number)
        self._process.send_signal(signal.SIGCONT)

    def _message(self, code: int) -> str:
        if code == 0:
            return ""
        with self._log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(self._offset, size - MAX_READ))
            lines = file.read().decode("utf-8", "replace").splitlines()
        lines = [line.strip() for line in lines if line.strip() and not line.startswith(INTERNAL)]
        if lines:
            return lines[-1][:MAX_MESSAGE]
        return f"killed by signal {-code}" if code < 0 else f"exit code {code}"


def launch(command: ProcessCommand, lock: Path, log: Path) -> Process | None:
    """Start a command; return None while another process holds ``lock``.

    Its stderr goes to the end of ``log``. The process has a separate session, so that Ctrl-C reaches only
    the sweep. Raises ``OSError``, and ``CorruptFile`` if a file that it writes is a link.
    """
    held = open_own(lock, os.O_RDWR)
    try:
        if not _try_lock(held):
            return None
        with os.fdopen(open_own(log, os.O_WRONLY | os.O_APPEND), "ab") as errors:
            offset = errors.seek(0, os.SEEK_END)
            if command.result:
                aside = _aside(Path(command.result))
                own_folder(aside.parent, make=True)
                with open_new(aside) as out:
                    process = _start(command.words, held, out.fileno(), errors.fileno())
            else:
                process = _start(command.words, held, subprocess.DEVNULL, errors.fileno())
        return Process(process, command, log, offset)
    finally:
        os.close(held)


def _start(words: Sequence[str], held: int, out: int, errors: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _RUN, *words],
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=errors,
        start_new_session=True,
        pass_fds=(held,),
    )


def _aside(result: Path) -> Path:
    return result.with_name(result.name + ".tmp")


def _try_lock(file: int) -> bool:
    """Return False while another process holds it. A file system without locks locks nothing."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True

"""A run's lock: one process at a time writes into a run directory, and readers can see which.

``flock`` on the directory itself: a lock file that is removed admits no second writer. The kernel releases it
when the process ends, for any reason, and child processes do not inherit it. ``RUN/lock`` names the process
that holds the lock, or held it last. That file is locked too, for file systems that lock files alone (NFS).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import time
from pathlib import Path

import msgspec

from ludus.flow.inputs.decode import from_json, to_json
from ludus.flow.inputs.shown import visible
from ludus.storage.errors import StorageError
from ludus.storage.files import open_own, read_bounded

MAX_BYTES = 4096
WAIT_S = 0.5  # a reader takes the lock briefly to see whether it is free
POLL_S = 0.02
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)


class RunBusy(StorageError):
    """Another process writes into the run directory."""


class Holder(msgspec.Struct, frozen=True):
    """The process that holds a run's lock, or held it last. ``since``: UTC, ISO 8601."""

    pid: int
    host: str
    since: str

    def __str__(self) -> str:
        """Return process, host and time, safe to print."""
        return f"process {self.pid} on {visible(self.host[:100])} since {visible(self.since[:40])}"


class RunLock:
    """A lock held until :meth:`release` or the end of the process."""

    def __init__(self, path: Path, holder: Holder) -> None:
        """Take the lock in the name of ``holder``. A file system without locks locks nothing.

        Raises:
            RunBusy: Another process holds it.
            CorruptFile: The lock file is a link or no regular file.
            OSError: The directory or the file cannot be opened.
        """
        self._fds: list[int] = []
        try:
            self._fds.append(os.open(path.parent, _DIRECTORY))
            self._take(path, self._fds[0])
            self._fds.append(open_own(path, os.O_RDWR))
            self._take(path, self._fds[1])
            with contextlib.suppress(OSError):  # a full disk: the lock holds without its name
                os.ftruncate(self._fds[1], 0)
                os.pwrite(self._fds[1], to_json(holder), 0)
        except BaseException:
            self.release()
            raise

    def _take(self, path: Path, fd: int) -> None:
        deadline = time.monotonic() + WAIT_S
        while not try_lock(fd, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                held = read_holder(path) or "another process"
                raise RunBusy(
                    f"{path.parent}: {held} trains this run; two would write each update twice. "
                    "Stop that one (Ctrl-C or kill) before this run is resumed"
                )
            time.sleep(POLL_S)

    def holds(self, folder: Path) -> bool:
        """Return whether the locked directory has the name ``folder`` now."""
        try:
            return os.path.samestat(os.fstat(self._fds[0]), folder.lstat())
        except OSError:
            return False

    def release(self) -> None:
        """Release the lock. Idempotent."""
        while self._fds:
            os.close(self._fds.pop())

    def __enter__(self) -> RunLock:
        """Return the lock, which is released at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Release the lock."""
        self.release()


def this_process(since: str) -> Holder:
    """Return this process as a holder."""
    return Holder(os.getpid(), socket.gethostname(), since)


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock now."""
    return _is_held(path.parent, _DIRECTORY) or _is_held(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)


def _is_held(path: Path, flags: int) -> bool:
    try:
        fd = os.open(path, flags | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not try_lock(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)


def is_abandoned(path: Path) -> bool:
    """Return whether the process that locked a run is gone, so that its half of a run may be removed.

    On a file system without locks the process named in the file counts; one of another host may live.
    """
    if is_locked(path):
        return False
    try:
        fd = os.open(path.parent, _DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _HELD:
            return False
    else:
        return True
    finally:
        os.close(fd)
    holder = read_holder(path)
    return holder is not None and holder.host == socket.gethostname() and not _lives(holder.pid)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # of another user, or no number of a process
        return True
    return True


def read_holder(path: Path) -> Holder | None:
    """Return the process named in the file, or None."""
    try:
        return from_json(read_bounded(path, MAX_BYTES), Holder)
    except (OSError, StorageError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def try_lock(fd: int, kind: int) -> bool:
    """Return False if another process holds it; True, without a lock, on a file system that has none."""
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _HELD:
            return False
        if error.errno not in (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL, errno.EBADF):
            raise
    return True

"""A folder of one process that no other user can read.

Ray kills processes, so they cannot always remove their folders. The lock on a folder ends with its process,
and the next process that makes one removes those without a lock.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from ludus.storage.lock import try_lock

PREFIX = "ludus-rollout-"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class PrivateFolder:
    """A new folder with mode 0700."""

    def __init__(self, parent: str = "", prefix: str = PREFIX) -> None:
        """Make the folder, and remove the folders of ended processes. Raises ``OSError``.

        Args:
            parent: Folder that it is made in; empty = the one for temporary files.
            prefix: First part of its name.
        """
        parent = parent or tempfile.gettempdir()
        remove_abandoned(Path(parent), prefix)
        while (lock := _locked(path := Path(tempfile.mkdtemp(prefix=prefix, dir=parent)))) is None:
            pass  # another process took it for an abandoned one
        self.path, self._lock = path, lock

    def remove(self) -> None:
        """Remove the folder with its content. Idempotent."""
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


def _locked(path: Path) -> int | None:
    """Lock a folder and return its descriptor; None if it is locked or removed."""
    try:
        lock = os.open(path, _DIRECTORY)
    except FileNotFoundError:
        return None
    if try_lock(lock, fcntl.LOCK_EX) and path.is_dir():
        return lock
    os.close(lock)
    return None


def remove_abandoned(parent: Path, prefix: str = PREFIX) -> None:
    """Remove this user's private folders in ``parent`` whose processes have ended."""
    for path in parent.glob(f"{prefix}*"):
        with suppress(OSError):  # removed by another process, or of another user
            about = path.lstat()
            if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
                continue
            if (lock := _locked(path)) is not None:
                shutil.rmtree(path, ignore_errors=True)
                os.close(lock)

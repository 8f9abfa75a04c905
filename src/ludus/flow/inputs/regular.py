"""Files that a user or another file names: opened only if they are regular, so that no read hangs.

A pipe without a writer, a device, a socket or a folder under such a name is one error at once.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

TEXT = "not a regular file"


class NotRegular(OSError):
    """A path that leads to a folder, a pipe, a socket or a device."""

    def __init__(self, path: Path) -> None:
        """Name the path."""
        super().__init__(errno.EINVAL, TEXT, str(path))


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file to read it. Raises ``OSError``, :class:`NotRegular` for anything else."""
    try:
        fd = os.open(
            path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
        )  # a pipe without a writer must not hang
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket, or a device that is not there
            raise NotRegular(path) from None
        raise
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise NotRegular(path)
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def why_unusable(path: Path, missing: str = "no such file") -> str:
    """Return why ``path`` is no file to read; "" for a regular file. ``missing``: for a path without one."""
    if path.is_file():
        return ""
    if path.is_dir():
        return f"is a folder, {TEXT}"
    return TEXT if path.exists() else missing

"""Bounded reads and atomic writes.

A file appears under its name only by ``rename``, after its bytes and then its directory have been
fsynced. An earlier failure (full disk, kill -9) leaves the previous file untouched and at most a ``*.tmp``
next to it, which the next writer removes.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

from ludus.storage.errors import CorruptFile

TEMPORARY = ".tmp"


def read_bounded(path: Path, limit: int) -> bytes:
    """The whole content of ``path``, a regular file of at most ``limit`` bytes.

    Raises ``OSError``, and ``CorruptFile`` for a longer file or anything else than a regular file (a pipe, a
    device), which is not read.
    """
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe without a writer must not hang
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise CorruptFile(f"{path}: not a regular file")
        data = file.read(limit + 1)
    if len(data) > limit:
        raise CorruptFile(f"{path}: more than {limit} bytes, expected at most {limit}")
    return data


def fsync_directory(path: Path) -> None:
    """Makes a rename inside ``path`` durable. Some systems lack it; there the rename alone must suffice."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(fd)
    except OSError:
        pass
    finally:
        os.close(fd)


def write_synced(path: Path, data: bytes) -> None:
    """Writes ``data`` to ``path`` in place and fsyncs it (for files inside a temporary directory)."""
    with path.open("wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())


def write_atomic(path: Path, data: bytes) -> None:
    """Replaces ``path`` by ``data``, or leaves it unchanged on any ``OSError``."""
    aside = path.with_name(path.name + TEMPORARY)
    try:
        write_synced(aside, data)
        os.replace(aside, path)
    except OSError:
        aside.unlink(missing_ok=True)
        raise
    fsync_directory(path.parent)


def remove_directory(path: Path) -> None:
    """Removes directory ``path``; a kill never leaves a partial directory under its name."""
    aside = path.with_name(path.name + ".old" + TEMPORARY)
    shutil.rmtree(aside, ignore_errors=True)
    os.replace(path, aside)
    shutil.rmtree(aside, ignore_errors=True)


def write_directory_atomic(path: Path, fill: Callable[[Path], None]) -> None:
    """Creates directory ``path`` atomically, with the content that ``fill(temporary_directory)`` writes.

    ``fill`` must fsync its files (:func:`write_synced`). An existing ``path`` is replaced.
    """
    aside = path.with_name(path.name + TEMPORARY)
    if aside.exists():
        shutil.rmtree(aside)
    try:
        aside.mkdir(parents=True)
        fill(aside)
        fsync_directory(aside)
        if path.exists():
            remove_directory(path)
        os.replace(aside, path)
    except OSError:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    fsync_directory(path.parent)

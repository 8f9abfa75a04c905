"""Bounded reads, atomic writes, and the only ways in which a file of a run, sweep or report is opened.

A run directory may come from another user. So nothing is written through a link: :func:`open_own` opens a
regular file with one name, :func:`write_synced` makes its file exclusively, :func:`own_folder` refuses a
folder that is a link. Reads follow links, but :func:`open_regular` reads nothing else than a regular file, so
that none hangs.

A file appears under its name only by ``rename``, after its bytes and then its directory have been
fsynced. An earlier failure (full disk, kill -9) leaves the previous file untouched and at most a ``*.tmp``
next to it, which the next writer removes.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from ludus.flow.inputs import regular
from ludus.storage.errors import CorruptFile

TEMPORARY = ".tmp"
_NO_FILE_PART = re.compile(r"[^A-Za-z0-9._+=,@-]+")
_PART_CHARACTERS = 80
#: Names that Windows keeps for devices, whatever suffix is behind them.
_DEVICES = re.compile(r"(?i:con|prn|aux|nul|com\d|lpt\d)(?![^.])")
_EXCLUSIVE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file to read it. Raises ``OSError``, and ``CorruptFile`` for a pipe or a device."""
    try:
        return regular.open_regular(path)
    except regular.NotRegular as error:
        raise CorruptFile(f"{path}: {regular.TEXT}") from error


def open_own(path: Path, flags: int) -> int:
    """Open a file to write into it, or make it; return its descriptor.

    ``flags``: flags of ``os.open``, without ``O_TRUNC``: a file is checked before it changes.

    Raises:
        OSError: The file cannot be opened.
        CorruptFile: It is a link, has several names (a hard link), or is no regular file.
    """
    assert not flags & os.O_TRUNC
    try:
        fd = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise CorruptFile(f"{path}: a link, expected a regular file; remove it") from error
        if error.errno in (errno.EISDIR, errno.ENXIO, errno.ENODEV):
            raise CorruptFile(f"{path}: not a regular file; remove it") from error
        raise
    about = os.fstat(fd)
    if stat.S_ISREG(about.st_mode) and about.st_nlink <= 1:
        return fd
    os.close(fd)
    if not stat.S_ISREG(about.st_mode):
        raise CorruptFile(f"{path}: not a regular file; remove it")
    raise CorruptFile(
        f"{path}: a file with {about.st_nlink} names (hard links), expected one; replace it by a copy"
    )


def own_folder(path: Path, *, make: bool = False) -> None:
    """Raise ``CorruptFile`` where ``path`` is there and is a link or no folder; ``make``: create it."""
    if path.is_symlink():
        raise CorruptFile(f"{path}: a link, expected a folder; remove it")
    if path.exists() and not path.is_dir():
        raise CorruptFile(f"{path}: not a folder; remove it")
    if make:
        path.mkdir(parents=True, exist_ok=True)


def read_bounded(path: Path, limit: int) -> bytes:
    """Return the whole content of ``path``, a regular file of at most ``limit`` bytes.

    Raises:
        OSError: The file cannot be read.
        CorruptFile: It is longer, or no regular file (a pipe, a device); it is not read then.
    """
    with open_regular(path) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise CorruptFile(f"{path}: more than {limit} bytes, expected at most {limit}")
    return data


def fsync_directory(path: Path) -> None:
    """Make a rename inside ``path`` durable. Some systems lack it; there the rename must suffice."""
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
    """Write ``data`` to a new file and fsync it. A link that had its name is removed, not followed."""
    with open_new(path) as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())


def open_new(path: Path) -> BinaryIO:
    """Return a new file to write, in place of what had its name. Raises ``OSError``."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, _EXCLUSIVE, 0o644), "wb")


def file_part(text: str) -> str:
    """Return ``text`` as part of a file's name, also for Windows and scp: ``mcts:400`` is ``mcts-400``.

    It has 1 to 80 characters, leads to no other folder and hides no file. A longer text ends with a digest
    of the whole.
    """
    part = _NO_FILE_PART.sub("-", text).lstrip(".-").rstrip(".") or "unnamed"
    if _DEVICES.match(part):
        part = "_" + part
    if len(part) <= _PART_CHARACTERS:
        return part
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"{part[: _PART_CHARACTERS - len(digest) - 1]}-{digest}"


def write_atomic(path: Path, data: bytes) -> None:
    """Replace ``path`` by ``data``, or leave it unchanged on any ``OSError``."""
    aside = path.with_name(path.name + TEMPORARY)
    try:
        write_synced(aside, data)
        os.replace(aside, path)
    except OSError:
        if not aside.is_dir():
            aside.unlink(missing_ok=True)
        raise
    fsync_directory(path.parent)


def remove_tree(path: Path) -> None:
    """Remove a folder with its content, a file or a link (not its target), if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def remove_directory(path: Path) -> None:
    """Remove directory ``path``; a kill never leaves a partial directory under its name."""
    aside = path.with_name(path.name + ".old" + TEMPORARY)
    with contextlib.suppress(OSError):
        remove_tree(aside)
    os.replace(path, aside)
    with contextlib.suppress(OSError):
        remove_tree(aside)


def write_directory_atomic(path: Path, fill: Callable[[Path], None]) -> None:
    """Create directory ``path`` atomically, with the content that ``fill(temporary_directory)`` writes.

    ``fill`` must fsync its files (:func:`write_synced`). An existing ``path`` is replaced.
    """
    aside = path.with_name(path.name + TEMPORARY)
    remove_tree(aside)
    try:
        aside.mkdir(parents=True)
        fill(aside)
        fsync_directory(aside)
        if path.exists() or path.is_symlink():
            remove_directory(path)
        os.replace(aside, path)
    except OSError:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    fsync_directory(path.parent)

"""The user's state outside of runs: keys and records, in a folder that no other user can read or write.

``$LUDUS_STATE_DIR``, else ``$XDG_STATE_HOME/ludus``, else ``~/.local/state/ludus``. The folder has mode 0700
and its files 0600. Content that other users could have written is refused.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from ludus.storage.errors import StorageError
from ludus.storage.files import TEMPORARY, fsync_directory, read_bounded

ENVIRONMENT = "LUDUS_STATE_DIR"


def state_folder() -> Path:
    """Return the folder's path; it may not exist yet. Raises ``StorageError`` for a user without a home."""
    named = os.environ.get(ENVIRONMENT, "")
    if named:
        return Path(named)
    base = os.environ.get("XDG_STATE_HOME", "")
    try:
        return (Path(base) if base else Path.home() / ".local" / "state") / "ludus"
    except RuntimeError as error:
        raise StorageError(f"{error}; expected one, or a folder in ${ENVIRONMENT}") from error


def read_private(name: str, limit: int) -> bytes | None:
    """Return the content of the file ``name`` (relative to the folder), or None if it does not exist.

    Raises ``StorageError`` for a file of more than ``limit`` bytes, and for a folder or file that another
    user owns or can write.
    """
    folder = state_folder()
    path = folder / name
    for place in (folder, *reversed([p for p in path.parents if folder in p.parents]), path):
        try:
            _check_private(place)
        except FileNotFoundError:
            return None
    return read_bounded(path, limit)


def write_private(name: str, data: bytes, *, replace: bool = True) -> bool:
    """Write the file ``name`` atomically and create its folders.

    With ``replace=False`` an existing file stays and the result is False: the first of several processes
    decides. Raises ``StorageError`` as :func:`read_private` does, and ``OSError``.
    """
    folder = state_folder()
    path = folder / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    for place in (folder, *reversed([p for p in path.parents if folder in p.parents])):
        place.mkdir(mode=0o700, exist_ok=True)
        _check_private(place)
    # Threads write concurrently, and so do processes of equal id in containers that share a home.
    aside = path.with_name(f"{path.name}.{secrets.token_hex(8)}{TEMPORARY}")
    fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(fd, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        if replace:
            os.replace(aside, path)
        else:
            try:
                os.link(aside, path)
            except FileExistsError:
                return False
    finally:
        aside.unlink(missing_ok=True)
    fsync_directory(path.parent)
    return True


def _check_private(path: Path) -> None:
    """Raise ``FileNotFoundError``, and ``StorageError`` for files that another user owns or can write."""
    about = path.stat()
    if about.st_uid != os.geteuid() or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise StorageError(
            f"{path}: another user may write it; expected mode 0700 (folders) or 0600 "
            f"(files) and this user as owner: chmod go-rwx {path}"
        )

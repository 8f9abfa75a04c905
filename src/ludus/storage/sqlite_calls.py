"""Transactions of SQLite, and its errors in the words of this package."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from ludus.storage.errors import CorruptFile, StorageError


class JournalBusy(StorageError):
    """Another process writes the journal."""


@contextlib.contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Commit what the block writes, or nothing of it."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into errors of this package."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise JournalBusy(f"{path}: another process writes it; stop that one first") from error
        raise CorruptFile(f"{path}: {error}") from error
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise CorruptFile(f"{path}: damaged ({error}); restore it from a copy") from error

"""The journal of a league: ``league.sqlite`` in the run directory, the one truth about what happened in it.

Every event that a league applied is one row of ``events``, numbered from 1 without a gap; its results are
rows of ``tallies``. Applying the rows in order to a new league gives the live state.

How a run uses it: :meth:`Journal.create` or :meth:`Journal.open`, then :meth:`Journal.append` with the rows
of one round (one transaction), :meth:`Journal.sync` before each checkpoint, which stores
:attr:`Journal.last`; a resumed run calls :meth:`Journal.rewind` with the number in its checkpoint. Readers
use :meth:`Journal.read`, also while a run writes: the file is in WAL mode, so neither blocks the other.

A full disk stops nothing: rows wait in memory, :meth:`append` returns False, and the next call tries them all
again. No checkpoint may be written while :attr:`Journal.waiting` is not 0, or a resume would miss rows.

The file is as hostile as any other: a link, another schema, a view, a number out of range or an oversized
value is ``CorruptFile``. Opening changes nothing in a file that is refused.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import shutil
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from ludus.flow.inputs.decode import from_json
from ludus.flow.league import JournalRow, Tally
from ludus.storage.errors import CorruptFile, RunExists, RunNotFound
from ludus.storage.files import TEMPORARY, fsync_directory, open_new, open_regular
from ludus.storage.sqlite_calls import explained, transaction

NAME = "league.sqlite"
SCHEMA = 1
APPLICATION = 0x4C554C47  # "LULG" in the file's header
MAX_BODY_BYTES = 1 << 16
MAX_NAME = 128  # characters of a player, a tag, a kind
MAX_COUNT = 1 << 40  # sums of millions of rows still fit 64 bits
MAX_TALLIES = 1 << 16  # of one event
BUSY_S = 2.0
_LARGEST_WRITE = 1 << 17  # bytes: a page or a row, and what SQLite adds

_TABLES = {
    "events": "CREATE TABLE events (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, member TEXT NOT NULL, "
    "time REAL NOT NULL, body BLOB NOT NULL)",
    "tallies": "CREATE TABLE tallies (number INTEGER NOT NULL, player TEXT NOT NULL, opponent TEXT NOT NULL, "
    "seat INTEGER NOT NULL, tag TEXT NOT NULL, wins INTEGER NOT NULL, draws INTEGER NOT NULL, "
    "losses INTEGER NOT NULL, PRIMARY KEY (number, player, opponent, seat, tag)) WITHOUT ROWID",
}


class _Frozen(msgspec.Struct):
    """Body of an event of kind ``frozen``."""

    version: int


class Journal:
    """One open journal. Not for several threads at once."""

    def __init__(self, path: Path, database: sqlite3.Connection, last: int) -> None:
        """Use :meth:`create`, :meth:`open` or :meth:`read`."""
        self.path = path
        self.problem = ""  #: why rows wait, empty when none do
        self._database = database
        self._written = last
        self._pending: list[JournalRow] = []

    @classmethod
    def create(cls, path: Path) -> Journal:
        """Make a new, empty journal.

        Raises:
            RunExists: There is a file.
            OSError: None can be made.
        """
        if path.is_symlink() or path.exists():
            raise RunExists(f"{path}: exists already; a league starts with a new journal")
        made = path.with_name(path.name + TEMPORARY)  # killed here, nothing has the journal's name
        made.unlink(missing_ok=True)
        try:
            os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW, 0o644))
            with contextlib.closing(_connect(made, "rw")) as database:
                database.execute("PRAGMA journal_mode=WAL").fetchone()
                with transaction(database):
                    database.execute(f"PRAGMA application_id={APPLICATION}")
                    database.execute(f"PRAGMA user_version={SCHEMA}")
                    for statement in _TABLES.values():
                        database.execute(statement)
            made.rename(path)
            fsync_directory(path.parent)
            return cls(path, _connect(path, "rw"), 0)
        except sqlite3.Error as error:
            made.unlink(missing_ok=True)
            raise OSError(
                errno.EIO, f"cannot make the journal ({_refusal(made, error)})", str(path)
            ) from error

    @classmethod
    def open(cls, path: Path) -> Journal:
        """Open an existing journal to continue writing it.

        Raises:
            RunNotFound: There is none.
            CorruptFile: It is damaged, or of another version of ludus.
            JournalBusy: Another process writes it.
        """
        return cls._existing(path, "rw")

    @classmethod
    def read(cls, path: Path) -> Journal:
        """Open an existing journal to read it while another process may write. Raises as :meth:`open`."""
        return cls._existing(path, "ro")

    @classmethod
    def _existing(cls, path: Path, mode: Literal["ro", "rw"]) -> Journal:
        _regular(path)
        for suffix in ("-wal", "-shm", "-journal"):  # SQLite writes them, for readers too
            with contextlib.suppress(RunNotFound):
                _regular(path.with_name(path.name + suffix))
        with explained(path):
            # A first look that cannot write: SQLite would clean up after what it takes for a crash.
            database = _connect(path, "ro")
            try:
                _check_schema(path, database)
                if mode == "rw":
                    _check_pages(path, database)
                last = _last(path, database)
                if mode == "rw":
                    database.close()
                    database = _connect(path, mode)
                    database.execute("BEGIN IMMEDIATE")  # fails at once where another process writes
                    database.execute("ROLLBACK")
            except BaseException:
                database.close()
                raise
        return cls(path, database, last)

    @property
    def last(self) -> int:
        """Number of the newest event, rows that wait included; 0 without any."""
        return self._pending[-1].number if self._pending else self._written

    @property
    def waiting(self) -> int:
        """Number of rows that are in memory only."""
        return len(self._pending)

    def append(self, rows: Sequence[JournalRow]) -> bool:
        """Write ``rows`` and all that wait in one transaction.

        Returns:
            Whether they were written; if not, all of them wait.

        Raises:
            ValueError: No journal may hold these rows. Nothing has been written.
        """
        number = self.last
        for row in rows:
            number += 1
            _check_row(row, number)
        self._pending.extend(rows)
        return self.flush()

    def flush(self) -> bool:
        """Try again to write the rows that wait. Returns whether none is left."""
        if not self._pending:
            return True
        try:
            with transaction(self._database):
                self._database.executemany(
                    "INSERT INTO events VALUES (?, ?, ?, ?, ?)",
                    [(r.number, r.kind, r.member, r.time, r.body) for r in self._pending],
                )
                self._database.executemany(
                    "INSERT INTO tallies VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    [
                        (r.number, t.player, t.opponent, t.seat, t.tag, t.wins, t.draws, t.losses)
                        for r in self._pending
                        for t in r.tallies
                    ],
                )
        except sqlite3.Error as error:
            why = _refusal(self.path, error)
            self.problem = f"{self.path}: {why}; {len(self._pending)} rows wait in memory"
            return False
        self._written = self._pending[-1].number
        self._pending.clear()
        self.problem = ""
        return True

    def sync(self) -> bool:
        """Make what is written survive a power cut. Returns False while rows wait or the disk refuses."""
        if not self.flush():
            return False
        try:
            for path in (self.path.with_name(self.path.name + "-wal"), self.path):
                if path.exists():
                    fd = os.open(path, os.O_RDONLY)
                    try:
                        os.fsync(fd)
                    finally:
                        os.close(fd)
        except OSError as error:
            self.problem = f"{self.path}: {error.strerror or error}"
            return False
        return True

    def rewind(self, number: int) -> int:
        """Remove all events after ``number``, for a run that resumes from there; return how many.

        Raises:
            CorruptFile: The journal ends before ``number``.
            JournalBusy: Another process writes it.
        """
        if not 0 <= number <= self.last:
            raise CorruptFile(
                f"{self.path}: ends at event {self.last}, the checkpoint is of event {number}; "
                "restore the journal that belongs to this run"
            )
        gone = self.last - number
        with explained(self.path), transaction(self._database):
            self._database.execute("DELETE FROM tallies WHERE number > ?", (number,))
            self._database.execute("DELETE FROM events WHERE number > ?", (number,))
        self._pending = [row for row in self._pending if row.number <= number]
        self._written = min(self._written, number)
        return gone

    def rows(self, after: int = 0) -> Iterator[JournalRow]:
        """Yield all events after number ``after``, in order. Raises ``CorruptFile``."""
        with explained(self.path):
            events = self._database.execute(
                "SELECT number, substr(kind, 1, ?1), substr(member, 1, ?1), time, substr(body, 1, ?2) "
                "FROM events WHERE number > ?3 ORDER BY number",
                (MAX_NAME + 1, MAX_BODY_BYTES + 1, after),
            )
            for expected, (number, kind, member, time, body) in enumerate(events, after + 1):
                try:
                    _check_types(number, (kind, member), (body,), (time,), ())
                    row = JournalRow(number, kind, member, body, self._tallies(number), time)
                    _check_row(row, expected)
                except ValueError as error:
                    raise CorruptFile(f"{self.path}: {error}") from error
                yield row
        yield from self._pending_after(after)

    def count(self, *kinds: str) -> int:
        """Return how many events of ``kinds`` are written. Raises ``CorruptFile``."""
        places = ", ".join("?" * len(kinds))
        with explained(self.path):
            found = self._database.execute(f"SELECT count(*) FROM events WHERE kind IN ({places})", kinds)
            return int(found.fetchone()[0])

    def frozen(self) -> set[tuple[str, int]]:
        """Return member and version of every frozen player of the league. Raises ``CorruptFile``."""
        with explained(self.path):
            found = self._database.execute(
                "SELECT substr(member, 1, ?), substr(body, 1, ?) FROM events WHERE kind = 'frozen'",
                (MAX_NAME + 1, MAX_BODY_BYTES + 1),
            ).fetchall()
        found += [(row.member, row.body) for row in self._pending if row.kind == "frozen"]
        try:
            return {(member, from_json(body, _Frozen).version) for member, body in found}
        except (msgspec.DecodeError, UnicodeDecodeError, TypeError) as error:
            raise CorruptFile(f"{self.path}: a frozen player without a version ({error})") from error

    def _pending_after(self, after: int) -> Iterable[JournalRow]:
        return [row for row in self._pending if row.number > after]

    def _tallies(self, number: int) -> tuple[Tally, ...]:
        found = self._database.execute(
            "SELECT substr(player, 1, ?1), substr(opponent, 1, ?1), seat, substr(tag, 1, ?1), wins, draws, "
            "losses FROM tallies WHERE number = ?2 LIMIT ?3",
            (MAX_NAME + 1, number, MAX_TALLIES + 1),
        ).fetchall()
        for row in found:
            _check_types(number, (row[0], row[1], row[3]), (), (), (row[2], *row[4:]))
        return tuple(Tally(*row) for row in found)

    def close(self) -> None:
        """Close the file. Rows that wait are tried once more. Idempotent."""
        with contextlib.suppress(sqlite3.Error):
            self.flush()
        self._database.close()

    def __enter__(self) -> Journal:
        """Return the journal, which :meth:`close` closes at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()


def copy_journal(source: Path, target: Path) -> None:
    """Copy the journal of a run that no process trains, durable when it returns.

    Nothing beside ``source`` is written, as any reader through SQLite would.

    Raises:
        RunNotFound: There is none.
        CorruptFile: It is damaged, or of another version of ludus.
        OSError: The copy cannot be written.
    """
    for suffix in ("", "-wal"):
        path = source.with_name(source.name + suffix)
        if not suffix or path.exists():
            _regular(path)
            with open_regular(path) as file, open_new(target.with_name(target.name + suffix)) as copy:
                shutil.copyfileobj(file, copy)
                copy.flush()
                os.fsync(copy.fileno())
    Journal.open(target).close()
    fsync_directory(target.parent)


def _regular(path: Path) -> None:
    try:
        about = path.lstat()
    except FileNotFoundError as error:
        raise RunNotFound(f"{path}: not there; the run has no league, or its journal was removed") from error
    if not stat.S_ISREG(about.st_mode):
        raise CorruptFile(f"{path}: not a regular file")
    if about.st_nlink > 1:
        raise CorruptFile(f"{path}: a file with {about.st_nlink} names (hard links), expected one")


def _connect(path: Path, mode: Literal["ro", "rw"]) -> sqlite3.Connection:
    database = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode={mode}", uri=True, timeout=BUSY_S, isolation_level=None
    )
    database.execute("PRAGMA trusted_schema=OFF")
    database.execute("PRAGMA cell_size_check=ON")
    database.execute("PRAGMA mmap_size=0")
    database.execute("PRAGMA synchronous=NORMAL")
    if mode == "ro":
        database.execute("PRAGMA query_only=ON")
    return database


def _refusal(path: Path, error: sqlite3.Error) -> str:
    """Return why a write was refused. SQLite has no word for a limit on the size of files."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if limit != resource.RLIM_INFINITY:
        for suffix in ("", "-wal", "-journal"):
            with contextlib.suppress(OSError):
                if path.with_name(path.name + suffix).stat().st_size + _LARGEST_WRITE > limit:
                    return f"{os.strerror(errno.EFBIG)}: {error}"
    return str(error)


def _check_schema(path: Path, database: sqlite3.Connection) -> None:
    application = int(database.execute("PRAGMA application_id").fetchone()[0])
    version = int(database.execute("PRAGMA user_version").fetchone()[0])
    if application != APPLICATION:
        raise CorruptFile(f"{path}: not the journal of a league")
    if version > SCHEMA:
        raise CorruptFile(
            f"{path}: schema {version}, this version of ludus reads {SCHEMA}; "
            "use the version of ludus that wrote it, or a newer one"
        )
    found = database.execute(
        "SELECT name, substr(sql, 1, 2000) FROM sqlite_master WHERE sql IS NOT NULL LIMIT 10"
    ).fetchall()
    if version != SCHEMA or dict(found) != _TABLES or len(found) != len(_TABLES):
        raise CorruptFile(f"{path}: tables that no journal of schema {SCHEMA} has")


def _check_pages(path: Path, database: sqlite3.Connection) -> None:
    found = database.execute("PRAGMA quick_check(1)").fetchone()
    if found is None or found[0] != "ok":
        raise CorruptFile(f"{path}: damaged ({str(found and found[0])[:200]}); restore it from a copy")


def _last(path: Path, database: sqlite3.Connection) -> int:
    count, least, most = database.execute("SELECT count(*), min(number), max(number) FROM events").fetchone()
    if count and (least != 1 or most != count):
        raise CorruptFile(f"{path}: {count} events numbered {least} to {most}, expected 1 to {count}")
    stray = database.execute("SELECT count(*) FROM tallies WHERE number NOT BETWEEN 1 AND ?", (count,))
    if stray.fetchone()[0]:
        raise CorruptFile(f"{path}: results of events that are not there")
    return int(count)


def _check_types(
    number: object,
    strings: Sequence[object],
    bodies: Sequence[object],
    times: Sequence[object],
    counts: Sequence[object],
) -> None:
    """Raise ``ValueError`` for values of another type: SQLite stores any in any column."""
    for values, kind in ((strings, str), (bodies, bytes), (times, float), (counts, int)):
        for value in values:
            if not isinstance(value, kind):
                raise ValueError(f"event {number}: a value of another type")


def _check_row(row: JournalRow, number: int) -> None:
    """Raise ``ValueError`` unless a journal may hold ``row`` as its event ``number``."""
    where = f"event {number}"
    if row.number != number:
        raise ValueError(f"{where}: found number {row.number!r}")
    if not 1 <= len(row.kind) <= MAX_NAME or len(row.member) > MAX_NAME:
        raise ValueError(f"{where}: a kind or member of more than {MAX_NAME} characters, or no kind")
    if len(row.body) > MAX_BODY_BYTES:
        raise ValueError(f"{where}: a body of more than {MAX_BODY_BYTES} bytes")
    if len(row.tallies) > MAX_TALLIES:
        raise ValueError(f"{where}: more than {MAX_TALLIES} results")
    for tally in row.tallies:
        names, counts = (tally.player, tally.opponent, tally.tag), (tally.wins, tally.draws, tally.losses)
        if any(not 1 <= len(name) <= MAX_NAME for name in names):
            raise ValueError(f"{where}: a name that is empty or of more than {MAX_NAME} characters")
        if any(not 0 <= n <= MAX_COUNT for n in (tally.seat, *counts)):
            raise ValueError(f"{where}: a count outside 0 to {MAX_COUNT}")
    keys = {(t.player, t.opponent, t.seat, t.tag) for t in row.tallies}
    if len(keys) != len(row.tallies):
        raise ValueError(f"{where}: two results of one pair, seat and tag; add them up")

"""The journal: whole or refused, never half; and equal to the live state when it is replayed."""

from __future__ import annotations

import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from ludus.flow.league import JournalRow, Tally
from ludus.storage.errors import CorruptFile, RunExists, RunNotFound
from ludus.storage.journal import MAX_BODY_BYTES, Journal
from ludus.storage.sqlite_calls import JournalBusy


def row(number: int, wins: int = 1) -> JournalRow:
    tallies = (Tally("main", "main:0", 0, "pfsp", wins, 0, 2), Tally("main", "main:0", 1, "pfsp", 0, 1, 0))
    return JournalRow(number, "results", "main", b'{"n":1}', tallies, 1.5)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "league.sqlite"


def contents(path: Path) -> list[JournalRow]:
    with Journal.read(path) as journal:
        return list(journal.rows())


def test_rows_are_read_as_they_were_written(path: Path) -> None:
    rows = [row(n, n) for n in range(1, 40)]
    with Journal.create(path) as journal:
        assert journal.append(rows[:20])
        assert journal.append(rows[20:])
        assert journal.last == 39
        assert contents(path) == rows  # read while another connection writes
        assert journal.sync()
    with Journal.open(path) as journal:
        assert journal.last == 39
        assert list(journal.rows(after=37)) == rows[37:]
        assert journal.append([row(40)])
    assert len(contents(path)) == 40


def test_a_second_journal_and_a_missing_one_are_refused(path: Path) -> None:
    Journal.create(path).close()
    with pytest.raises(RunExists, match="exists already"):
        Journal.create(path)
    with pytest.raises(RunNotFound, match="not there"):
        Journal.open(path.with_name("other.sqlite"))


def test_rewind_goes_back_and_the_same_rows_come_again(path: Path) -> None:
    rows = [row(n, n) for n in range(1, 11)]
    with Journal.create(path) as journal:
        journal.append(rows)
        assert journal.rewind(6) == 4
        assert journal.last == 6
        assert list(journal.rows()) == rows[:6]
        assert journal.append(rows[6:])
        with pytest.raises(CorruptFile, match="ends at event 10, the checkpoint is of event 11"):
            journal.rewind(11)
    assert contents(path) == rows


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (row(3), "event 2: found number 3"),
        (JournalRow(2, "", "main", b""), "no kind"),
        (JournalRow(2, "x" * 200, "main", b""), "characters"),
        (JournalRow(2, "results", "main", b"x" * (MAX_BODY_BYTES + 1)), "a body of more than"),
        (JournalRow(2, "results", "main", b"", (Tally("a", "b", 0, "t", -1, 0, 0),)), "a count outside"),
        (JournalRow(2, "results", "main", b"", (Tally("", "b", 0, "t", 1, 0, 0),)), "empty"),
        (
            JournalRow(2, "results", "main", b"", (Tally("a", "b", 0, "t", 1, 0, 0),) * 2),
            "two results of one",
        ),
    ],
)
def test_invalid_rows_are_refused(path: Path, bad: JournalRow, why: str) -> None:
    with Journal.create(path) as journal:
        journal.append([row(1)])
        with pytest.raises(ValueError, match=why):
            journal.append([bad])
        assert journal.waiting == 0
        assert journal.append([row(2)])
    assert len(contents(path)) == 2


@pytest.mark.parametrize("room", [0, 10_000])
def test_a_limit_on_files_is_named(path: Path, room: int) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Journal.create(path) as journal:
        size = max(p.stat().st_size for p in path.parent.iterdir())
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, before[1]))
        try:
            number = 1
            while journal.append([row(n) for n in range(number, number + 50)]):
                number += 50
            assert f"{path}: File too large" in journal.problem
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert journal.flush()
    assert len(contents(path)) == number + 49


def test_a_full_disk_loses_nothing(path: Path) -> None:
    with Journal.create(path) as journal:
        journal.append([row(1)])
        database = journal._database
        pages = database.execute("PRAGMA page_count").fetchone()[0]
        database.execute(f"PRAGMA max_page_count={pages}")
        number, full = 1, False
        while not full:
            rows = [row(n) for n in range(number + 1, number + 101)]
            full = not journal.append(rows)
            number += 100
        assert journal.waiting == 100
        assert "full" in journal.problem
        assert not journal.append([row(number + 1)])  # waits too
        assert journal.waiting == 101
        assert not journal.sync()
        assert journal.last == number + 1
        assert [r.number for r in journal.rows()] == list(range(1, number + 2))  # those in memory as well
        assert len(contents(path)) == number - 100
        database.execute("PRAGMA max_page_count=1000000")
        assert journal.flush()
        assert (journal.waiting, journal.problem) == (0, "")
    assert [r.number for r in contents(path)] == list(range(1, number + 2))


def test_rewind_drops_rows_that_wait(path: Path) -> None:
    with Journal.create(path) as journal:
        journal.append([row(1), row(2)])
        journal._database.execute("PRAGMA query_only=ON")
        assert not journal.append([row(3), row(4)])
        journal._database.execute("PRAGMA query_only=OFF")
        journal.rewind(3)
        assert journal.last == 3
        assert journal.flush()
    assert [r.number for r in contents(path)] == [1, 2, 3]


def test_another_writer_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ludus.storage.journal.BUSY_S", 0.05)
    Journal.create(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalBusy, match="another process writes it"):
        Journal.open(path)
    with Journal.read(path) as journal:  # a reader does not mind
        assert journal.last == 0
    other.close()


def _tamper(path: Path, statement: str) -> None:
    database = sqlite3.connect(path)
    database.execute(statement)
    database.commit()
    database.close()


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("PRAGMA user_version=2", "schema 2, this version of ludus reads 1; use the version of ludus"),
        ("PRAGMA application_id=7", "not the journal of a league"),
        ("CREATE VIEW more AS SELECT 1", "tables that no journal"),
        ("CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END", "tables that no journal"),
        ("DELETE FROM events WHERE number = 2", "2 events numbered 1 to 3, expected 1 to 2"),
        ("UPDATE tallies SET number = 9 WHERE number = 3", "results of events that are not there"),
        ("UPDATE events SET number = number + 1", "expected 1 to 3"),
    ],
)
@pytest.mark.parametrize("mode", ["open", "read"])
def test_other_databases_and_versions_are_refused(path: Path, statement: str, why: str, mode: str) -> None:
    with Journal.create(path) as journal:
        journal.append([row(1), row(2), row(3)])
    statement = statement.replace("number = number + 1", "number = 7 WHERE number = 3")
    _tamper(path, statement)
    before = path.read_bytes()
    with pytest.raises(CorruptFile, match=why):
        getattr(Journal, mode)(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("UPDATE events SET body = 5 WHERE number = 2", "another type"),
        ("UPDATE events SET body = zeroblob(200000) WHERE number = 2", "a body of more than"),
        ("UPDATE events SET kind = printf('%.1000c', 'x') WHERE number = 2", "characters"),
        ("UPDATE tallies SET wins = -4 WHERE number = 2", "a count outside"),
        ("UPDATE tallies SET wins = 'many' WHERE number = 2", "another type"),
        ("UPDATE tallies SET wins = 0.5 WHERE number = 2", "another type"),
        ("UPDATE events SET time = 'noon' WHERE number = 2", "another type"),
    ],
)
def test_values_that_no_journal_holds_are_refused_as_they_are_read(
    path: Path, statement: str, why: str
) -> None:
    with Journal.create(path) as journal:
        journal.append([row(1), row(2), row(3)])
    _tamper(path, statement)
    with Journal.read(path) as journal, pytest.raises(CorruptFile, match=why):
        list(journal.rows())


def test_damage_at_any_byte_is_refused_or_leaves_valid_rows(path: Path) -> None:
    """Flipped bytes are refused or leave a journal whose rows are valid; no other error, and no change."""
    with Journal.create(path) as journal:
        journal.append([row(n, n) for n in range(1, 60)])
    whole = path.read_bytes()
    generator = random.Random(3)
    refused = 0
    for _ in range(150):
        data = bytearray(whole)
        at = generator.randrange(len(data))
        data[at : at + 8] = generator.randbytes(8)
        path.write_bytes(data)
        try:
            with Journal.open(path) as journal:
                list(journal.rows())
        except CorruptFile:
            refused += 1
            assert path.read_bytes() == data
    assert refused > 30
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CorruptFile):
        Journal.open(path)


def test_files_without_a_journal_are_refused(path: Path, tmp_path: Path) -> None:
    path.write_bytes(b"not a database, however long it may be" * 200)
    with pytest.raises(CorruptFile):
        Journal.open(path)
    path.write_bytes(b"")
    with pytest.raises(CorruptFile, match="not the journal"):
        Journal.open(path)
    path.unlink()
    Journal.create(tmp_path / "real.sqlite").close()
    path.symlink_to(tmp_path / "real.sqlite")
    with pytest.raises(CorruptFile, match="not a regular file"):
        Journal.open(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(CorruptFile, match="not a regular file"):
        Journal.read(path)


WRITER = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from ludus.flow.league import JournalRow, Tally
    from ludus.storage.journal import Journal

    journal = Journal.open(Path(sys.argv[1]))
    print("ready", flush=True)
    while True:
        first = journal.last + 1
        rows = [
            JournalRow(n, "results", "main", b"x" * 50, (Tally("main", "simple", 0, "bot", n, 0, 0),))
            for n in range(first, first + 5)
        ]
        assert journal.append(rows)
        print(journal.last, flush=True)
    """
)


def test_a_journal_is_complete_after_kills_at_random_moments(path: Path) -> None:
    """kill -9 while rounds of five events are written: no round is torn, none that was reported is lost."""
    Journal.create(path).close()
    generator = random.Random(1)
    for _ in range(8):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        time.sleep(generator.uniform(0.0, 0.05))
        os.kill(writer.pid, signal.SIGKILL)
        lines = writer.stdout.read().split("\n")
        writer.wait()
        reported = max((int(line) for line in lines[:-1] if line), default=0)
        with Journal.open(path) as journal:
            rows = list(journal.rows())
            assert journal.last % 5 == 0
            assert journal.last >= reported
            assert [r.number for r in rows] == list(range(1, journal.last + 1))
            assert all(r.tallies[0].wins == r.number for r in rows)
            journal.rewind(journal.last - journal.last % 20)


def _overflow_pages(path: Path, filler: bytes) -> list[int]:
    """Return where the pages start that hold the middle of a long body."""
    data = path.read_bytes()
    size = int.from_bytes(data[16:18], "big")
    return [at for at in range(0, len(data), size) if data[at + 4 : at + size - 64] == filler * (size - 68)]


@pytest.mark.parametrize(
    "pointer", [b"\xff\xff\xff\xff", b"\0\0\0\0", b"\0\0\0\1"], ids=["behind the end", "none", "another"]
)
def test_a_damaged_page_is_refused_before_a_resume_writes(path: Path, pointer: bytes) -> None:
    """The first queries of a resume read none of the pages behind a long body."""
    with Journal.create(path) as journal:
        journal.append([row(1), JournalRow(2, "results", "main", b"x" * 60_000, (), 1.5), row(3)])
    data = bytearray(path.read_bytes())
    first, *_ = _overflow_pages(path, b"x")
    data[first : first + 4] = pointer
    path.write_bytes(data)
    with Journal.read(path) as journal:  # the newest events of a run that another process trains
        assert journal.last == 3
    with pytest.raises(CorruptFile, match="damaged"):
        Journal.open(path)
    assert path.read_bytes() == data


def test_a_page_out_of_order_is_refused_before_a_resume_writes(path: Path) -> None:
    with Journal.create(path) as journal:
        journal.append([row(n) for n in range(1, 200)])
    data = path.read_bytes()
    size = int.from_bytes(data[16:18], "big")
    leaves = [at for at in range(size, len(data), size) if data[at] == 0x0D]
    changed = bytearray(data)
    cells = slice(leaves[0] + 8, leaves[0] + 12)  # the places of its first two rows
    changed[cells] = data[cells][2:] + data[cells][:2]
    path.write_bytes(changed)
    with pytest.raises(CorruptFile):
        Journal.open(path)
    assert path.read_bytes() == changed

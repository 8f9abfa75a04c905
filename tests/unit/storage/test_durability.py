"""Files after a power cut, and checkpoints whose bytes have changed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from ludus.flow.league import JournalRow
from ludus.storage import CheckpointStore, CorruptFile, RunDirectory, RunLog, read_jsonl, write_atomic
from ludus.storage.journal import Journal, copy_journal
from ludus.storage.matches import MatchesMeta, MatchFiles
from ludus.storage.user_state import ENVIRONMENT, write_private

from .test_storage import checkpoint, info


def test_rewind_never_leaves_half_a_row(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "run", "", info())
    log = RunLog(run)
    log.metrics({"update": 1})
    assert not any(log.lost.values())
    whole = log.sync()["metrics"]
    log.metrics({"update": 2})
    assert log.rewind({"metrics": whole + 3}) == []
    log.metrics({"update": 3})
    assert list(read_jsonl(run.metrics_path)) == [{"update": 1}, {"update": 3}]
    log.rewind({"metrics": -5})
    log.close()
    assert list(read_jsonl(run.metrics_path)) == []


def test_rows_that_a_power_cut_took_are_reported(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "run", "", info())
    log = RunLog(run)
    log.metrics({"update": 1})
    first = log.sync()
    log.metrics({"update": 2})
    second = log.sync()
    run.metrics_path.write_bytes(run.metrics_path.read_bytes()[: first["metrics"]])
    (lost,) = log.rewind(second)
    sizes = f"{first['metrics']} bytes, the checkpoint recorded {second['metrics']};"
    assert lost.startswith(f"{run.metrics_path}: {sizes}")
    log.metrics({"update": 3})
    log.close()
    assert list(read_jsonl(run.metrics_path)) == [{"update": 1}, {"update": 3}]


@pytest.mark.parametrize(
    ("added", "text"),
    [
        (b"", ""),
        (b'{"update": 3}\n', "1 line of metrics.jsonl from line 3 on"),
        (b'{"update": 3}\n{broken\n', "2 lines of metrics.jsonl from line 3 on (1 damaged)"),
        (b"[1]\n\xff\n" + b"9" * (3 << 20) + b"\n", "3 lines of metrics.jsonl from line 3 on (3 damaged)"),
        (
            b'{"update": 3}\n{"upd',
            "an unfinished line of metrics.jsonl (5 bytes)|1 line of metrics.jsonl from line 3",
        ),
    ],
)
def test_lines_after_the_checkpoint_are_counted(tmp_path: Path, added: bytes, text: str) -> None:
    run = RunDirectory.create(tmp_path / "run", "", info())
    log = RunLog(run)
    log.metrics({"update": 1})
    log.metrics({"update": 2})
    sizes = log.sync()
    log.close()
    with run.metrics_path.open("ab") as file:
        file.write(added)
    log = RunLog(run)
    assert log.rewind(sizes) == []
    log.close()
    assert len(log.removed) == len([part for part in text.split("|") if part])
    for found, part in zip(log.removed, text.split("|"), strict=False):
        assert found.startswith(part)
    assert list(read_jsonl(run.metrics_path)) == [{"update": 1}, {"update": 2}]


def test_torn_lines_of_every_file_are_counted(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "run", "", info())
    for path in (run.metrics_path, run.events_path, run.matches):
        path.write_bytes(b'{"a": 1}\n{"b')
    log = RunLog(run)
    log.close()
    names = ("metrics.jsonl", "events.jsonl", "matches.jsonl")
    assert log.removed == [f"an unfinished line of {name} (3 bytes)" for name in names]


class Disk:
    """Disk after a power cut: follows fsync of files and folders, and renames, by path."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[str, Path]] = []
        fsync, replace = os.fsync, os.replace

        def synced(fd: int) -> None:
            self.calls.append(("fsync", Path(os.readlink(f"/proc/self/fd/{fd}"))))
            fsync(fd)

        def renamed(source: Path, target: Path) -> None:
            replace(source, target)
            self.calls.append(("rename", Path(target)))

        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(os, "replace", renamed)

    def at(self, what: str, path: Path) -> int:
        """When ``path`` met ``what`` last; fails where it never did."""
        assert (what, path) in self.calls, f"no {what} of {path}: {self.calls}"
        return max(i for i, call in enumerate(self.calls) if call == (what, path))


def test_a_file_is_on_the_disk_before_and_its_name_after_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    write_atomic(tmp_path / "a", b"x")
    renamed = disk.at("rename", tmp_path / "a")
    assert disk.at("fsync", tmp_path / "a.tmp") < renamed < disk.at("fsync", tmp_path)


def test_a_checkpoint_is_on_the_disk_before_and_its_name_after_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    store = CheckpointStore(tmp_path)
    store.save(checkpoint(7))
    renamed, aside = disk.at("rename", store.path(7)), tmp_path / "000000007.tmp"
    for name in ("weights.safetensors", "optimizer.safetensors", "rollout.safetensors", "state.json"):
        assert disk.at("fsync", aside / name) < disk.at("fsync", aside) < renamed
    pointed = disk.at("rename", tmp_path / "last.json")
    named = [i for i, call in enumerate(disk.calls) if call == ("fsync", tmp_path)]
    assert any(renamed < i < pointed for i in named)  # `last` never points at what a power cut takes
    assert named[-1] > pointed


def test_rows_are_on_the_disk_before_their_size_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunDirectory.create(tmp_path / "run", "", info())
    log = RunLog(run)
    log.metrics({"update": 1})
    disk = Disk(monkeypatch)
    log.sync()
    for path in (run.metrics_path, run.matches, run.events_path):
        assert disk.at("fsync", path) < disk.at("fsync", run.path)
    log.close()


@pytest.mark.parametrize(
    "name", ["weights.safetensors", "optimizer.safetensors", "rollout.safetensors", "state.json"]
)
def test_a_checkpoint_with_other_numbers_is_refused(tmp_path: Path, name: str) -> None:
    """Files that are whole and of the right size, so that only their SHA-256 shows what happened."""
    store = CheckpointStore(tmp_path)
    store.save(checkpoint(1))
    path = store.path(1) / name
    data = bytearray(path.read_bytes())
    if name == "state.json":
        at = data.index(b'"steps":') + len(b'"steps": ')
        data[at] = ord("4")
    else:
        data[-1] ^= 1  # a bit of the last number
    path.write_bytes(data)
    with pytest.raises(CorruptFile, match="SHA-256"):
        store.load(1)


@pytest.mark.parametrize("replace", [True, False])
def test_a_users_own_file_is_on_the_disk_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replace: bool
) -> None:
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "state"))
    disk = Disk(monkeypatch)
    assert write_private("key", b"x" * 32, replace=replace)
    folder = tmp_path / "state"
    synced = [path for what, path in disk.calls if what == "fsync"]
    assert [p.name.partition(".")[0] for p in synced] == ["key", "state"]
    assert disk.calls[-1] == ("fsync", folder)
    assert [p.name for p in folder.iterdir()] == ["key"]


def test_a_store_makes_the_folders_that_it_needs(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path / "some" / "run")
    store.save(checkpoint(3))
    assert store.versions() == [3]


def test_writing_keeps_no_file_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for number in range(20):
        write_atomic(tmp_path / "file", bytes([number]))
    assert len(os.listdir("/proc/self/fd")) == before


def test_dropped_matches_leave_no_file(tmp_path: Path) -> None:
    files = MatchFiles(tmp_path / "self_play", MatchesMeta("tic_tac_toe", "", {}, 1))
    for number in (1, 2, 3):
        files.write(number, {"plies": np.array([number], np.int32)})
    files.drop([1, 3])
    files.drop([1])  # gone already
    assert files.numbers() == [2]
    assert [p.name for p in files.folder.iterdir()] == [files.path(2).name]


def test_a_copied_journal_is_on_the_disk_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = tmp_path / "a" / "league.sqlite", tmp_path / "b" / "league.sqlite"
    for path in (source, target):
        path.parent.mkdir()
    with Journal.create(source) as journal:
        journal.append([JournalRow(1, "results", "main", b"{}", (), 1.5)])
    disk = Disk(monkeypatch)
    copy_journal(source, target)
    assert disk.at("fsync", target) < disk.at("fsync", target.parent)
    with Journal.read(target) as copied:
        assert copied.last == 1

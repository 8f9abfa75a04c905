"""Runs that appear whole or not at all: what a kill leaves is not listed, not opened, and cleared away."""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ludus.cli.complete import candidates
from ludus.storage import RunDirectory, RunExists, RunInfo, RunNotFound
from ludus.storage.files import open_own
from ludus.storage.lock import RunBusy
from ludus.storage.references import is_run
from ludus.storage.rundir import aside_of, is_aside
from ludus.web.serve.library import Library

INFO = RunInfo(1, "0", "tic_tac_toe", "", 1, "2026-01-01T00:00:00Z", ())


def fill(run: RunDirectory) -> None:
    (run.snapshots / "a.safetensors").write_bytes(b"a")


def left_behind(path: Path) -> Path:
    """Return the half of ``path`` that a kill leaves."""
    aside = aside_of(path)
    run = RunDirectory.create(aside, "[game]\n", INFO)
    (run.snapshots / "half.safetensors").write_bytes(b"half")
    return aside


def made(path: Path) -> list[str]:
    RunDirectory.create_whole(path, "[game]\n", INFO, fill)
    return sorted(p.name for p in path.parent.iterdir())


def test_half_a_run_is_in_no_list_and_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    RunDirectory.create(tmp_path / "runs" / "whole", "[game]\n", INFO)
    aside = left_behind(tmp_path / "runs" / "new")
    assert is_aside(aside.name)
    assert not is_run(str(aside))
    with pytest.raises(RunNotFound, match="did not finish"):
        RunDirectory.open(aside)
    assert list(Library(tmp_path / "runs").runs()) == ["whole"]
    words = [w for words in (["resume", ""], ["eval", ""], ["surgery", ""]) for w in candidates(words)]
    assert any("runs/whole" in w for w in words)
    assert not any("aside" in w for w in words)


def test_the_next_run_of_the_name_clears_half_of_one_away(tmp_path: Path) -> None:
    left_behind(tmp_path / "new")
    assert made(tmp_path / "new") == ["new"]
    assert [p.name for p in (tmp_path / "new" / "snapshots").iterdir()] == ["a.safetensors"]
    with pytest.raises(RunExists):
        made(tmp_path / "new")


@pytest.mark.parametrize("kind", ["link", "link to nothing", "file"])
def test_what_is_no_folder_is_removed_and_not_followed(tmp_path: Path, kind: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("kept")
    aside = aside_of(tmp_path / "here" / "new")
    aside.parent.mkdir()
    if kind == "file":
        aside.write_text("a file")
    else:
        aside.symlink_to(elsewhere if kind == "link" else tmp_path / "nothing")
    assert made(tmp_path / "here" / "new") == ["new"]
    assert [p.name for p in elsewhere.iterdir()] == ["kept"]
    assert not (tmp_path / "nothing").exists()


def test_links_in_half_a_run_are_removed_and_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("kept")
    aside = left_behind(tmp_path / "here" / "new")
    (aside / "replays").rmdir()
    (aside / "replays").symlink_to(elsewhere)
    assert made(tmp_path / "here" / "new") == ["new"]
    assert not (tmp_path / "here" / "new" / "replays").is_symlink()
    assert [p.name for p in elsewhere.iterdir()] == ["kept"]


def test_a_run_that_another_process_makes_is_left_to_it(tmp_path: Path) -> None:
    aside = left_behind(tmp_path / "new")
    with RunDirectory(aside).lock(), pytest.raises(RunBusy, match="makes it"):
        made(tmp_path / "new")
    assert (aside / "snapshots" / "half.safetensors").is_file()


def killed_makers(folder: Path, count: int) -> list[Path]:
    """Return halves of runs whose makers are dead, as the system leaves them: locked once, free now."""
    asides = []
    for number in range(count):
        asides.append(left_behind(folder / f"killed{number}"))
        RunDirectory(asides[-1]).lock().release()
    return asides


def test_the_next_run_of_another_name_clears_halves_of_dead_makers_away(tmp_path: Path) -> None:
    killed_makers(tmp_path, 3)
    aside_of(tmp_path / "empty").mkdir()
    (tmp_path / ".other.tmp").mkdir()
    (tmp_path / ".file.aside.tmp").write_text("no folder")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".link.aside.tmp").symlink_to(tmp_path / "elsewhere")
    kept = [".file.aside.tmp", ".link.aside.tmp", ".other.tmp", "elsewhere"]
    assert made(tmp_path / "new") == [*kept, "new"]


def test_a_half_of_a_living_maker_is_left_to_it(tmp_path: Path) -> None:
    dead, living = killed_makers(tmp_path, 2)
    with RunDirectory(living).lock():
        assert made(tmp_path / "new") == [living.name, "new"]
    assert not dead.exists()
    assert made(tmp_path / "newer") == ["new", "newer"]


@pytest.mark.parametrize("maker", ["living", "dead", "of another host", "unknown"])
def test_without_locks_the_process_in_the_file_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, maker: str
) -> None:
    (aside,) = killed_makers(tmp_path, 1)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    pid = os.getpid() if maker == "living" else dead.pid
    host = "elsewhere" if maker == "of another host" else socket.gethostname()
    lock = RunDirectory(aside).lock_path
    lock.write_text("{" if maker == "unknown" else json.dumps({"pid": pid, "host": host, "since": ""}))

    def no_locks(fd: int, kind: int) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr("ludus.storage.lock.fcntl.flock", no_locks)
    made(tmp_path / "new")
    assert aside.exists() == (maker != "dead")


def test_a_maker_starts_again_where_its_folder_was_cleared_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its folder and its lock another maker may take it for a dead one's."""
    aside, opened = aside_of(tmp_path / "new"), list[int]()

    def cleared(path: Path, flags: int) -> int:
        if not opened and path.parent == aside:
            shutil.rmtree(aside)
        opened.append(flags)
        return open_own(path, flags)

    monkeypatch.setattr("ludus.storage.lock.open_own", cleared)
    assert made(tmp_path / "new") == ["new"]
    assert len(opened) > 1


KILLED = """
import os, sys
from pathlib import Path
from ludus.storage import RunDirectory, RunInfo

def fill(run):
    (run.snapshots / "a.safetensors").write_bytes(b"a")
    os.kill(os.getpid(), 9)

RunDirectory.create_whole(Path(sys.argv[1]), "[game]", RunInfo(1, "0", "go", "", 1, "", ()), fill)
"""


def test_a_maker_that_is_killed_leaves_nothing_for_long(tmp_path: Path) -> None:
    for number in range(2):
        subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / f"killed{number}")], check=False)
        (left,) = [p for p in tmp_path.iterdir() if is_aside(p.name)]
        assert left.name == f".killed{number}.aside.tmp"
    assert made(tmp_path / "new") == ["new"]


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def fails(run: RunDirectory) -> None:
        fill(run)
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        RunDirectory.create_whole(tmp_path / "new", "[game]\n", INFO, fails)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_was_replaced_before_its_lock_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aside = left_behind(tmp_path / "new")

    def replaced(self: object, folder: Path) -> bool:
        os.rename(aside, tmp_path / "theirs")
        return False

    monkeypatch.setattr("ludus.storage.lock.RunLock.holds", replaced)
    with pytest.raises(RunBusy, match="just now"):
        made(tmp_path / "new")
    assert (tmp_path / "theirs" / "snapshots" / "half.safetensors").is_file()

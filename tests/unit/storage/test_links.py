"""No writer of this package follows a link, and no reader waits for a pipe."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ludus.storage import CorruptFile, JsonlWriter, write_atomic
from ludus.storage.checkpoints import CheckpointStore
from ludus.storage.files import open_own, open_regular, own_folder, write_directory_atomic, write_synced
from ludus.storage.frozen import FrozenPlayers, LearnerState
from ludus.storage.journal import Journal
from ludus.storage.matches import MatchesMeta, MatchFiles

STATE = LearnerState({"a": np.zeros(2, np.float32)}, {})
META = MatchesMeta("g", "h", {}, 1)


@pytest.mark.parametrize("how", ["symbolic", "hard", "dangling", "pipe", "folder", "device"])
@pytest.mark.parametrize("flags", [os.O_RDWR, os.O_WRONLY | os.O_APPEND])
def test_only_a_file_of_its_own_is_opened_to_write(how: str, flags: int, tmp_path: Path) -> None:
    path, victim = tmp_path / "file", tmp_path / "victim"
    if how == "pipe":
        os.mkfifo(path)
    elif how == "folder":
        path.mkdir()
    elif how == "hard":
        victim.write_text("mine")
        os.link(victim, path)
    else:
        if how == "symbolic":
            victim.write_text("mine")
        path.symlink_to("/dev/null" if how == "device" else victim)
    before = os.listdir("/proc/self/fd")
    with pytest.raises(CorruptFile, match=rf"{path}: (a link|a file with 2 names|not a regular file)"):
        open_own(path, flags)
    with pytest.raises(CorruptFile):
        JsonlWriter(path)
    assert len(os.listdir("/proc/self/fd")) == len(before)
    assert victim.read_text() == "mine" if how in ("symbolic", "hard") else not victim.exists()


@pytest.mark.parametrize("write", [write_synced, write_atomic])
@pytest.mark.parametrize("how", ["symbolic", "hard", "pipe"])
def test_an_entry_in_the_place_of_a_new_file_is_removed(
    write: Callable[[Path, bytes], None], how: str, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    for name in ("file", "file.tmp"):
        if how == "pipe":
            os.mkfifo(tmp_path / name)
        else:
            (os.symlink if how == "symbolic" else os.link)(victim, tmp_path / name)
    write(tmp_path / "file", b"theirs")
    assert (tmp_path / "file").read_bytes() == b"theirs"
    assert not (tmp_path / "file").is_symlink()
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("name", ["new", "new.tmp", "new.old.tmp"])
def test_a_folder_is_replaced_and_the_target_of_a_link_stays(name: str, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_text("mine")
    (tmp_path / "new").mkdir()
    if name == "new":
        (tmp_path / "new").rmdir()
    (tmp_path / name).symlink_to(victim)
    write_directory_atomic(tmp_path / "new", lambda folder: write_synced(folder / "file", b"theirs"))
    assert (tmp_path / "new" / "file").read_bytes() == b"theirs"
    assert not (tmp_path / "new").is_symlink()
    assert (victim / "file").read_text() == "mine"


WRITERS: dict[str, Callable[[Path], object]] = {
    "a folder": lambda p: own_folder(p, make=True),
    "frozen players": lambda p: FrozenPlayers(p).save_learner("main", 1, STATE),
    "one frozen player": lambda p: FrozenPlayers(p.parent).save_learner(p.name, 1, STATE),
    "matches": lambda p: MatchFiles(p, META).write(1, {"a": np.zeros(2, np.float32)}),
    "matches that are dropped": lambda p: MatchFiles(p, META).drop([1]),
    "checkpoints": lambda p: CheckpointStore(p).save(None),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("how", ["link", "dangling", "file"])
def test_a_link_or_file_in_place_of_a_folder_is_refused(writer: str, how: str, tmp_path: Path) -> None:
    folder, victim = tmp_path / "folder", tmp_path / "victim"
    if how == "file":
        folder.write_text("mine")
    else:
        folder.symlink_to(victim)
    if how == "link":
        victim.mkdir()
        (victim / "000000001.safetensors").write_text("mine")
    with pytest.raises(CorruptFile, match=f"{folder}: (a link, expected|not) a folder"):
        WRITERS[writer](folder)
    if how == "link":
        assert [p.read_text() for p in victim.iterdir()] == ["mine"]


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
def test_a_journal_with_other_names_is_not_opened(suffix: str, tmp_path: Path) -> None:
    path, victim = tmp_path / "league.sqlite", tmp_path / "victim"
    Journal.create(path).close()
    side = path.with_name(path.name + suffix)
    if suffix:
        side.write_bytes(b"")
    os.link(side, victim)
    before = victim.read_bytes()
    for opened in (Journal.open, Journal.read):
        with pytest.raises(CorruptFile, match=r"2 names \(hard links\)"):
            opened(path)
    assert victim.read_bytes() == before


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CorruptFile, match="not a regular file"):
        open_regular(tmp_path / "pipe")

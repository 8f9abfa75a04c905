"""Runs that appear whole or not at all: what a kill leaves is not listed, not opened, and cleared away."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ludus.cli.complete import candidates
from ludus.storage import RunDirectory, RunExists, RunInfo, RunNotFound
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

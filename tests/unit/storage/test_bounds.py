"""No file is read further than a file of its kind may be long."""

from __future__ import annotations

import os
import stat
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ludus.presets.file import PresetError, load_preset
from ludus.storage import (
    CheckpointStore,
    CorruptFile,
    RunDirectory,
    RunInfo,
    StorageError,
    read_jsonl,
    user_state,
)
from ludus.storage.files import read_bounded

LONG = 256 << 20  # bytes of a sparse file


def sparse(path: Path) -> Path:
    """A file that is far too long and takes no room."""
    with path.open("wb") as file:
        file.truncate(LONG)
    return path


@contextmanager
def memory_below(most: int) -> Iterator[None]:
    """Fails where more than ``most`` bytes are held at once: a check after reading it all is none."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    info = RunInfo(1, "0.1.0", "tic_tac_toe", "0" * 16, 1, "2026-01-01T00:00:00Z", ("ludus", "train"))
    return RunDirectory.create(tmp_path / "run", "[game]\nname = 'tic_tac_toe'\n", info)


READS: dict[str, tuple[str, Callable[[RunDirectory], object]]] = {
    "run.json": ("run.json", lambda run: run.info()),
    "config.toml": ("config.toml", lambda run: run.config_bytes()),
    "best.json": ("checkpoints/best.json", lambda run: run.checkpoints.pointer("best")),
    "metrics.jsonl": ("metrics.jsonl", lambda run: list(read_jsonl(run.metrics_path))),
}


@pytest.mark.parametrize("name", READS)
def test_files_of_a_run_have_a_limit(run: RunDirectory, name: str) -> None:
    file, read = READS[name]
    sparse(run.path / file)
    with (
        memory_below(8 << 20),
        pytest.raises(CorruptFile, match=rf"{Path(file).name}.*more than \d+ bytes"),
    ):
        read(run)


def test_the_state_of_a_checkpoint_has_a_limit(tmp_path: Path) -> None:
    folder = tmp_path / "000000001"
    folder.mkdir()
    sparse(folder / "state.json")
    message = "more than 67108864 bytes, expected at most 67108864"
    with memory_below(160 << 20), pytest.raises(CorruptFile, match=message):
        CheckpointStore(tmp_path).load_state(1)


def test_a_preset_has_a_limit(tmp_path: Path) -> None:
    with memory_below(8 << 20), pytest.raises(PresetError, match=r"long\.toml: more than 1048576 bytes"):
        load_preset(str(sparse(tmp_path / "long.toml")))


def test_a_file_of_the_limit_is_read_and_one_byte_more_is_not(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 10)
    assert read_bounded(path, 10) == b"x" * 10
    with pytest.raises(CorruptFile, match="more than 9 bytes, expected at most 9"):
        read_bounded(path, 9)


@pytest.mark.timeout(60)
def test_a_read_of_no_regular_file_does_not_wait(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(CorruptFile, match="not a regular file"):
            read_bounded(path, 10)


def test_a_users_state_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "state" / "ludus"
    monkeypatch.setenv("LUDUS_STATE_DIR", str(folder))
    assert user_state.read_private("runs/a", 10) is None
    assert user_state.write_private("runs/a", b"first")
    assert not user_state.write_private("runs/a", b"second", replace=False)
    assert user_state.read_private("runs/a", 10) == b"first"
    assert user_state.write_private("runs/a", b"third")
    assert user_state.read_private("runs/a", 10) == b"third"
    assert [p.name for p in (folder / "runs").iterdir()] == ["a"]
    modes = {p: stat.S_IMODE(p.stat().st_mode) for p in (folder, folder / "runs", folder / "runs" / "a")}
    assert list(modes.values()) == [0o700, 0o700, 0o600]
    with pytest.raises(CorruptFile, match="more than 4 bytes"):
        user_state.read_private("runs/a", 4)
    for place in modes:
        place.chmod(modes[place] | stat.S_IWGRP)
        with pytest.raises(StorageError, match="another user may write it"):
            user_state.read_private("runs/a", 10)
        place.chmod(modes[place])


def test_a_users_state_is_in_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LUDUS_STATE_DIR", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert user_state.state_folder() == Path("/state/ludus")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/user")
    assert user_state.state_folder() == Path("/home/user/.local/state/ludus")
    monkeypatch.setenv("LUDUS_STATE_DIR", "/elsewhere")
    assert user_state.state_folder() == Path("/elsewhere")

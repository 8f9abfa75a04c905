"""Files of a run: atomic, append-only, checked when they are read."""

from __future__ import annotations

import errno
import resource
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludus.flow import Weights, WeightsMeta
from ludus.storage import (
    Checkpoint,
    CheckpointStore,
    CorruptFile,
    JsonlWriter,
    Pointer,
    RunDirectory,
    RunExists,
    RunInfo,
    RunLog,
    RunNotFound,
    is_reference,
    load_weights,
    read_jsonl,
    read_weights,
    resolve_weights,
    write_atomic,
)
from ludus.storage.jsonl import Row


def weights(version: int, fill: float = 1.0) -> Weights:
    meta = WeightsMeta(
        version=version,
        spec_hash="0" * 16,
        architecture="{}",
        spec="{}",
        game="tic_tac_toe",
        steps=version * 10,
    )
    return Weights(meta, {"a": np.full((3, 2), fill, np.float32), "n": np.zeros((), np.float64)})


def checkpoint(version: int, fill: float = 1.0) -> Checkpoint:
    return Checkpoint(
        weights(version, fill),
        {"adam": np.arange(4, dtype=np.float32)},
        {"pool": np.arange(9, dtype=np.uint8)},
        b'{"steps": 3}',
    )


def info() -> RunInfo:
    return RunInfo(1, "0.1.0", "tic_tac_toe", "0" * 16, 1, "2026-01-01T00:00:00Z", ("ludus", "train"))


def test_an_atomic_write_replaces_the_file_or_leaves_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"old")
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_torn_line_of_jsonl_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    writer = JsonlWriter(path)
    writer.append({"a": 1})
    writer.append({"a": 2})
    writer.close()
    with path.open("ab") as file:
        file.write(b'{"a": 3')
    assert [r["a"] for r in read_jsonl(path)] == [1, 2]
    writer = JsonlWriter(path)
    writer.append({"a": 4})
    writer.close()
    assert [r["a"] for r in read_jsonl(path)] == [1, 2, 4]


@pytest.mark.parametrize("size", [0, 5, 14])
def test_a_limit_on_files_is_named_and_leaves_no_half_line(tmp_path: Path, size: int) -> None:
    """The system writes the part that fits, and gives its reason only when the rest is tried."""
    writer = JsonlWriter(tmp_path / "events.jsonl")
    writer.append({"a": 1})
    rows: list[Row] = [{"a": 2}, {"text": "x" * 100}]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (writer.size() + size, before[1]))
    try:
        with pytest.raises(OSError, match="File too large") as refused:
            writer.append_many(rows)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert refused.value.errno == errno.EFBIG
    writer.append({"a": 3})
    writer.close()
    assert [r["a"] for r in read_jsonl(writer.path)] == [1, 3]


def test_an_invalid_line_of_jsonl_is_named(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"a": 1}\nnonsense\n')
    with pytest.raises(CorruptFile, match=r"metrics\.jsonl:2"):
        list(read_jsonl(path))


@given(data=st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_read_as_jsonl_or_refused(
    data: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(data)
    try:
        rows = list(read_jsonl(path))
    except CorruptFile as error:
        rows = []
        message = str(error)
    else:
        message = str(path)
    finally:
        path.unlink()
    assert str(path) in message
    assert all(isinstance(r, dict) for r in rows)


def test_weights_round_trip(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path)
    store.save(checkpoint(7, 2.5))
    read = read_weights(store.weights_path("7"))
    assert read.meta == weights(7).meta
    assert np.array_equal(read.tensors["a"], np.full((3, 2), 2.5, np.float32))
    assert read.tensors["n"].shape == ()


def test_weights_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path)
    store.save(checkpoint(1, float("nan")))
    with pytest.raises(CorruptFile, match="not finite"):
        read_weights(store.weights_path("1"))


def test_checkpoints_keep_the_newest_and_the_best(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, keep=2)
    store.save(checkpoint(1))
    store.point("best", Pointer(1, 0.5))
    for version in (2, 3, 4):
        store.save(checkpoint(version))
    assert store.versions() == [1, 3, 4]
    assert store.resolve("best") == 1
    assert store.resolve("last") == 4
    assert store.resolve("3") == 3
    with pytest.raises(RunNotFound, match="best, last and 1, 3, 4"):
        store.resolve("2")


def test_checkpoint_round_trip(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path)
    saved = checkpoint(12)
    store.save(saved)
    loaded, problems = store.load_last()
    assert problems == []
    assert loaded.state == saved.state
    assert np.array_equal(loaded.optimizer["adam"], saved.optimizer["adam"])
    assert np.array_equal(loaded.rollout["pool"], saved.rollout["pool"])


@pytest.mark.parametrize(
    "name", ["weights.safetensors", "optimizer.safetensors", "rollout.safetensors", "state.json"]
)
@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_damaged_checkpoint_falls_back_to_the_one_before(tmp_path: Path, name: str, damage: str) -> None:
    store = CheckpointStore(tmp_path)
    store.save(checkpoint(1))
    store.save(checkpoint(2))
    path = store.path(2) / name
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(data)
    elif damage == "cut":
        path.write_bytes(data[:-3])
    else:
        path.unlink()
    loaded, problems = store.load_last()
    assert loaded.version == 1
    assert len(problems) == 1
    assert str(store.path(2)) in problems[0]


WRITER = """
import sys, numpy as np
sys.path.insert(0, {tests!r})
from test_storage import checkpoint
from ludus.storage import CheckpointStore
from pathlib import Path
store = CheckpointStore(Path({folder!r}), keep=2)
version = 1
big = np.zeros(2_000_000, np.float32)
while True:
    one = checkpoint(version, float(version))
    one.rollout["big"] = big
    store.save(one)
    print(version, flush=True)
    version += 1
"""


def test_kill_during_checkpoints_leaves_a_whole_one(tmp_path: Path) -> None:
    """kill -9 at any moment of a writer that does nothing but write."""
    script = textwrap.dedent(WRITER).format(tests=str(Path(__file__).parent), folder=str(tmp_path))
    floor = 0
    for attempt in range(4):
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(2):
                floor = int(process.stdout.readline())
            time.sleep(0.011 * attempt)
            process.send_signal(signal.SIGKILL)
            process.wait()
        loaded, _ = CheckpointStore(tmp_path).load_last()
        assert loaded.version >= floor
        assert float(loaded.weights.tensors["a"][0, 0]) == float(loaded.version)
        for path in tmp_path.iterdir():
            if path.is_dir() and not path.name.endswith(".tmp"):
                CheckpointStore(tmp_path).load(int(path.name))


def test_run_directory_is_made_once(tmp_path: Path) -> None:
    path = tmp_path / "run"
    run = RunDirectory.create(path, "a = 1\n", info())
    assert RunDirectory.open(path).info() == info()
    assert run.config.read_text() == "a = 1\n"
    with pytest.raises(RunExists, match="ludus resume"):
        RunDirectory.create(path, "", info())
    with pytest.raises(RunNotFound, match="not a run directory"):
        RunDirectory.open(tmp_path / "other")


def test_references_resolve_to_their_files(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "run", "", info())
    with pytest.raises(RunNotFound, match="no checkpoint yet"):
        resolve_weights(f"{run.path}@best")
    run.checkpoints.save(checkpoint(5))
    for name in ("best", "last", "5", "000000005"):
        assert load_weights(f"{run.path}@{name}").meta.version == 5
    assert resolve_weights(str(run.path)) == run.checkpoints.weights_path("last")
    with pytest.raises(RunNotFound, match="no version 'newest'"):
        resolve_weights(f"{run.path}@newest")
    with pytest.raises(RunNotFound, match="expected"):
        resolve_weights("@best")
    assert is_reference("run@best")
    assert is_reference("x.safetensors")
    assert not is_reference("simple")


def test_rewind_removes_later_rows(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "run", "", info())
    log = RunLog(run)
    log.metrics({"update": 1})
    sizes = log.sync()
    log.metrics({"update": 2})
    log.event("problem", text="x")
    log.rewind(sizes)
    log.metrics({"update": 2, "again": True})
    log.close()
    assert list(read_jsonl(run.metrics_path)) == [{"update": 1}, {"update": 2, "again": True}]
    assert [e["event"] for e in read_jsonl(run.events_path)] == ["problem"]

"""One process at a time trains a run, and others can see that."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ludus.cli.__main__ import main
from ludus.presets.errors import Interrupted, RunFailed
from ludus.reporting.metrics import UpdateMetrics
from ludus.storage import CorruptFile, RunBusy, RunDirectory, read_jsonl
from ludus.storage.lock import Holder, RunLock, is_locked
from ludus.training.actor_learner.trainer import Trainer
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run

from .runs import TOML, Recorder, small_preset
from .test_alphazero import TOML as ALPHAZERO
from .test_runs import InterruptAt

COMMAND = (sys.executable, "-m", "ludus.cli")
PYTHON = TOML.replace('"tic_tac_toe"', '"gymnasium/CartPole-v1"')
PYTHON = PYTHON.replace('[[opponents]]\nname = "random"\n', "")


def start_endless(folder: Path, preset: str) -> subprocess.Popen[str]:
    """Start an endless run; return once its first checkpoint exists."""
    (folder / "preset.toml").write_text(preset)
    words: tuple[str, ...] = ("train", "preset.toml", "--run-dir", "run", "--run.max-steps", "1000000000")
    words += ("--run.checkpoint-every-minutes", "0.001", "--evaluation.every-steps", "0")
    process = subprocess.Popen(
        [*COMMAND, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    limit = time.monotonic() + 100
    while not (folder / "run" / "checkpoints" / "last.json").exists():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < limit
        time.sleep(0.02)
    return process


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task")
    return [int(c) for task in tasks.iterdir() for c in (task / "children").read_text().split()]


@pytest.mark.parametrize(
    "preset",
    [
        TOML,
        pytest.param(ALPHAZERO, marks=pytest.mark.slow),
        pytest.param(PYTHON, marks=pytest.mark.slow),
    ],
    ids=["appo", "alphazero", "python game"],
)
def test_a_second_writer_is_refused_while_a_process_trains(
    tmp_path: Path, preset: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    process = start_endless(tmp_path, preset)
    run = RunDirectory.open(tmp_path / "run")
    try:
        assert main(["resume", "run"]) == 2
        second = capsys.readouterr().err
        assert f"process {process.pid} on {socket.gethostname()} since 20" in second
        assert "trains this run" in second
        assert "Traceback" not in second
        assert run.status().state == "running"
        assert run.status().holder == Holder(process.pid, socket.gethostname(), run.status().holder.since)  # type: ignore[union-attr]
        assert main(["train", "preset.toml", "--run-dir", "run"]) == 2
        assert f"exists already; process {process.pid} on " in capsys.readouterr().err
        workers = children(process.pid)
        assert bool(workers) == (preset is PYTHON)
        for worker in workers:
            held = [os.readlink(fd) for fd in Path(f"/proc/{worker}/fd").iterdir()]
            assert not {str(run.lock_path), str(run.path)} & set(held)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert run.status().state == "lost"
    finally:
        process.kill()
        process.communicate()
    steps = max(int(str(row["steps"])) for row in read_jsonl(run.metrics_path))
    assert main(["resume", "run", "--run.max-steps", str(steps + 100)]) == 0
    assert f"the run was lost: process {process.pid} on " in capsys.readouterr().err
    # Rounds before AlphaZero's replay buffer is ready make no weights: version 0.
    updates = [
        row["version"] for row in read_jsonl(run.metrics_path) if row["kind"] == "update" and row["version"]
    ]
    assert updates == list(range(1, len(updates) + 1))
    assert run.status().state == "finished"


class Looks(Recorder):
    """Sink that reads the run's state, and tries to write the run too, while it trains."""

    def __init__(self, run: Path) -> None:
        super().__init__()
        self.run, self.seen, self.refused = run, set[str](), 0

    def update(self, metrics: UpdateMetrics) -> None:
        self.seen.add(RunDirectory.open(self.run).status().state)
        with pytest.raises(RunBusy):
            resume_run(self.run)
        self.refused += 1


def fails(trainer: Trainer, evaluate: object) -> None:
    raise RunFailed("on purpose")


def test_the_state_of_a_run_is_visible_from_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    preset = small_preset(evaluation__every_steps=0, evaluation__final_matches=0, run__max_steps=200)
    run = tmp_path / "run"
    with pytest.raises(Interrupted):
        start_run(preset, run, sinks=[InterruptAt(1)])
    assert RunDirectory.open(run).status().state == "interrupted"
    looks = Looks(run)
    resume_run(run, sinks=[looks])
    assert looks.seen == {"running"}
    assert looks.refused >= 1
    assert RunDirectory.open(run).status().state == "finished"
    monkeypatch.setattr(Trainer, "round", fails)
    with pytest.raises(RunFailed):
        start_run(preset, tmp_path / "failed")
    assert RunDirectory.open(tmp_path / "failed").status().state == "failed"


def test_a_reader_does_not_block_a_writer(tmp_path: Path) -> None:
    path, holder = tmp_path / "lock", Holder(1, "h", "t")
    for _ in range(3):
        with RunLock(path, holder):
            assert is_locked(path)
            with pytest.raises(RunBusy, match="process 1 on h since t trains this run"):
                RunLock(path, holder)
        assert not is_locked(path)


def test_a_lock_that_is_a_link_changes_no_other_file(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / "lock").symlink_to(precious)
    with pytest.raises(CorruptFile, match="a link"):
        RunLock(tmp_path / "lock", Holder(1, "h", "t"))
    assert precious.read_text() == "mine"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CorruptFile, match="not a regular file"):
        RunLock(tmp_path / "pipe", Holder(1, "h", "t"))


@pytest.mark.parametrize("change", ["removed", "replaced", "moved", "made a folder"])
def test_a_lock_file_that_is_gone_admits_no_second_writer(tmp_path: Path, change: str) -> None:
    """The lock is on the directory; the file only names its holder."""
    path = tmp_path / "lock"
    with RunLock(path, Holder(1, "here", "now")):
        if change == "moved":
            path.rename(tmp_path / "old")
        else:
            path.unlink()
        if change == "replaced":
            path.write_bytes(b"")
        elif change == "made a folder":
            path.mkdir()
        assert is_locked(path)
        with pytest.raises(RunBusy, match="another process trains this run"):
            RunLock(path, Holder(2, "here", "now"))
    assert not is_locked(path)


def test_a_writer_that_locks_the_file_alone_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        assert is_locked(path)
        with pytest.raises(RunBusy):
            RunLock(path, Holder(2, "here", "now"))
    finally:
        os.close(fd)
    RunLock(path, Holder(2, "here", "now")).release()

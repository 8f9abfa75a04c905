"""A disk that fills: the run reports it, continues, leaves every older file whole, and fails at its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ludus.storage import CheckpointStore, read_jsonl

ROOT = str(Path(__file__).parents[2])
PRESET = """
[game]
name = "tic_tac_toe"
[[opponents]]
name = "random"
[pool]
slots = 16
groups = 2
threads = 0
rollout_length = 8
[policy]
dense = [16]
hidden = [16]
[algorithm]
minibatches = 2
[evaluation]
every_steps = 300
matches = 20
final_matches = 20
[run]
max_steps = 1500
threads = 1
lag = "sync"
"""

# Fills what the second checkpoint would need, or bounds the size of any one file (no mount needed).
CHILD = """
import resource, sys
from pathlib import Path
from ludus.presets.errors import RunUnsaved
from ludus.training.runs import start_run
from ludus.reporting.sinks import Sink
from ludus.presets.file import parse_preset

run, how = Path(sys.argv[1]), sys.argv[2]

class Fill(Sink):
    def checkpoint(self, path, version):
        if how == "limit":
            resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, resource.RLIM_INFINITY))
        else:
            with open(run.parent / "filler", "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(4096))
                except OSError:
                    pass
    def message(self, text):
        print(text, flush=True)

try:
    start_run(parse_preset(sys.stdin.buffer.read(), "preset").preset, run, sinks=[Fill()])
except RunUnsaved as error:
    print("unsaved:", error)
"""


@pytest.fixture
def small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Yield a file system of one megabyte, or of the size that the test requests."""
    disk = tmp_path / "disk"
    disk.mkdir()
    size = getattr(request, "param", 1)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}m", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("mounting a tmpfs needs root")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def run_until_it_ends(run: Path, how: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(run), how],
        input=PRESET.encode(),
        capture_output=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().splitlines()


def check(run: Path, lines: list[str], reason: str) -> None:
    ended = "training ended (max_steps = 1500 reached), and the last rounds could not be saved"
    assert lines[-1].startswith(f"unsaved: {ended} ({reason}); the newest checkpoint stands; resume it from")
    problems = [line for line in lines if line.startswith("problem:")]
    assert any("checkpoint of version" in p and "the run continues" in p for p in problems)
    store = CheckpointStore(run / "checkpoints")
    checkpoint, damaged = store.load_last()
    assert damaged == []
    assert checkpoint.version == store.versions()[-1] > 0
    assert not list((run / "checkpoints").glob("*.tmp"))
    assert len(list(read_jsonl(run / "metrics.jsonl"))) > 0


def test_a_run_survives_files_that_may_not_grow(tmp_path: Path) -> None:
    run = tmp_path / "run"
    check(run, run_until_it_ends(run, "limit"), "File too large")


def test_a_run_survives_a_full_disk(small_disk: Path) -> None:
    run = small_disk / "run"
    check(run, run_until_it_ends(run, "fill"), "No space left on device")


OFTEN = "[run]\ncheckpoint_every_minutes = 0.0000001"  # after every update
BOT = PRESET.replace("[run]", OFTEN)
SELF_PLAY = """
[game]
name = "tic_tac_toe"
[algorithm]
name = "alphazero"
batch_size = 32
round_positions = 60
sample_reuse = 1.0
window_matches_min = 10
statistics_batches = 2
[algorithm.search]
visits = 4
[algorithm.self_play]
slots = 8
[policy]
network = "resnet"
blocks = 1
filters = 8
value_hidden = 8
[evaluation]
matches = 0
final_matches = 4
against = ["random"]
visits = 1
[run]
max_steps = 1500
threads = 1
precision = "float32"
""".replace("[run]", OFTEN)

# The disk is full from update 3 to update 6; the process is killed once a checkpoint was written after that.
FULL_FOR_A_MOMENT = """
import os, signal, sys
from pathlib import Path
from ludus.training.runs import start_run
from ludus.reporting.sinks import Sink
from ludus.presets.file import parse_preset

run, filler = Path(sys.argv[1]), Path(sys.argv[1]).parent / "filler"

class Moment(Sink):
    updates, freed = 0, False
    def update(self, metrics):
        self.updates += 1
        if self.updates == 3:
            with open(filler, "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(4096))
                except OSError:
                    pass
        if self.updates == 6:
            filler.unlink()
            self.freed = True
    def checkpoint(self, path, version):
        if self.freed:
            os.kill(os.getpid(), signal.SIGKILL)
    def message(self, text):
        print(text, flush=True)

preset = parse_preset(sys.stdin.buffer.read(), "preset").preset
if preset.algorithm.__class__.__name__ == "AlphaZeroConfig":  # six updates are wanted, on a busy machine too
    import pytest
    from tests.unit.training.stepped import step_self_play
    step_self_play(pytest.MonkeyPatch())
start_run(preset, run, sinks=[Moment()])
"""


@pytest.mark.parametrize("small_disk", [8], indirect=True)
@pytest.mark.parametrize(
    ("preset", "refused"),
    [
        (BOT, ""),
        pytest.param(
            BOT.replace('name = "random"', 'name = "past"\npast_every = 2\npast_window = 8'),
            "snapshots/",
            marks=pytest.mark.slow,
        ),
        pytest.param(SELF_PLAY, "self_play/", marks=pytest.mark.slow),
        pytest.param(
            SELF_PLAY.replace(
                "sample_reuse", "gate = true\ngate_matches = 2\ngate_score = 0.0\nsample_reuse"
            ),
            "snapshots/",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["a bot", "past opponents", "self-play", "a gate"],
)
def test_a_disk_that_is_full_for_a_moment_costs_nothing(small_disk: Path, preset: str, refused: str) -> None:
    """The checkpoint after that moment can be resumed: every file that it refers to exists."""
    run = small_disk / "run"
    done = subprocess.run(
        [sys.executable, "-c", FULL_FOR_A_MOMENT, str(run)],
        input=preset.encode(),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [ROOT, os.environ.get("PYTHONPATH")]))},
        capture_output=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode() + done.stdout.decode()
    problems = [line for line in done.stdout.decode().splitlines() if line.startswith("problem:")]
    assert any("No space left on device" in p and "the run continues" in p for p in problems)
    if refused:
        assert any(
            f"{run}/{refused}" in p and "tried again before the next checkpoint" in p for p in problems
        )
        assert any(f"it needs {run}/" in p for p in problems)
    resumed = subprocess.run(
        [sys.executable, "-m", "ludus.cli", "resume", str(run)], capture_output=True, timeout=240, check=False
    )
    assert resumed.returncode == 0, resumed.stderr.decode()
    assert b"problem" not in resumed.stdout + resumed.stderr
    assert b"max_steps = 1500 reached" in resumed.stdout


# The disk is full while the replays of the last matches are written, and at no other time.
FULL_FOR_REPLAYS = """
import resource, sys
from pathlib import Path
from ludus.cli.__main__ import main
from ludus.training.run_evaluator import RunEvaluator

keep = RunEvaluator.keep_replays

def full(self, folder):
    if sys.argv[2] != "disk":
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), hard))
        problems = keep(self, folder)
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        return problems
    filler = folder.parent.parent / "filler"
    with open(filler, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    problems = keep(self, folder)
    filler.unlink()
    return problems

RunEvaluator.keep_replays = full
sys.exit(main(["train", str(Path(sys.argv[1]).parent / "preset.toml"), "--run-dir", sys.argv[1]]))
"""


def check_replays(run: Path, how: str) -> None:
    (run.parent / "preset.toml").write_text(PRESET)
    done = subprocess.run(
        [sys.executable, "-c", FULL_FOR_REPLAYS, str(run), how],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert ".ludus was not written" in done.stdout + done.stderr
    assert "ludus eval" in done.stdout
    assert "ludus replay" not in done.stdout
    assert list((run / "replays").iterdir()) == []


@pytest.mark.parametrize(
    "size", [pytest.param("0", marks=pytest.mark.slow), "1", pytest.param("50", marks=pytest.mark.slow)]
)
def test_replays_that_may_not_grow_are_removed(tmp_path: Path, size: str) -> None:
    check_replays(tmp_path / "run", size)


@pytest.mark.parametrize("small_disk", [4], indirect=True)
def test_replays_on_a_full_disk_are_removed(small_disk: Path) -> None:
    check_replays(small_disk / "run", "disk")

"""A disk that fills: the run says so, goes on, and leaves every older file whole."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ludus.storage import CheckpointStore, read_jsonl

PRESET = """
[game]
name = "tic_tac_toe"
[[opponents]]
name = "random"
[pool]
matches = 16
groups = 2
threads = 0
steps = 8
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
from ludus.train.api import start_run
from ludus.train.observer import SilentObserver
from ludus.train.preset_file import parse_preset

run, how = Path(sys.argv[1]), sys.argv[2]

class Fill(SilentObserver):
    def on_checkpoint(self, path, version):
        if how == "limit":
            resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, resource.RLIM_INFINITY))
        else:
            with open(run.parent / "filler", "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(4096))
                except OSError:
                    pass
    def on_message(self, text):
        print(text, flush=True)

result = start_run(parse_preset(sys.stdin.buffer.read(), "preset").preset, run, observer=Fill())
print("ended:", result.reason)
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
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


def check(run: Path, lines: list[str]) -> None:
    assert lines[-1] == "ended: max_steps = 1500 reached"
    problems = [line for line in lines if line.startswith("problem:")]
    assert any("checkpoint of version" in p and "the run goes on" in p for p in problems)
    store = CheckpointStore(run / "checkpoints")
    checkpoint, damaged = store.load_last()
    assert damaged == []
    assert checkpoint.version == store.versions()[-1] > 0
    assert not list((run / "checkpoints").glob("*.tmp"))
    assert len(list(read_jsonl(run / "metrics.jsonl"))) > 0


def test_files_that_may_not_grow(tmp_path: Path) -> None:
    run = tmp_path / "run"
    check(run, run_until_it_ends(run, "limit"))


def test_full_disk(small_disk: Path) -> None:
    run = small_disk / "run"
    check(run, run_until_it_ends(run, "fill"))

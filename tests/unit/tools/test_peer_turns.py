"""``make bench-peers`` ends all processes of a row: one that stays would slow the next row's sides."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from benchmarks.peers.turns import Side, tree

# Starts a process of its own that outlives it, as Sample Factory's workers do, and prints its progress.
PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
with open(sys.argv[2], "a", buffering=1) as out:
    print(child.pid, 1, file=out)
    time.sleep(60)
"""


def test_a_sides_children_end_with_it_though_they_outlive_their_parent(tmp_path: Path) -> None:
    side = Side("one", [sys.executable, "-c", PARENT], tmp_path)
    side.warm_up(1, 60.0)
    child = int(side.progress.read_text().split()[0])
    assert child in tree(side.process.pid)
    side.close()
    until = time.monotonic() + 60
    while _runs(child) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _runs(child)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

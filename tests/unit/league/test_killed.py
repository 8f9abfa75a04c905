"""A league killed again and again ends as one that never was."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from ludus.league.league import League
from ludus.storage.errors import StorageError
from ludus.storage.journal import Journal
from tests.unit.league.run_league import CONFIG

ROUNDS = 1500
HERE = Path(__file__).parents[3]


def start(path: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.unit.league.run_league", str(path), str(ROUNDS)]
    return subprocess.Popen(command, cwd=HERE)


def written(path: Path) -> int:
    """Return the number of the newest row, 0 without a journal."""
    try:
        with Journal.read(path) as journal:
            return journal.last
    except (OSError, StorageError):
        return 0


def test_killed_at_random_moments_it_ends_the_same(tmp_path: Path) -> None:
    calm, killed = tmp_path / "calm.sqlite", tmp_path / "killed.sqlite"
    assert start(calm).wait() == 0
    with Journal.read(calm) as journal:
        rows = journal.last
    kills = 0
    for target in sorted(random.Random(2).sample(range(1, rows), 5)):
        run = start(killed)
        while run.poll() is None and written(killed) < target:
            time.sleep(0.002)
        if run.poll() is None:
            os.kill(run.pid, signal.SIGKILL)
            kills += 1
        run.wait()
    assert start(killed).wait() == 0
    assert kills > 0
    with Journal.read(calm) as journal:
        expected = list(journal.rows())
    with Journal.read(killed) as journal:
        assert list(journal.rows()) == expected
    assert {"frozen", "reset", "copied"} <= {row.kind for row in expected}
    league = League(CONFIG, 5, {"algorithm.x": 1.0})
    league.replay(expected)
    assert league.ignored == {}
    assert sum(m.rounds for m in league.standings.members.values()) == ROUNDS

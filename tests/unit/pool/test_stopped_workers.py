"""Stopped worker processes (SIGSTOP): lost like dead ones, at any point."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ludus.flow import MatchResult, PoolOptions
from ludus.flow.seeds import match_seed
from ludus.pool import PoolError
from ludus.pool.hosted import worker_pool
from ludus.pool.hosted.process import ProcessPool
from ludus.pool.hosted.watch import Patience, Watchdog, is_stopped
from tests.unit.pool.test_process_pool import DUEL, ONE, TWO, _gone, play, walk

TIMEOUT_S = 1.0
LATE = "took longer than 1 s (pool.timeout_s)"
TroubleAt = Callable[[ProcessPool], None]


def _stop(pool: ProcessPool, number: int = 1) -> int:
    """Stop a worker and return its process id once the kernel has stopped it."""
    pid = pool.worker_pids[number]
    os.kill(pid, signal.SIGSTOP)
    os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)
    return pid


def _failed(results: list[MatchResult]) -> set[int]:
    return {r.slot for r in results if r.error}


def test_a_worker_that_is_stopped_between_two_steps_is_replaced() -> None:
    with walk(timeout_s=TIMEOUT_S) as pool:
        slab = pool.slab(5)
        play(pool, slab)
        pid = _stop(pool)
        results = play(pool, slab)
        assert _failed(results) == {1, 3}
        assert all(r.error == f"its process was stopped, and {LATE}" for r in results if r.error)
        assert {r.slot for r in results if not r.error} == {0, 2}
        assert _gone(pid)
        assert not _failed(play(pool, slab))


def test_a_worker_that_is_stopped_before_its_first_command_is_replaced() -> None:
    with walk(timeout_s=TIMEOUT_S) as pool:
        pid = _stop(pool)
        results = play(pool, pool.slab(5))
        assert _gone(pid)
        assert {r.slot for r in results if not r.error} == {0, 1, 2, 3}


@pytest.mark.parametrize("where", ["step", "reset"])
def test_a_worker_that_is_stopped_by_its_game_is_replaced(where: str) -> None:
    match = 5 if where == "reset" else 1
    params: dict[str, object] = {"trouble": f"{where}-stop", "seed": match_seed(5, match)}
    with walk(params, timeout_s=TIMEOUT_S) as pool:
        results = play(pool, pool.slab(12))
        assert LATE in next(r.error for r in results if r.match == match)
        assert _failed(results) == {1, 3}


@pytest.mark.parametrize("kind", ["seats", "vector", "vector states"])
def test_workers_of_every_kind_of_game_are_watched(kind: str) -> None:
    if kind != "seats":
        pytest.importorskip("gymnasium")
    game, lineup = (DUEL, TWO) if kind == "seats" else ("gymnasium/CartPole-v1", ONE)
    states = kind == "vector states"
    with ProcessPool(
        game,
        {},
        lineup,
        PoolOptions(slots=8, threads=2, on_error="truncate", timeout_s=TIMEOUT_S, states=states),
    ) as pool:
        slab = pool.slab(8)
        play(pool, slab, lambda b: pool.random_actions(b.group))
        _stop(pool)
        results = play(pool, slab, lambda b: pool.random_actions(b.group))
        stopped = {r.slot for r in results if LATE in r.error}
        assert stopped == {2, 3, 6, 7}


def test_a_worker_that_is_stopped_while_it_makes_its_games_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "0").touch()
    params: dict[str, object] = {"crashes": str(tmp_path), "parent": os.getpid(), "by": int(signal.SIGSTOP)}
    with walk(params, timeout_s=TIMEOUT_S) as pool:
        assert not list(tmp_path.iterdir())
        assert not _failed(play(pool, pool.slab(5)))


def test_a_worker_that_is_stopped_before_it_reads_its_start_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spawn = worker_pool._spawn
    pids: list[int] = []

    def stopped_once() -> worker_pool._Worker:
        worker = spawn()
        if not pids:
            os.kill(worker.process.pid, signal.SIGSTOP)
        pids.append(worker.process.pid)
        return worker

    monkeypatch.setattr(worker_pool, "_spawn", stopped_once)
    with walk(timeout_s=TIMEOUT_S) as pool:
        assert pids[0] not in pool.worker_pids
        assert _gone(pids[0])
        assert not _failed(play(pool, pool.slab(5)))


def test_workers_that_are_stopped_at_every_start_end_the_pool(tmp_path: Path) -> None:
    for i in range(20):
        (tmp_path / str(i)).touch()
    params: dict[str, object] = {"crashes": str(tmp_path), "parent": os.getpid(), "by": int(signal.SIGSTOP)}
    why = r"walk: worker 0 was lost 4 times in a row: its process was stopped for longer than 0.2 s"
    with pytest.raises(PoolError, match=why):
        walk(params, timeout_s=0.2, threads=1)


def test_a_snapshot_of_a_pool_with_a_stopped_worker_is_taken_and_restored() -> None:
    with walk(timeout_s=TIMEOUT_S) as pool:
        slab = pool.slab(7)
        play(pool, slab)
        _stop(pool)
        data = pool.snapshot()
        pool.restore(data)
        results = play(pool, slab)
        assert sorted(r.match for r in results if not r.error) == [8, 9, 10, 11]
        assert _failed(results) == {1, 3}  # of the matches that the worker had when it was stopped


def test_a_pool_with_stopped_workers_closes() -> None:
    pool = walk(timeout_s=0)
    play(pool, pool.slab(5))
    pids = [_stop(pool, number) for number in (0, 1)]
    pool.close()
    assert all(_gone(pid) for pid in pids)


def test_only_a_stopped_child_counts_as_stopped() -> None:
    with walk() as pool:
        pid = pool.worker_pids[0]
        assert not is_stopped(pid)
        _stop(pool, 0)
        assert is_stopped(pid)
        assert is_stopped(pid)  # looking changes nothing
        os.kill(pid, signal.SIGCONT)
        os.waitid(os.P_PID, pid, os.WCONTINUED)
        assert not is_stopped(pid)
    assert not is_stopped(pid)


# ---- deadlines, by a clock that the test moves -----------------------------------------------------


class _Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class _Watched:
    """Two workers, two groups, a timeout of 8 s, looked at every second."""

    def __init__(self) -> None:
        self.clock = _Clock()
        self.heartbeat = np.array([[0, -1], [0, -1]], np.int64)
        self.command = np.zeros((2, 2, 4), np.int64)
        self.done = np.zeros((2, 2), np.int64)
        self.watch = Watchdog(self.heartbeat, self.command, self.done, 8.0, self.clock)

    def wait(self, seconds: int) -> list[int]:
        """Return the first workers that are overdue within ``seconds`` of waiting."""
        for _ in range(seconds):
            self.clock.now += 1.0
            if overdue := self.watch.overdue():
                return overdue
        return []


def test_a_worker_without_a_command_is_never_overdue() -> None:
    watched = _Watched()
    assert watched.wait(100) == []


@pytest.mark.parametrize("slot", [-1, 0, 3])
def test_a_worker_that_owes_an_answer_becomes_overdue_in_any_slot(slot: int) -> None:
    watched = _Watched()
    watched.wait(100)
    watched.command[1, 0, 0] = 1
    watched.heartbeat[1] = 1, slot
    assert watched.wait(8) == []  # the command is seen by the first look
    assert watched.wait(3) == [1]


def test_signs_of_life_start_the_deadline_again() -> None:
    watched = _Watched()
    watched.command[:, :, 0] = 5
    for column in (0, 1, 0, 1):
        assert watched.wait(7) == []
        watched.heartbeat[:, column] += 1
    for group in (0, 1):
        assert watched.wait(7) == []
        watched.done[:, group] = 5
    assert watched.wait(100) == []


def test_time_in_which_the_caller_was_suspended_does_not_count() -> None:
    watched = _Watched()
    watched.command[:, :, 0] = 5
    assert watched.wait(7) == []
    watched.clock.now += 3600.0
    assert watched.watch.overdue() == []
    assert watched.wait(7) == []  # the deadline has started again
    assert watched.wait(3) == [0, 1]


def test_a_slow_look_counts_as_one_look() -> None:
    clock = _Clock()
    patience = Patience(1.0, clock)
    for passed, waited, interrupted in ((1.0, 1.0, False), (1.9, 2.0, False), (60.0, 3.0, True)):
        clock.now += passed
        assert patience.due()
        patience.look()
        assert (patience.waited_s, patience.interrupted) == (waited, interrupted)
        assert not patience.due()


# ---- a whole run that is stopped and continued -----------------------------------------------------

PROGRAM = """
import sys
sys.path[:0] = {path!r}
from tests.unit.pool.test_process_pool import walk, play
pool = walk(timeout_s={timeout!r})
slab = pool.slab(5)
play(pool, slab)
print(*pool.worker_pids, flush=True)
while True:
    print([r.error for r in play(pool, slab) if r.error], " " * 4000, flush=True)
"""


@pytest.mark.parametrize("workers_too", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_run_that_is_stopped_and_continued_keeps_its_workers(workers_too: bool) -> None:
    """Ctrl-Z and fg stop only the parent; a frozen container stops the workers too."""
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(path=sys.path, timeout=TIMEOUT_S)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None
        pids = [int(word) for word in child.stdout.readline().split()]
        assert child.stdout.readline().rstrip() == "[]"
        for pid in [*pids, child.pid] if workers_too else [child.pid]:
            os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
        time.sleep(3 * TIMEOUT_S)  # stopped by the signal: nothing here depends on the machine's load
        for pid in [child.pid, *pids] if workers_too else [child.pid]:
            os.kill(pid, signal.SIGCONT)
        for _ in range(60):  # more than the pipe held when the run was stopped
            assert child.stdout.readline().rstrip() == "[]"
    finally:
        for pid in [child.pid, *pids]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        child.kill()
        child.communicate()

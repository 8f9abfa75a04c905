"""A process in which a thread of the ViZDoom library is stuck starts no other engine. No engine runs here."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ludus.games.adapters.seat_threads import SeatThreads
from ludus.games.adapters.vizdoom import match as vizdoom_match
from ludus.games.adapters.vizdoom.match import VizdoomMatch, check_process
from ludus.games.python_game import ProcessUnusable


class Engine:
    """An engine that starts and ends at once. A tic waits for ``released``."""

    def __init__(self, started: list[Engine], released: threading.Event) -> None:
        self.started, self.released = started, released

    def __getattr__(self, name: str) -> object:
        return lambda *_: None  # settings

    def init(self) -> None:
        self.started.append(self)

    def advance_action(self, tics: int, update: bool) -> None:
        self.released.wait()


class Setting:
    """A scenario of two seats."""

    spec: Any = None
    players, frame_skip, match_tics, tic_s = 2, 1, 10, 0.01

    def __init__(self) -> None:
        self.started: list[Engine] = []
        self.released = threading.Event()

    def engine(self) -> Engine:
        return Engine(self.started, self.released)

    def seat(self) -> object:
        return SimpleNamespace(press=lambda action: [0])


@pytest.fixture
def setting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Setting]:
    monkeypatch.setattr(vizdoom_match, "GONE_S", 0.01)
    monkeypatch.setattr(vizdoom_match, "STOP_S", 0.01)
    monkeypatch.setattr(vizdoom_match, "_stuck", set())
    monkeypatch.setattr(VizdoomMatch, "_look", lambda self, seat, game: None)
    made = Setting()
    yield made
    made.released.set()


def test_no_engine_starts_while_a_thread_is_stuck(setting: Setting) -> None:
    match, other = VizdoomMatch(setting), VizdoomMatch(setting)
    match.reset(1)
    assert len(setting.started) == 2
    with pytest.raises(RuntimeError, match=r"seats 0, 1 did not finish a tic within 0.01 s"):
        match.step(np.zeros((2, 1), np.int32))
    for unlucky in (match, other):  # the library is the process's
        with pytest.raises(ProcessUnusable, match=r"continue in a new process"):
            unlucky.reset(2)
    assert len(setting.started) == 2
    match.close()
    other.close()


def test_a_thread_that_returns_late_lets_engines_start_again(setting: Setting) -> None:
    match = VizdoomMatch(setting)
    match.reset(1)
    with pytest.raises(RuntimeError, match="did not finish"):
        match.step(np.zeros((2, 1), np.int32))
    stuck = list(vizdoom_match._stuck)
    assert len(stuck) == 2
    setting.released.set()
    for call in stuck:
        call.result(60)
    check_process()
    match.reset(2)
    assert len(setting.started) == 4
    assert not match.step(np.zeros((2, 1), np.int32))
    match.close()


def test_an_engine_that_does_not_close_prevents_starts_too(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Engine, "close", lambda self: self.released.wait(), raising=False)
    match = VizdoomMatch(setting)
    match.reset(1)
    with pytest.raises(ProcessUnusable, match="2 calls of the ViZDoom library"):
        match.reset(2)
    match.close()


def test_calls_of_a_seat_run_in_order_and_raise_in_the_waiting_thread() -> None:
    threads = SeatThreads(2, "seat")
    done: list[int] = []
    calls = [threads.submit(0, done.append, i) for i in range(5)]
    failed = threads.submit(1, int, "x")
    threads.close()
    for call in calls:
        call.result(60)
    assert done == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="invalid literal"):
        failed.result(60)


def test_a_process_with_a_stuck_thread_can_end() -> None:
    code = (
        "import threading; from ludus.games.adapters.seat_threads import SeatThreads\n"
        "SeatThreads(1, 'seat').submit(0, threading.Event().wait)"
    )
    subprocess.run([sys.executable, "-c", code], stdin=subprocess.DEVNULL, check=True, timeout=120)

"""A process in which a thread of the ViZDoom library is stuck starts no other engine. No engine runs here."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ludus.games.adapters.seat_threads import SeatThreads
from ludus.games.adapters.vizdoom import match as vizdoom_match
from ludus.games.adapters.vizdoom import processes
from ludus.games.adapters.vizdoom.bots import Bots
from ludus.games.adapters.vizdoom.match import VizdoomMatch
from ludus.games.adapters.vizdoom.processes import EngineWatch, ReservedPort, check_process
from ludus.games.adapters.vizdoom.shaping import shapings
from ludus.games.python_game import ProcessUnusable


class Engine:
    """An engine that starts and ends at once. A tic waits for ``released``."""

    def __init__(self, started: list[Engine], released: threading.Event) -> None:
        self.started, self.released = started, released
        self.arguments = ""

    def __getattr__(self, name: str) -> object:
        return lambda *_: 0.0  # settings and counters

    def add_game_args(self, arguments: str) -> None:
        self.arguments += arguments

    def init(self) -> None:
        self.started.append(self)

    def advance_action(self, tics: int, update: bool) -> None:
        self.released.wait()


class Setting:
    """A scenario of two seats."""

    spec: Any = None
    players, frame_skip, match_tics, tic_s, respawn_s, match = 2, 1, 10, 0.01, 0, True
    bots = Bots()
    shaping = shapings()["none"]
    match = True
    actions: Any = SimpleNamespace(press=lambda action: [0], buttons=("attack",))

    def __init__(self) -> None:
        self.started: list[Engine] = []
        self.released = threading.Event()

    def engine(self) -> Engine:
        return Engine(self.started, self.released)

    def seat(self) -> Any:  # noqa: ANN401 - a stand-in
        return SimpleNamespace(look=lambda game: None)


@pytest.fixture
def setting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Setting]:
    monkeypatch.setattr(vizdoom_match, "GONE_S", 0.01)
    monkeypatch.setattr(vizdoom_match, "STOP_S", 0.01)
    monkeypatch.setattr(processes, "_stuck", set())
    monkeypatch.setattr(vizdoom_match, "VariableReader", lambda names: None)
    monkeypatch.setattr(VizdoomMatch, "_look", lambda self, seat, game: None)
    monkeypatch.setattr(VizdoomMatch, "_begin", lambda self, seat, game: None)
    made = Setting()
    yield made
    made.released.set()


def test_no_engine_starts_while_a_thread_is_stuck(setting: Setting) -> None:
    match, other = VizdoomMatch(setting), VizdoomMatch(setting)
    match.reset(1)
    assert len(setting.started) == 4
    with pytest.raises(RuntimeError, match=r"seats 0, 1 did not finish a tic within 0.01 s"):
        match.step(np.zeros((2, 1), np.int32))
    with pytest.raises(ProcessUnusable, match=r"continue in a new process"):
        match.reset(2)
    with pytest.raises(ProcessUnusable, match=r"continue in a new process"):  # the library is the process's
        VizdoomMatch(setting)
    assert len(setting.started) == 4
    match.close()
    other.close()


def test_a_thread_that_returns_late_lets_engines_start_again(setting: Setting) -> None:
    match = VizdoomMatch(setting)
    match.reset(1)
    with pytest.raises(RuntimeError, match="did not finish"):
        match.step(np.zeros((2, 1), np.int32))
    stuck = list(processes._stuck)
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
    match.close()
    with pytest.raises(ProcessUnusable, match="2 calls of the ViZDoom library"):
        VizdoomMatch(setting)


def test_matches_that_play_at_the_same_time_have_ports_of_their_own(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "PORTS", range(20_000, 20_000 + processes.TRIES))
    matches = [VizdoomMatch(setting) for _ in range(5)]
    ports = [re.findall(r"-port (\d+)", engine.arguments) for engine in setting.started]
    assert ports[0::2] == ports[1::2]  # both engines of a match
    assert len({number for numbers in ports for number in numbers}) == 5
    for match in matches:
        match.close()


def test_a_port_that_another_program_has_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "TRIES", 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("", 0))
        number = other.getsockname()[1]
        monkeypatch.setattr(processes, "PORTS", range(number, number + 1))
        with pytest.raises(RuntimeError, match="no free port among 1"):
            ReservedPort()
    port = ReservedPort()
    assert port.number == number
    with pytest.raises(RuntimeError, match="no free port"):  # another match's
        ReservedPort()
    port.close()


@pytest.mark.parametrize("how", ["late", "gone"])
def test_a_single_engine_that_fails_is_named_and_ended(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[set[int]] = []
    monkeypatch.setattr(processes, "kill", lambda pids: killed.append(set(pids)))
    watch = EngineWatch()
    watch.begin({17})

    def call() -> None:
        until = time.monotonic() + 60
        while how == "late" and not killed and time.monotonic() < until:
            time.sleep(0.01)
        raise OSError("it ended\nlong story")

    said = (
        r"^tic: the engine did not finish within 0.1 s$" if how == "late" else r"is gone: OSError: it ended$"
    )
    with pytest.raises(RuntimeError, match=said):
        watch.call("tic", 0.1 if how == "late" else 60.0, call)
    assert killed == ([{17}] if how == "late" else [])
    assert watch.late == (how == "late")


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

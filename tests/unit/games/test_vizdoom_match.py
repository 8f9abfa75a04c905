"""Engines against each other: barrier, watchdog, and no processes left over."""

from __future__ import annotations

import errno
import importlib.util
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ludus.games.registry import maker

if importlib.util.find_spec("vizdoom") is None:
    pytest.skip("vizdoom is not installed", allow_module_level=True)

from ludus.games.adapters.vizdoom import match as vizdoom_match
from ludus.games.adapters.vizdoom import processes
from ludus.games.adapters.vizdoom.match import VizdoomMatch
from ludus.games.adapters.vizdoom.processes import engine_processes, yielding
from ludus.games.python_game import ProcessUnusable
from ludus.native import YIELD_LIBRARY, ParamError

SMALL = {"height": "30", "width": "40", "colour": "false", "match_tics": "24", "tic_s": "60.0"}


def match(players: int, **more: str) -> VizdoomMatch:
    scenario = "multi_duel" if players == 2 else "multi"
    made = maker(f"vizdoom/{scenario}", {**SMALL, "players": str(players), **more}).make()
    assert isinstance(made, VizdoomMatch)
    return made


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow for slow machines, and skip if a thread is stuck in the library."""
    monkeypatch.setattr(vizdoom_match, "START_S", 300.0)
    if any(not call.done() for call in processes._stuck):
        pytest.skip("the library has not returned from a call since its engine was killed")


@pytest.fixture
def two() -> Iterator[VizdoomMatch]:
    game = match(2)
    yield game
    game.close()


def actions(game: VizdoomMatch, choice: int) -> np.ndarray:
    return np.full((game.spec.seats, len(game.spec.heads)), choice, np.int32)


def play(game: VizdoomMatch) -> None:
    """Play without an end."""
    while True:
        if game.step(actions(game, 0)):
            game._tics = 0


@pytest.mark.slow
def test_matches_start_and_stop_and_leave_no_engine(two: VizdoomMatch) -> None:
    seen: set[int] = set()
    for number in range(3):
        two.reset(number)
        assert len(two.engines) == 2
        seen |= two.engines
        assert list(two.to_act()) == [0, 1]
        steps = 1
        while not two.step(actions(two, number % 4)):
            steps += 1
        assert steps == 6  # 24 tics, four at a time
    assert len(seen) == 2  # one pair of engines plays all matches
    two.close()
    assert not engine_processes()


def test_matches_start_in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made: list[int] = []
    start = VizdoomMatch._start

    def looking(self: VizdoomMatch, seat: int) -> None:
        made.append(len(list(tmp_path.iterdir())))  # the library's folder exists before any engine
        start(self, seat)

    monkeypatch.setattr(VizdoomMatch, "_start", looking)
    match(2).close()
    assert made == [1, 1]


@pytest.mark.skipif(not YIELD_LIBRARY.is_file(), reason="only on Linux")
def test_engines_yield_the_processor_while_they_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/of/another/program.so")
    two = match(2)
    for pid in two.engines:
        assert str(YIELD_LIBRARY) in Path(f"/proc/{pid}/maps").read_text()
    two.close()
    assert os.environ["LD_PRELOAD"] == "/of/another/program.so"


@pytest.mark.parametrize("before", [None, "", "/of/another/program.so"])
def test_ld_preload_is_restored_once_the_engines_run(
    before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    if before is not None:
        monkeypatch.setenv("LD_PRELOAD", before)
    with yielding():
        pass
    assert os.environ.get("LD_PRELOAD") == before


@pytest.mark.skipif(not YIELD_LIBRARY.is_file(), reason="only on Linux")
def test_a_program_that_yields_receives_the_same_packets() -> None:
    code = (
        "import socket\n"
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "s.bind(('127.0.0.1', 0)); s.setblocking(False)\n"
        "try: s.recvfrom(9)\n"
        "except BlockingIOError as error: print(error.errno)\n"
        "s.sendto(b'here', s.getsockname())\n"
        "data, whence = s.recvfrom(9); print(data.decode(), whence == s.getsockname())\n"
        "try: socket.fromfd(0, socket.AF_INET, socket.SOCK_DGRAM).recvfrom(9)\n"
        "except OSError as error: print(error.errno)\n"
    )
    command, nothing = [sys.executable, "-c", code], subprocess.DEVNULL
    with yielding():
        assert os.environ["LD_PRELOAD"].startswith(str(YIELD_LIBRARY))
        output = subprocess.check_output(command, stdin=nothing, text=True)
    assert output == subprocess.check_output(command, stdin=nothing, text=True)
    assert output.splitlines() == [str(errno.EAGAIN), "here True", str(errno.ENOTSOCK)]


def test_engines_start_without_a_library_that_cannot_be_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    blank, before = tmp_path / "a b.so", dict(os.environ)
    blank.touch()
    for path in (tmp_path / "missing.so", blank):
        monkeypatch.setattr(processes, "YIELD_LIBRARY", path)
        with yielding():
            assert dict(os.environ) == before


def test_every_seat_sees_its_own_screen_and_matches_end_with_an_outcome(two: VizdoomMatch) -> None:
    assert two.spec.seats == 2
    two.reset(1)
    seen = [{t.name: np.zeros(t.packed_shape, t.packed_dtype) for t in two.spec.observation} for _ in "ab"]
    for _ in range(3):
        assert not two.step(actions(two, 1))
    for seat in range(2):
        two.observe(seat, seen[seat])
        assert seen[seat]["screen"].std() > 1
    assert not np.array_equal(seen[0]["screen"], seen[1]["screen"])
    earned, outcome = np.full(2, 7, np.float32), np.full(2, 7, np.float32)
    two.rewards(earned)
    two.outcome(outcome)
    assert np.isfinite(earned).all()
    assert outcome.tolist() == [0, 0]  # no seat has a frag yet


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_an_engine_that_dies_or_freezes_ends_only_its_match(
    how: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = match(2)
    try:
        game.reset(1)
        victim = min(game.engines)
        threading.Timer(0.05, os.kill, (victim, how)).start()
        with monkeypatch.context() as brief:
            brief.setattr(game._maker, "tic_s", 1.0)
            with pytest.raises(RuntimeError, match=r"tic: .*seat"):
                play(game)
        assert not game.engines
        try:
            game.reset(2)
        except ProcessUnusable:  # a thread is still in the library: nothing started
            assert not game.engines
        else:  # the next match has engines again
            assert len(game.engines) == 2
            game.step(actions(game, 0))
    finally:
        game.close()
    assert not engine_processes()


@pytest.mark.slow
def test_an_engine_that_died_between_matches_is_named_and_replaced() -> None:
    game = match(3, tic_s="2.0")
    try:
        for order in (0, 2):
            game.reset(order)
            before = game.engines
            os.kill(sorted(before)[order], signal.SIGKILL)
            with pytest.raises(RuntimeError, match=r"^start: seat \d: ViZDoom\w+: [^;]+$"):
                game.reset(7)
            game.reset(8)
            assert len(game.engines) == 3
            assert not game.engines & before
    finally:
        game.close()


def test_a_map_for_two_is_not_played_by_three() -> None:
    for params in ({"players": "3"}, {"players": "2", "bots": "1"}):
        with pytest.raises(
            ParamError, match=r"multi_duel: . players and . bots, expected at most 2 together$"
        ):
            maker("vizdoom/multi_duel", params)

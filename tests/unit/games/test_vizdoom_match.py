"""Engines against each other: barrier, watchdog, and nothing that stays behind."""

from __future__ import annotations

import importlib.util
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ludus.games.registry import maker

if importlib.util.find_spec("vizdoom") is None:
    pytest.skip("vizdoom is not installed", allow_module_level=True)

from ludus.games.adapters.vizdoom_match import VizdoomMatch, engine_processes

SMALL = {"height": "30", "width": "40", "colour": "false", "match_tics": "24"}


def match(players: int, **more: str) -> VizdoomMatch:
    made = maker("vizdoom/multi_duel", {**SMALL, "players": str(players), **more}).make()
    assert isinstance(made, VizdoomMatch)
    return made


@pytest.fixture
def two() -> Iterator[VizdoomMatch]:
    game = match(2)
    yield game
    game.close()


def actions(game: VizdoomMatch, choice: int) -> np.ndarray:
    return np.full((game.spec.seats, len(game.spec.heads)), choice, np.int32)


def play(game: VizdoomMatch) -> None:
    """Goes on without an end."""
    while True:
        if game.step(actions(game, 0)):
            game._tics = 0


def test_ten_matches_start_and_stop_and_leave_no_engine(two: VizdoomMatch) -> None:
    seen: set[int] = set()
    for number in range(10):
        two.reset(number)
        assert len(two.engines) == 2
        assert not two.engines & seen  # a match begins with engines of its own
        seen |= two.engines
        assert list(two.to_act()) == [0, 1]
        steps = 1
        while not two.step(actions(two, number % 4)):
            steps += 1
        assert steps == 6  # 24 tics, four at a time
    two.close()
    assert not engine_processes()


def test_matches_start_where_no_match_has_been(
    two: VizdoomMatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made: list[int] = []
    begin = two._begin

    def looking(seat: int) -> None:
        made.append(len(list(tmp_path.iterdir())))  # what the library needs is there before any engine
        begin(seat)

    monkeypatch.setattr(two, "_begin", looking)
    two.reset(1)
    assert made == [1, 1]


def test_every_seat_sees_its_own_screen_and_the_ends_of_a_match_are_told(two: VizdoomMatch) -> None:
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
    assert outcome.tolist() == [0, 0]  # nobody has shot anybody yet


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_an_engine_that_dies_or_freezes_ends_the_match_alone(how: signal.Signals) -> None:
    game = match(2, tic_s="1.0")
    try:
        game.reset(1)
        victim = min(game.engines)
        threading.Timer(0.05, os.kill, (victim, how)).start()
        begin = time.monotonic()
        with pytest.raises(RuntimeError, match=r"tic: seat"):
            play(game)
        assert time.monotonic() - begin < 30
        assert not game.engines
        game.reset(2)  # the next match has engines again
        assert len(game.engines) == 2
        game.step(actions(game, 0))
    finally:
        game.close()
    assert not engine_processes()

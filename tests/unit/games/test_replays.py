from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludus.games import replays
from ludus.games.registry import BUILT_IN
from ludus.native import ReplayError

DATA = replays.record(
    "tic_tac_toe", {"opens": "random"}, seed=3, match=8, bots=["perfect", "uniform"], hash_every=2
)


def test_info_reports_the_content_of_a_replay() -> None:
    info = replays.info(DATA)
    assert (info.game, info.seed, info.match, info.hash_every) == ("tic_tac_toe", 3, 8, 2)
    assert info.players == ("perfect", "uniform")
    assert info.params == {"opens": "random"}
    assert info.over
    assert info.decisions == info.ticks


@pytest.mark.parametrize("game", BUILT_IN)
def test_replays_of_every_game_verify(game: str) -> None:
    data = replays.record(game, seed=5)
    check = replays.verify(data)
    assert check.same
    assert check.last_same == check.ticks == replays.info(data).ticks
    assert data == replays.record(game, seed=5)


def test_frames_are_views_at_the_chosen_ticks() -> None:
    ticks = replays.info(DATA).ticks
    seen = [json.loads(f)["tick"] for f in replays.frames(DATA, 2)]
    assert seen == sorted({*range(0, ticks + 1, 2), ticks})
    with pytest.raises(ValueError, match="every_ticks is 0"):
        replays.frames(DATA, 0)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(DATA) - 1), st.integers(1, 255))
def test_a_changed_byte_is_refused(at: int, flip: int) -> None:
    bad = bytearray(DATA)
    bad[at] ^= flip
    with pytest.raises(ReplayError):
        replays.info(bytes(bad))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_bytes_from_anywhere_are_refused_with_a_message(data: bytes) -> None:
    with pytest.raises(ReplayError, match="replay: "):
        replays.verify(data)


def test_decisions_of_a_replay_reproduce_the_match() -> None:
    decisions = replays.decisions(DATA)
    boards = [json.loads(f) for f in replays.frames(DATA)]
    assert [d.tick for d in decisions] == list(range(replays.info(DATA).ticks))
    for d in decisions:
        assert boards[d.tick]["to_move"] == d.seat
        assert d.bot == (1 if d.seat == 0 else -1)  # `perfect` is the second bot; `uniform` plays actions
        if d.bot < 0:
            assert boards[d.tick]["cells"][d.action[0]] == -1
            assert boards[d.tick + 1]["cells"][d.action[0]] == d.seat
        else:
            assert d.action == ()

"""How far AlphaZero's self-play is: positions, matches and time until the next update."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from ludus.algorithms.config import AlphaZeroConfig
from ludus.mcts import Matches
from ludus.training.alphazero.self_play_progress import SelfPlayProgress


def matches(count: int, plies: int) -> Matches:
    """Return matches of equal length."""
    columns = Matches.empty().columns()
    columns |= {"match": np.arange(count, dtype=np.uint64), "plies": np.full(count, plies, np.int32)}
    columns |= {"action": np.zeros(count * plies, np.uint16)}
    return Matches.of(columns)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [50.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


CONFIG = AlphaZeroConfig(round_positions=4096, window_matches_min=200)


def test_moves_count_before_a_match_is_over(clock: list[float]) -> None:
    progress = SelfPlayProgress(CONFIG)
    progress.start(0)
    start = (
        "self-play: 0 of 4,096 positions and 0 of 200 matches until the first update, 0 moves in this session"
    )
    assert progress.text(0, trained=False) == start
    progress.moves, clock[0] = 904, 60.0
    assert progress.text(0, trained=False) == (
        "self-play: 904 of 4,096 positions and 0 of 200 matches until the first update, "
        "904 moves in this session, about 0:35 min left for these positions"
    )
    progress.take(matches(20, 40), 800)  # 180 more matches of 40 moves, of which 104 are played
    text = progress.text(20, trained=False)
    assert text.startswith("self-play: 904 of 4,096 positions and 20 of 200 matches until the first update")
    assert text.endswith("about 1:09 min left")


def test_without_a_minimum_of_matches_positions_are_all(clock: list[float]) -> None:
    config = msgspec.structs.replace(CONFIG, window_matches_min=10)
    progress = SelfPlayProgress(config)
    progress.start(0)
    progress.moves, clock[0] = 4100, 60.0
    assert progress.text(12, trained=False) == (
        "self-play: 4,096 of 4,096 positions until the first update, 12 matches are over, "
        "4,100 moves in this session; their matches are being finished"
    )


def test_a_later_round_counts_from_the_matches_in_play(clock: list[float]) -> None:
    cheap = msgspec.structs.replace(CONFIG.self_play, full_share=0.25)
    progress = SelfPlayProgress(msgspec.structs.replace(CONFIG, self_play=cheap))
    progress.start(0)
    progress.moves = 24_000
    progress.take(matches(400, 40), 4100)
    progress.start(24_000)  # 8,000 moves are of matches in play: a quarter of them are learned
    clock[0] += 10.0
    progress.moves = 26_000
    assert progress.text(400, trained=True) == (
        "self-play: 2,500 of 4,096 positions until the next update, 400 matches are over, "
        "26,000 moves in this session, about 0:31 min left"
    )
    assert "positions of this round and 150 of 200 matches until the first" in progress.text(
        150, trained=False
    )

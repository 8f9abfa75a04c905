"""Self-play of a rollout, without Ray: numbers of matches, and moves on request."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from ludus.cluster.checks import part_of
from ludus.cluster.self_play import INCARNATIONS, RolloutSelfPlay, SelfPlayOrder, SelfPlayRequest
from ludus.mcts import MatchNumbers
from ludus.presets.config import Preset
from ludus.presets.file import load_preset
from ludus.training.alphazero.components import SESSION_SHIFT


def preset(threads: int = 1) -> Preset:
    """Return settings of a rollout of tic-tac-toe."""
    settings = {"cluster.rollouts": "2", "cluster.cpus": str(threads), "algorithm.search.visits": "8"}
    return part_of(load_preset("tic_tac_toe-alphazero", settings).preset)


def numbers(order: SelfPlayOrder, threads: int) -> set[int]:
    """Return the numbers of the first matches of an order."""
    streams = (range(n.first, n.first + 50 * n.stride, n.stride) for n in order.numbers(threads))
    return set(chain.from_iterable(streams))


def played(requests: list[SelfPlayRequest], threads: int = 1, stopped: int = 0) -> list[tuple[int, Any]]:
    """Return the moves and the matches of each request, of one rollout."""
    play = RolloutSelfPlay(preset(threads), SelfPlayOrder(7, 0, 0, 2))
    play.stopped = stopped
    try:
        answers = [play.play(request, None) for request in requests]
    finally:
        play.close()
    return [(answer.times.moves, columns) for answer, columns in answers]


def test_one_rollout_has_the_numbers_of_one_process() -> None:
    order = SelfPlayOrder(7, session=3, number=0, rollouts=1)
    first = 3 << SESSION_SHIFT
    assert order.numbers(2) == [MatchNumbers(first, 2), MatchNumbers(first + 1, 2)]


def test_rollouts_incarnations_and_sessions_have_numbers_apart() -> None:
    orders = [
        SelfPlayOrder(7, session, number, 3, incarnation)
        for session in (0, 1)
        for number in range(3)
        for incarnation in (0, 1, INCARNATIONS - 1)
    ]
    sets = [numbers(order, 2) for order in orders]
    assert len(set().union(*sets)) == sum(map(len, sets)) == len(orders) * 100
    assert {n >> SESSION_SHIFT for n in set().union(*sets)} == {0, 1}


def test_equal_requests_give_equal_matches_on_any_number_of_threads() -> None:
    requests = [SelfPlayRequest(1, 500, 0, 1), SelfPlayRequest(2, 700, 0, 1)]
    for threads in (1, 2):
        first, second = played(requests, threads), played(requests, threads)
        assert [moves for moves, _ in first] == [moves for moves, _ in second]
        assert first[0][0] >= 500
        assert first[1][0] >= 700
        for (_, here), (_, there) in zip(first, second, strict=True):
            for name, column in here.items():
                np.testing.assert_array_equal(there[name], column, name)


def test_a_request_that_was_stopped_before_it_came_plays_nothing() -> None:
    (stopped, _), (after, _) = played(
        [SelfPlayRequest(1, 500, 0, 1), SelfPlayRequest(2, 500, 0, 1)], stopped=1
    )
    assert stopped == 0
    assert after >= 500

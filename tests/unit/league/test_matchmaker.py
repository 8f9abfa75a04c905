"""Fixed mixtures: which weights are kept, which play, and that a state restores all of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from ludus.flow import Orders
from ludus.league.matchmaker import (
    BotOpponent,
    FixedMixture,
    LatestOpponent,
    Matchmaker,
    PastOpponents,
)


def past(lanes: tuple[int, ...] = (4, 7)) -> PastOpponents:
    return PastOpponents(lanes, window=3, every=10, seed=5, playing=2, weight=0.5)


def mixture() -> FixedMixture:
    bot, latest = BotOpponent("simple", 0.25), LatestOpponent(2, 0.25)
    return FixedMixture({"simple": bot, "latest": latest, "past": past()})


def play(matchmaker: Matchmaker, first: int, last: int) -> list[Orders]:
    """Return the orders after each version."""
    orders = []
    for version in range(first, last + 1):
        matchmaker.on_weights(version)
        matchmaker.on_results(())
        orders.append(matchmaker.next_orders(16))
    return orders


def test_bots_and_the_latest_weights_need_no_orders() -> None:
    for matchmaker in (BotOpponent("simple"), LatestOpponent(3)):
        assert set(map(str, play(matchmaker, 0, 50))) == {str(Orders())}
        matchmaker.load_state(matchmaker.state())
        with pytest.raises(ValueError, match="without one"):
            matchmaker.load_state(past().state())
    assert LatestOpponent(3).labels == {3: "latest"}
    assert [c.bot for c in BotOpponent("simple").controllers] == ["simple"]


def test_past_weights_are_bounded_and_repeat() -> None:
    matchmaker = past()
    assert matchmaker.next_orders(16) == Orders({"main:0": 0.5}, ("main:0",))
    orders = play(matchmaker, 1, 75)
    assert orders[-1].kept == ("main:50", "main:60", "main:70")
    assert all(set(o.mixture) <= set(o.kept) and sum(o.mixture.values()) == 0.5 for o in orders)
    assert {tuple(sorted(o.mixture.values())) for o in orders} == {(0.5,), (0.25, 0.25)}
    assert orders == play(past(), 1, 75)
    changes = [v for v in range(2, 76) if orders[v - 1] != orders[v - 2]]
    assert changes == [10, 20, 30, 40, 50, 60, 70]
    drawn = {tuple(o.mixture) for o in play(past(), 1, 300)}
    assert len(drawn) > 5
    again = past()
    again.on_weights(10)
    once = again.next_orders(16)
    again.on_weights(10)  # between two rounds without an update nothing is new
    assert again.next_orders(16) == once


@pytest.mark.parametrize("at", [0, 9, 10, 35])
@pytest.mark.parametrize("make", [past, mixture])
def test_a_restored_matchmaker_continues_as_the_original(at: int, make: Callable[[], Matchmaker]) -> None:
    original, resumed = make(), make()
    play(original, 1, at)
    resumed.load_state(original.state())
    assert resumed.state() == original.state()
    assert resumed.next_orders(16) == original.next_orders(16)
    assert play(resumed, at + 1, 90) == play(original, at + 1, 90)


def test_a_mixture_is_all_of_its_parts() -> None:
    matchmaker = mixture()
    assert [(c.bot, c.policy, c.weight) for c in matchmaker.controllers] == [
        ("simple", -1, 0.25),
        ("", 2, 0.25),
        ("", 4, 0.5),
        ("", 7, 0.0),
    ]
    assert matchmaker.labels == {2: "latest", 4: "past", 7: "past"}
    assert play(matchmaker, 1, 75) == play(past(), 1, 75)


def test_lost_weights_are_replaced() -> None:
    matchmaker = mixture()
    play(matchmaker, 1, 40)
    kept = matchmaker.next_orders(16).kept
    matchmaker.on_lost(kept[0], newest=41)
    orders = matchmaker.next_orders(16)
    assert orders.kept == kept[1:]
    assert set(orders.mixture) <= set(orders.kept)
    for player in orders.kept:
        matchmaker.on_lost(player, newest=41)
    assert matchmaker.next_orders(16) == Orders({"main:41": 0.5}, ("main:41",))


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (b"[]", "matchmaker: "),
        (b"\xff", "matchmaker: "),
        (b'{"future": {}}', r"state of \['future'\], expected of \['latest', 'past', 'simple'\]"),
        (b'{"past": {"versions": [1], "playing": [1]}}', "1 play, expected 2"),
        (b'{"past": {"versions": [], "playing": [1, 1]}}', "expected versions from 0 on"),
        (b'{"past": {"versions": [-1], "playing": [1, 1]}}', "expected versions from 0 on"),
        (b'{"past": {"versions": [1], "playing": ["1", 1]}}', "past opponents: "),
        (b'{"latest": {"versions": [1]}, "past": {"versions": [1], "playing": [1, 1]}}', "without one"),
    ],
)
def test_states_of_others_are_refused(state: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mixture().load_state(state)


def test_decisions_need_no_torch() -> None:
    code = "import sys, ludus.league.league_matchmaker; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

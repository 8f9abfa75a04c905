"""Mistakes: what a decision changes, whose it is, and which ones are none."""

from __future__ import annotations

import pytest

from ludus.games import spec as spec_of
from ludus.games.match import Match
from ludus.mcts.player import SearchPlayer
from ludus.web.thoughts.mistakes import alternates, changes, drops, mean_loss, mistakes, values_after
from ludus.web.thoughts.replayed import thoughts_of
from ludus.web.thoughts.thought import HeadNames, HeadThought, Kind, Opinion, Thought


def thought(tick: int, seat: int, value: float | None, made: int, *order: int) -> Thought:
    return Thought(
        tick, seat, value, (HeadThought(order, (), (), (9,) * len(order)),), (made,), None, order[:1]
    )


#: Seat 0 falls from +0.2 to -0.6 by its move at tick 2; seat 1 had fallen by 0.3 before, at tick 1.
MATCH = (
    thought(0, 0, -0.1, 0, 0, 1),
    thought(1, 1, 0.1, 1, 0, 1),
    thought(2, 0, 0.2, 1, 2, 1),
    thought(3, 1, 0.6, 2, 2, 0),
)


def opinion(kind: Kind = "search", outcome: tuple[float, ...] = (-1.0, 1.0)) -> Opinion:
    names = (HeadNames("move", ("a", "b", "c")),)
    return Opinion("me", names, kind, "own", "", MATCH, False, tuple(values_after(MATCH, outcome)))


def test_the_next_position_judges_a_move_and_the_result_the_last_one() -> None:
    assert changes(opinion()) == pytest.approx([0.0, -0.3, -0.8, 0.4])
    assert changes(opinion(outcome=()))[-1] is None
    again = [thought(0, 0, 0.5, 0, 0), thought(1, 0, 0.1, 0, 0)]  # a seat that moves twice
    assert values_after(again) == [0.1, None]


def test_games_in_which_two_seats_alternate_and_see_everything() -> None:
    found = {name: alternates(spec_of(name)) for name in ("go", "connect_four", "kuhn_poker", "minirts")}
    assert found == {"go": True, "connect_four": True, "kuhn_poker": False, "minirts": False}


def test_a_move_that_the_search_makes_itself_is_no_mistake() -> None:
    assert [index for index, _ in drops(opinion())] == [2, 1]
    made = (thought(0, 0, 0.5, 0, 0, 1), thought(1, 1, 0.5, 0, 1, 0))
    own = Opinion("me", (HeadNames("move"),), "search", "own", "", made, False, (-0.5, None))
    assert drops(own) == []
    assert mean_loss(own, 0) == 0.0
    network = Opinion("me", (HeadNames("move"),), "network", "own", "", made, False, (-0.5, None))
    assert drops(network) == [(0, -1.0)]


def test_mistakes_have_names() -> None:
    first, second = mistakes(opinion(), {(2, 0): "b", (1, 1): "b"})
    assert (first.tick, first.seat, first.played, first.better, first.line) == (2, 0, "b", "c", ("c",))
    assert (first.value, first.after, first.change) == (0.2, -0.6, -0.8)
    assert (second.tick, second.better) == (1, "a")
    assert mean_loss(opinion(), 0) == pytest.approx(0.4)
    assert mean_loss(opinion(), 2) is None


def test_a_position_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    match = Match("tic_tac_toe", record=True)
    for move in (4, 0, 8):
        match.play(move)
    asked = []
    decide = SearchPlayer.decide

    def counted(self: SearchPlayer, *args: object, **more: object) -> object:
        asked.append(args)
        return decide(self, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(SearchPlayer, "decide", counted)
    first = thoughts_of(match.replay(), "mcts:37")
    assert len(asked) == 3
    assert thoughts_of(match.replay(), "mcts:37") == first
    match.play(1)  # played on from there
    thoughts_of(match.replay(), "mcts:37")
    assert len(asked) == 4
    thoughts_of(match.replay(), "mcts:38")
    assert len(asked) == 8

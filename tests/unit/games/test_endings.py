"""The end of a match in words, from its last view document."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ludus.evaluation.play import limit_of
from ludus.games.endings import Sides, ending_of, fate_of, side_names
from ludus.games.match import Match
from ludus.games.views import RENDERERS, View, view_of
from ludus.web.moves import labels_of


def played(game: str, bots: list[str], seed: int = 2) -> Match:
    match = Match(game, {}, seed=seed)
    skip = 1 if match.spec.turn_based else match.spec.default_frame_skip
    while not match.over and match.tick < limit_of(match.spec):
        for seat in match.to_act if match.tick % skip == 0 else ():
            match.bot(seat, bots[seat])
        match.advance()
    return match


def told(match: Match, names: list[str], you: tuple[int, ...] = ()) -> str:
    view = view_of(match.game)
    assert view is not None
    view = msgspec.structs.replace(view, labels=labels_of(view, match.spec))
    sides = Sides(names, side_names(view, match.spec.seats), you)
    return ending_of(match.game, view, match.view(), match.outcome, match.tick, sides)


@pytest.mark.parametrize(
    ("game", "bots", "sentence"),
    [
        ("minirts", ["noop", "simple"], "Your last base fell at tick "),
        ("rts", ["noop", "rush"], "Your last town hall fell at tick "),
        ("tower_defense", ["noop"], "Your base fell at tick "),
        ("moba", ["noop"] * 3 + ["simple"] * 3, "Your team's ancient fell at tick "),
        ("capture_the_flag", ["noop", "simple"], "Simple (orange) brought the flag to its base 5 times, "),
        ("connect_four", ["random", "tactical"], "Tactical (orange) made four in a row: column"),
        ("gomoku", ["random", "pattern"], "Pattern (white) made five in a row: "),
        ("tic_tac_toe", ["perfect", "perfect"], "The board is full and no one has a row: a draw"),
        ("go", ["random", "tactical"], " leads by "),
        ("pommerman", ["noop", "noop", "noop", "noop"], "Time is up at tick 800 and 4 agents live: a tie"),
        ("kuhn_poker", ["random", "random"], "You had "),
        ("leduc_poker", ["call", "call"], " on the table: "),
        ("matrix", ["first", "last"], "You chose rock and last (orange) chose scissors: "),
    ],
)
def test_every_game_says_why_it_has_ended(game: str, bots: list[str], sentence: str) -> None:
    match = played(game, bots)
    text = told(match, bots, (0,))
    assert sentence in text
    assert "seat " not in text


@pytest.mark.parametrize(
    ("cells", "winner", "last"),
    [
        ([0, 0, 0, 1, 1, -1, -1, -1, -1], 0, "You made three in a row: A3, B3, C3"),
        ([1, 0, 0, 0, 1, -1, -1, -1, 1], 1, "Random (noughts) made three in a row: A3, B2, C1"),
        ([-1, 0, 1, 0, 1, 0, 1, -1, -1], 1, "Random (noughts) made three in a row: C3, B2, A1"),
    ],
)
def test_the_winning_row_is_named(cells: list[int], winner: int, last: str) -> None:
    view = view_of("tic_tac_toe")
    assert view is not None
    outcome = [1.0 if seat == winner else -1.0 for seat in range(2)]
    sides = Sides(["person", "random"], side_names(view, 2), (0,))
    document = {"tick": 5, "winner": winner, "over": True, "cells": cells}
    assert ending_of("tic_tac_toe", view, document, outcome, 5, sides) == last


@pytest.mark.parametrize(
    ("document", "outcome", "sentence"),
    [
        (
            {"komi": 7.5, "margin": -7.5, "passes": 2, "resigned": -1},
            (-1, 1),
            "White leads by 7.5 after both",
        ),
        ({"komi": 6, "margin": 0, "passes": 2}, (0, 0), "Both have the same area after both passed"),
        ({"komi": 7.5, "margin": 0, "resigned": 1}, (1, -1), "Random (white) resigned"),
    ],
)
def test_a_count_of_areas_is_told(
    document: dict[str, Any], outcome: tuple[float, ...], sentence: str
) -> None:
    view = view_of("go")
    assert view is not None
    sides = Sides(["person", "random"], side_names(view, 2), (0,))
    assert ending_of("go", view, document, outcome, 9, sides).startswith(sentence)


@pytest.mark.parametrize("choices", [["pass", "bet", "pass"], ["bet", "pass"]])
def test_a_fold_is_told(choices: list[str]) -> None:
    view = view_of("kuhn_poker")
    assert view is not None
    sides = Sides(["person", "random"], side_names(view, 2), (0,))
    document = {"cards": [0, 2], "choices": choices}
    outcome = (-1.0, 1.0) if len(choices) == 3 else (1.0, -1.0)
    wanted = "You folded" if len(choices) == 3 else "Random (orange) folded"
    assert ending_of("kuhn_poker", view, document, outcome, 3, sides) == wanted


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"roles": 3, "units": None},
        {"roles": {"a": "base"}, "units": [{}]},
        {"score": ["x"]},
        {"agents": [1, {}]},
    ],
)
def test_a_document_of_any_form_has_a_sentence(document: dict[str, Any]) -> None:
    sides = Sides(["a", "b"], ("blue", "orange"))
    for game in ("capture_the_flag", "go", "matrix", "kuhn_poker", "gomoku", "other"):
        for renderer in RENDERERS:
            assert ending_of(game, View(renderer), document, (1.0, -1.0), 7, sides)
            assert fate_of(View(renderer), document, 0, 7, sides) == ""


def test_another_game_on_a_board_has_no_row() -> None:
    """Four in a row end no match of a game that is not about rows."""
    document = {"width": 8, "height": 8, "winner": 0, "cells": [0] * 64}
    text = ending_of(
        "reversi", View("board"), document, (1.0, -1.0), 60, Sides(["a", "b"], ("blue", "orange"))
    )
    assert text == "The match is over after 60 ticks: a (blue) won"


def test_who_falls_in_an_arena_is_told_why() -> None:
    view = view_of("pommerman")
    assert view is not None
    sides = Sides(["person", "simple"], ("blue", "orange"), (0,))
    document = {"agents": [{"seat": 0, "alive": False}, {"seat": 1, "alive": True}]}
    assert fate_of(view, document, 0, 49, sides) == "You were caught in flames at tick 49"
    assert fate_of(view, document, 1, 49, sides) == ""

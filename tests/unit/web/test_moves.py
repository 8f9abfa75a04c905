"""Moves read from view documents are those that were played."""

from __future__ import annotations

import json

import pytest

from ludus.games import replays, spec
from ludus.games.match import Match
from ludus.games.views import view_of
from ludus.web.from_replay import recording_of
from ludus.web.moves import choice_name, labels_of, move_name
from tests.cell_names import cell_named


def choice_of(text: str, game: str, document: dict[str, int], labels: tuple[str, ...]) -> int:
    """Return the choice that a move's name means."""
    view = view_of(game)
    assert view is not None
    columns, rows = document.get("width", 3), document.get("height", 3)
    cell = cell_named(text, columns, rows, view.coordinates)
    return cell if cell >= 0 else labels.index(text)


@pytest.mark.parametrize(
    ("game", "params", "bots"),
    [
        ("go", {"size": "7"}, ("tactical", "random")),
        ("go", {"size": "5", "suicide": "allowed", "max_moves": "300"}, ("random",)),
        ("gomoku", {"size": "9"}, ("pattern", "random")),
        ("connect_four", {}, ("tactical", "random")),
        ("tic_tac_toe", {}, ("random", "perfect")),
        ("kuhn_poker", {}, ("random",)),
        ("leduc_poker", {}, ("random",)),
    ],
)
def test_a_match_played_by_the_names_of_its_moves_is_the_same_match(
    game: str, params: dict[str, str], bots: tuple[str, ...]
) -> None:
    for seed in range(1, 5):
        data = replays.record(game, params, seed=seed, match=3, bots=bots)
        recording, labels = recording_of(data), spec(game, params).heads[0].labels
        documents = [json.loads(view) for view in recording.views]
        match = Match(game, params, seed=seed, match=3)
        for decision in recording.decisions:
            assert match.to_act == (decision.seat,)
            match.play(choice_of(decision.text, game, documents[0], labels))
        assert match.over
        assert match.view() == documents[-1]


def test_moves_are_read_where_the_page_samples_less_often() -> None:
    data = replays.record("tic_tac_toe", seed=5, bots=("random",))
    assert recording_of(data, every_ticks=3).decisions == recording_of(data).decisions


def test_a_resignation_is_named() -> None:
    params = {"size": "5", "resignation": "on"}
    labels = spec("go", params).heads[0].labels
    match = Match("go", params)
    match.play(12)
    before = match.view()
    match.play(labels.index("resign"))
    view = view_of("go")
    assert view is not None
    assert move_name(view, spec("go", params), before, match.view(), 1) == "resign"


def test_agents_are_named_by_what_they_did() -> None:
    params = {"max_steps": "120"}
    game, view = spec("pommerman", params), view_of("pommerman")
    assert view is not None
    same, blocked = 0, 0
    for seed in range(1, 6):
        data = replays.record("pommerman", params, seed=seed, bots=("uniform",))
        documents = {d["tick"]: d for d in map(json.loads, replays.frames(data))}
        for raw in replays.decisions(data):
            did = move_name(view, game, documents[raw.tick], documents[raw.tick + 1], raw.seat)
            chose = choice_name(raw.action, game, view, documents[0])
            assert did in (chose, "stop"), f"tick {raw.tick}: seat {raw.seat} chose {chose} and did {did}"
            same += did == chose
            blocked += did != chose
    assert same > 200
    assert blocked > 20


def test_documents_of_any_form_name_nothing() -> None:
    view, game = view_of("go"), spec("go", {})
    assert view is not None
    good = {"tick": 0, "width": 2, "height": 2, "cells": [-1, -1, -1, -1]}
    for bad in (
        {},
        {"width": 2, "height": 2, "cells": "text"},
        {**good, "cells": [0]},
        {**good, "width": "2"},
    ):
        assert move_name(view, game, good, bad, 0) == ""
        assert move_name(view, game, bad, good, 0) == ""
    arena = view_of("pommerman")
    assert arena is not None
    arenas: list[dict[str, object]] = [
        {}, {"agents": 3}, {"agents": [1]}, {"agents": [{"row": "1", "column": None}], "bombs": [7]},
    ]  # fmt: skip
    for bad in arenas:
        assert move_name(arena, game, bad, bad, 0) == ""


def test_cards_and_choices_of_a_table_have_names() -> None:
    def labels(game: str) -> tuple[str, ...]:
        return labels_of(view_of(game), spec(game, {}))

    assert labels("kuhn_poker") == ("J", "Q", "K")
    assert len(labels("leduc_poker")) == 6
    assert labels("matrix") == ("rock", "paper", "scissors")
    assert labels("go") == ()
    assert labels_of(None, spec("go", {})) == ()

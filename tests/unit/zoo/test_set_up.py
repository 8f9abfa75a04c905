"""Trained players on the set-up page: which games they play, under which parameters, and as what seat."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("starlette")

from ludus.web.serve.library import Library
from ludus.web.serve.matches import rules_of
from ludus.web.serve.players import PlayerError, seat_of
from ludus.web.serve.zoo import first_game, zoo_lines
from tests.unit.zoo.conftest import SmallZoo


def test_the_players_of_a_game_are_listed_from_easy_to_hard(small: SmallZoo) -> None:
    card, weights = small.text(), (small.folder / "nought.safetensors").read_bytes()
    for name, level in (("a-strong", 3), ("casual", 2)):
        (small.folder / f"{name}.toml").write_text(card.replace("level = 1", f"level = {level}"))
        (small.folder / f"{name}.safetensors").write_bytes(weights)
    lines = zoo_lines()
    assert list(lines) == ["tic_tac_toe"]
    found = [(line.name, line.word, line.strength) for line in lines["tic_tac_toe"]]
    assert found == [
        ("zoo:nought", "beginner", "Loses."),
        ("zoo:casual", "casual", "Loses."),
        ("zoo:a-strong", "strong", "Loses."),
    ]
    assert first_game(lines) == "tic_tac_toe"


def test_a_damaged_player_is_left_out(small: SmallZoo) -> None:
    (small.folder / "nought.safetensors").write_bytes(b"no weights")
    assert zoo_lines() == {}
    assert first_game({}) == ""


def test_a_page_seats_a_trained_player_by_its_name(small: SmallZoo, tmp_path: Path) -> None:
    library, rules = Library(tmp_path), rules_of("tic_tac_toe", {})
    assert seat_of("zoo:nought", rules, 1, library).kind == "network"
    searched = seat_of("zoo:nought+search:9", rules, 1, library)
    assert (searched.kind, searched.name) == ("search", "zoo:nought+search:9")
    for name in ("zoo:../nought", "zoo:nothing", "zoo:nought+search:999999999"):
        with pytest.raises(PlayerError):
            seat_of(name, rules, 1, library)

"""Kept players: the least recently used go first, and none that plays."""

from __future__ import annotations

import pytest

from ludus.rollouts.shelf import Shelf


def test_the_least_recently_used_go_first() -> None:
    shelf = Shelf(2)
    for player in ("a:1", "a:2"):
        assert shelf.put(player) == []
    assert shelf.follow({1: "a:1"}) == []  # used just now
    assert shelf.put("a:3") == ["a:2"]
    assert ["a:1" in shelf, "a:2" in shelf, "a:3" in shelf] == [True, False, True]


def test_players_that_play_or_are_about_to_stay_above_the_limit() -> None:
    shelf = Shelf(1)
    shelf.put("a:1")
    shelf.follow({1: "a:1"})
    assert shelf.put("a:2", keep=("a:2",)) == []
    assert shelf.put("a:3", keep=("a:2", "a:3")) == []
    assert len(shelf) == 3
    assert shelf.follow({1: "a:3"}) == ["a:1", "a:2"]


def test_an_unknown_player_changes_nothing() -> None:
    shelf = Shelf(1)
    shelf.put("a:1")
    with pytest.raises(KeyError, match="a:9"):
        shelf.follow({1: "a:1", 2: "a:9"})
    assert shelf.bound == {}

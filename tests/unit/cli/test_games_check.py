"""``ludus games check`` counts the matches of equal bots by seat."""

from __future__ import annotations

import json

import pytest

from ludus.cli import __main__ as cli


def test_equal_bots_are_counted_by_seat(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["games", "check", "tic_tac_toe", "--matches", "5"]
    assert cli.main([*command, "--json"]) == 0
    (random,) = (s for s in json.loads(capsys.readouterr().out)["seats"] if s["bot"] == "random")
    first, second = random["won"]
    assert first + second + random["drawn"] == 50
    share = random["first_seat"]
    assert share["rate"] == first / (first + second)
    assert share["low"] > 0.5, "the first player of tic-tac-toe wins more often"
    assert share["low"] < share["rate"] < share["high"] < 1.0
    assert cli.main(command) == 0
    page = capsys.readouterr().out
    assert f"seat 0 won {100 * share['rate']:.1f}% of {first + second}" in page
    assert f"(95% interval {100 * share['low']:.1f} to {100 * share['high']:.1f})" in page


@pytest.mark.slow
def test_the_seats_of_capture_the_flag_are_equal_in_clean(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["games", "check", "capture_the_flag", "--param", "ruleset=clean", "--matches", "10", "--json"]
    assert cli.main(command) == 0
    (simple,) = (s for s in json.loads(capsys.readouterr().out)["seats"] if s["bot"] == "simple")
    assert sum(simple["won"]) > 80
    assert simple["first_seat"]["low"] < 0.5 < simple["first_seat"]["high"]


def test_games_of_other_than_two_seats_have_no_count(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["games", "check", "pommerman", "--matches", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["seats"] == []

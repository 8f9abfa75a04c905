"""``ludus zoo list | show | check``: what they print, and their exit codes."""

from __future__ import annotations

import json

import pytest

from ludus.cli.__main__ import main
from ludus.storage import zoo
from tests.unit.zoo.conftest import SmallZoo

Capture = pytest.CaptureFixture[str]


def test_the_list_has_level_size_figure_and_strength(small: SmallZoo, capsys: Capture) -> None:
    assert main(["zoo", "list"]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["player", "game", "level"]
    for part in ("zoo:nought", "tic_tac_toe", "beginner", " kB", "value kept", "% [", "Loses."):
        assert part in row
    assert main(["zoo", "list", "--json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    size = (small.folder / "nought.safetensors").stat().st_size
    assert (document["name"], document["bytes"], document["level"]) == ("zoo:nought", size, 1)


def test_the_list_is_from_easy_to_hard(small: SmallZoo, capsys: Capture) -> None:
    for name, level in (("a-strong", 3), ("z-easy", 1), ("casual", 2)):
        text = small.text().replace("level = 1", f"level = {level}")
        (small.folder / f"{name}.toml").write_text(text)
    assert main(["zoo", "list"]) == 0
    names = [row.split()[0] for row in capsys.readouterr().out.splitlines()[1:]]
    assert names == ["zoo:nought", "zoo:z-easy", "zoo:casual", "zoo:a-strong"]


def test_a_card_is_shown(small: SmallZoo, capsys: Capture) -> None:
    assert main(["zoo", "show", "zoo:nought"]) == 0
    out = capsys.readouterr().out
    for part in ("Noughts", "Hardly.", "against perfect", "value kept", "ludus play zoo:nought", "1 of 3"):
        assert part in out


def test_a_true_card_passes(small: SmallZoo, capsys: Capture) -> None:
    assert main(["zoo", "check", "--matches", "30"]) == 0
    out = capsys.readouterr().out
    assert "the file is the card's" in out
    assert "value kept: agrees" in out
    assert "against perfect: agrees" in out
    assert out.splitlines()[-1] == "1 player checked, as their cards say"


def test_a_false_figure_fails(small: SmallZoo, capsys: Capture) -> None:
    value = zoo.card("nought").figures[0].value
    small.change(f"value = {value}", "value = 2.0")
    assert main(["zoo", "check", "nought", "--matches", "30", "--json"]) == 1
    (document,) = json.loads(capsys.readouterr().out)
    assert document["holds"] is False
    verdicts = {figure["figure"]: figure["verdict"] for figure in document["figures"]}
    assert verdicts == {"value kept": "differs", "against perfect": "agrees"}


def test_a_changed_file_fails(small: SmallZoo, capsys: Capture) -> None:
    with (small.folder / "nought.safetensors").open("ab") as file:
        file.write(b" ")
    assert main(["zoo", "check"]) == 1
    out = capsys.readouterr().out
    assert "was changed: sha256" in out
    assert "differ from their cards: zoo:nought" in out


def test_another_program_is_skipped_by_name(small: SmallZoo, capsys: Capture) -> None:
    small.change('against = "perfect"', 'against = "gnugo --level 10"')
    assert main(["zoo", "check", "--matches", "12"]) == 0
    assert "against gnugo --level 10: skipped: needs GNU Go" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["show", "check"])
def test_an_unknown_player_has_the_nearest_name(small: SmallZoo, command: str, capsys: Capture) -> None:
    assert main(["zoo", command, "nougth"]) == 2
    assert "did you mean zoo:nought?" in capsys.readouterr().err


def test_an_installation_without_players(small: SmallZoo, capsys: Capture) -> None:
    for path in small.folder.iterdir():
        path.unlink()
    assert main(["zoo", "list"]) == 0
    assert "no trained players" in capsys.readouterr().err
    assert main(["zoo", "check"]) == 2

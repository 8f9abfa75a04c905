"""Rulebooks from their author's side: every command takes the file, every mistake is reported once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ludus
from tests.system.test_command_line import ludus as command

SHIPPED = Path(ludus.__file__).parent / "games" / "rulebooks" / "extended.toml"


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Return ``mine.toml``, a copy of a shipped rulebook."""
    (tmp_path / "mine.toml").write_text(SHIPPED.read_text())
    return tmp_path / "mine.toml"


def complaints(book: Path, old: str, new: str) -> list[str]:
    """Return the message of `games check` after one change, without the summary on stdout; exit code 3."""
    text = book.read_text()
    assert text.count(old) >= 1, old
    book.write_text(text.replace(old, new, 1))
    done = command("games", "check", "mine.toml", "--matches", "1", cwd=book.parent)
    book.write_text(text)
    assert done.returncode == 3, done.stderr
    return done.stderr.splitlines()


def line_of(book: Path, text: str) -> int:
    return next(n for n, line in enumerate(book.read_text().splitlines(), 1) if line.startswith(text))


def test_commands_take_a_rulebook_that_games_check_accepts(book: Path) -> None:
    folder = book.parent
    assert command("games", "check", "mine.toml", "--matches", "1", cwd=folder).returncode == 0
    shown = json.loads(command("games", "show", "mine.toml", "--json", cwd=folder).stdout)
    assert shown["name"] == "rts"
    assert any("catapult" in label for label in shown["heads"][0]["labels"])
    words = ["eval", "rush", "--against", "swords", "--game", "./mine.toml", "--matches", "2", "--json"]
    played = command(*words, "--record", "kept", cwd=folder)
    assert played.returncode == 0, played.stderr
    result = json.loads(played.stdout)
    assert result["params"]["rulebook"].splitlines()[0].startswith("title=Extended MiniRTS")
    assert command("replay", "verify", *result["replays"], cwd=folder).returncode == 0
    bench = command("bench", "sim", "mine.toml", "--seconds", "0.1", "--json", cwd=folder)
    assert bench.returncode == 0, bench.stderr
    table = command("rate", "rush", "swords", "--game", "mine.toml", "--matches", "2", cwd=folder)
    assert table.returncode == 0, table.stderr


def test_a_mistake_in_a_rulebook_given_as_a_game_is_reported(book: Path) -> None:
    book.write_text(book.read_text().replace("side = 20", "side = 99"))
    for line in ("games show mine.toml", "eval rush --against swords --game mine.toml"):
        done = command(*line.split(), cwd=book.parent)
        assert (done.returncode, done.stdout) == (2, "")
        number = line_of(book, "side = ")
        assert done.stderr == f"mine.toml:{number}: map.side = '99': expected an integer in [10, 32]\n"
    done = command("games", "show", "nothing.toml", cwd=book.parent)
    assert (done.returncode, done.stderr) == (2, "nothing.toml: cannot be read (No such file or directory)\n")


def test_a_value_of_the_wrong_kind_is_a_mistake_with_its_line(book: Path) -> None:
    line = line_of(book, 'accepts = ["move", "attack"]')
    assert complaints(book, 'accepts = ["move", "attack"]', 'accepts = "move"') == [
        f'mine.toml:{line}: units.swordman.accepts = "move": expected a list, ["move"]'
    ]
    assert complaints(book, "side = 20", 'side = "20"') == [
        f'mine.toml:{line_of(book, "side")}: map.side = "20": expected an integer'
    ]
    assert complaints(book, "building = true", "building = 1") == [
        f"mine.toml:{line_of(book, 'building')}: units.resource.building = 1: expected true or false"
    ]


def test_an_unknown_key_has_its_line(book: Path) -> None:
    line = line_of(book, "side = ")
    assert complaints(book, "side = 20", "sied = 20") == [
        f"mine.toml:{line}: 'map.sied': unknown key (did you mean map.side?)"
    ]
    inline = line_of(book, "units.peasant = ")
    (message,) = complaints(book, "{ tries = 3", "{ trys = 3")
    assert message.startswith(f"mine.toml:{inline}: 'start.units.peasant.trys': unknown key")


def test_one_wrong_name_is_one_message(book: Path) -> None:
    (message,) = complaints(book, "[units.spearman]", "[units.spearmen]")
    assert "'spearman'" in message
    assert "(did you mean spearmen?) (the same in lines " in message
    (message,) = complaints(book, "[roles]", "[role]")
    line = line_of(book, "base = ")
    assert message.startswith(f"mine.toml:{line}: 'role.base': unknown key (did you mean roles.base?) ")
    text = book.read_text().replace("side = 20", "side = 99", 1)
    book.write_text(text)
    messages = complaints(book, "tick_limit = 20000", "tick_limit = -1")
    assert len(messages) == 2  # two mistakes

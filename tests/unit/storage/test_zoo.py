"""Players of the zoo: cards, names and checked files."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from ludus.storage import zoo
from ludus.storage.errors import CorruptFile, RunNotFound

CARD = """
title = "Nought by search"
game = "tic_tac_toe"
level = 2
sha256 = "{sha256}"
play = "search:20"
greedy = true
command = "ludus train tic_tac_toe-alphazero"
version = 7
record = "zoo-nought"

[[figures]]
against = "random"
matches = 200
value = 0.95
low = 0.91
high = 0.98
floor = 0.5
floor_name = "initial weights"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(zoo, "FOLDER", tmp_path)
    add(tmp_path, "nought")
    return tmp_path


def add(folder: Path, name: str, **changes: str) -> None:
    content = b"weights"
    text = CARD.format(sha256=hashlib.sha256(content).hexdigest())
    for old, new in changes.items():
        text = "\n".join(new if line.startswith(f"{old} =") else line for line in text.splitlines())
    (folder / f"{name}.toml").write_text(text)
    (folder / f"{name}.safetensors").write_bytes(content)


def test_a_card_says_what_the_player_is(folder: Path) -> None:
    (folder / "Not A Name.toml").write_text("")
    add(folder, "cross-easy")
    assert zoo.names() == ["cross-easy", "nought"]
    card = zoo.card("zoo:nought+search:9")
    assert card == zoo.card("nought")
    assert (card.game, card.level, card.figures[0].floor_name) == ("tic_tac_toe", 2, "initial weights")
    assert zoo.path_of("nought") == folder / "nought.safetensors"


def test_a_name_without_suffix_plays_as_the_card_says(folder: Path) -> None:
    assert zoo.played("zoo:nought") == ("zoo:nought+search:20", True)
    assert zoo.played("zoo:nought+search:9") == ("zoo:nought+search:9", False)
    assert zoo.played("runs/a@best") == ("runs/a@best", False)
    add(folder, "plain", play='play = ""', greedy="greedy = false")
    assert zoo.played("zoo:plain") == ("zoo:plain", False)


@pytest.mark.parametrize("name", ["zoo:nougth", "zoo:Nought", "zoo:nought@best"])
def test_an_unknown_name_has_the_nearest(folder: Path, name: str) -> None:
    with pytest.raises(RunNotFound, match=r"did you mean zoo:nought\?"):
        zoo.path_of(name)


@pytest.mark.parametrize("name", ["zoo:", "zoo:../../etc/passwd", "zoo:\x1b[2Jx", "zoo:" + "q" * 9000])
def test_names_of_no_player(folder: Path, name: str) -> None:
    with pytest.raises(RunNotFound, match="the zoo has: zoo:nought") as error:
        zoo.card(name)
    assert len(str(error.value)) < 400
    assert "\x1b" not in str(error.value)


def test_a_changed_file_is_refused(folder: Path) -> None:
    zoo.path_of("nought")
    (folder / "nought.safetensors").write_bytes(b"other weights")
    with pytest.raises(CorruptFile, match=r"was changed: sha256 [0-9a-f]{64}, its card has [0-9a-f]{64}"):
        zoo.path_of("nought")
    (folder / "nought.safetensors").unlink()
    with pytest.raises(RunNotFound, match="No such file"):
        zoo.path_of("nought")


def test_the_hash_is_checked_through_a_link(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other") / "file"
    other.write_bytes(b"evil")
    (folder / "nought.safetensors").unlink()
    (folder / "nought.safetensors").symlink_to(other)
    with pytest.raises(CorruptFile, match="was changed"):
        zoo.path_of("nought")


def test_the_hash_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zoo.path_of("nought")
    monkeypatch.setattr(zoo, "open_regular", None)
    zoo.path_of("nought")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("level", "level = 4"),
        ("sha256", 'sha256 = "0"'),
        ("play", 'play = "search:20\\nx"'),
        ("play", 'play = "plan:3"'),
        ("greedy", "greedy = 1"),
        ("record", 'record = "../secret"'),
        ("version", f"version = {10**30}"),
        ("value", "value = nan"),
        ("high", "high = inf"),
        ("title", 'titel = "x"'),
        ("command", f'command = "{"x" * 5000}"'),
        ("matches", f"{'a.' * 100}b = 1"),
    ],
)
def test_a_damaged_card_is_one_error(folder: Path, old: str, new: str) -> None:
    add(folder, "bad", **{old: new})
    with pytest.raises(CorruptFile, match=r"bad\.toml"):
        zoo.card("bad")


def test_a_card_that_is_no_file(folder: Path) -> None:
    (folder / "folder.toml").mkdir()
    with pytest.raises(CorruptFile, match=r"folder\.toml"):
        zoo.card("folder")
    (folder / "long.toml").write_bytes(b"#" * (zoo.MAX_CARD_BYTES + 1))
    with pytest.raises(CorruptFile, match="expected at most"):
        zoo.card("long")

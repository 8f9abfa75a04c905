"""Files of other editors: a byte order mark is no part of a preset, a sweep or a rulebook."""

from __future__ import annotations

from pathlib import Path

import pytest

import ludus
from ludus.cli.__main__ import main

PRESET = '[game]\nname = "tic_tac_toe"\n\n[[opponents]]\nname = "random"\n'
SWEEP = 'preset = "mine.toml"\nseeds = [1]\n[settings]\nrun.max_steps = 500\n'
RULES = (Path(ludus.__file__).parent / "games" / "rulebooks" / "extended.toml").read_text()
FILES = {"mine.toml": PRESET, "sweep.toml": SWEEP, "rules.toml": RULES}
COMMANDS = [
    ("mine.toml", ["train", "mine.toml", "--explain"]),
    ("mine.toml", ["presets", "show", "mine.toml"]),
    ("mine.toml", ["sweep", "sweep.toml", "--explain", "--run-dir", "s"]),
    ("sweep.toml", ["sweep", "sweep.toml", "--explain", "--run-dir", "s"]),
    ("rules.toml", ["games", "show", "rules.toml"]),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(("name", "words"), COMMANDS)
@pytest.mark.parametrize("line", ["\n", "\r\n"])
def test_a_byte_order_mark_changes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, words: list[str], line: str
) -> None:
    assert main(words) == 0
    plain = capsys.readouterr().out
    (folder / name).write_bytes(FILES[name].replace("\n", line).encode("utf-8-sig"))
    assert main(words) == 0
    assert capsys.readouterr().out == plain


@pytest.mark.parametrize(("name", "words"), COMMANDS)
@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_a_file_in_another_encoding_gives_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, words: list[str], encoding: str
) -> None:
    (folder / name).write_bytes(f"# é\n{FILES[name]}".encode(encoding, "replace"))
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    reason = "UTF-16 text" if encoding == "utf-16" else "not UTF-8 text (byte 2)"
    assert len(err.splitlines()) == 1
    assert f"{name}: {reason}" in err

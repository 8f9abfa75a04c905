"""``tools/golden.py`` compares built-in games only and shows where long lines differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.games import list_games
from ludus.games.registry import BUILT_IN
from tools import gen_docs, golden


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install ``examples/custom_game`` as pip does, with a module that must not be loaded here."""
    metadata = tmp_path / "ludus_foragers-1.0.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: ludus-foragers\nVersion: 1.0.0\n")
    (metadata / "entry_points.txt").write_text("[ludus.games]\nforagers = foragers\n")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.slow
@pytest.mark.usefixtures("installed")
def test_an_installed_game_changes_no_pin_and_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "foragers" in list_games()
    assert "foragers" not in BUILT_IN
    assert {name.removesuffix(".txt") for name in golden.texts()} == {*BUILT_IN, "signature"}
    assert golden.differences() == []
    monkeypatch.setattr("sys.argv", ["gen_docs", "--check"])
    assert gen_docs.main() == 0


@pytest.mark.slow
def test_a_difference_behind_a_long_beginning_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = "minirts"
    texts = golden.texts()
    lines = texts[f"{game}.txt"].splitlines(keepends=True)
    number, longest = max(enumerate(lines), key=lambda pair: len(pair[1]))
    assert len(longest) > 400
    lines[number] = longest[:350] + "\u00a7" + longest[351:]
    for name, text in texts.items():
        (tmp_path / name).write_text("".join(lines) if name == f"{game}.txt" else text, "utf-8")
    monkeypatch.setattr(golden, "FOLDER", tmp_path)
    (difference,) = golden.differences()
    assert difference.startswith(f"{tmp_path}/{game}.txt:{number + 1}: column 351: pinned ...")
    pinned, found = difference.split(", found ")
    assert longest[300:350] + "\u00a7" in pinned
    assert longest[300:360] in found
    assert len(difference) < 800


def test_a_longer_or_shorter_line_is_a_difference_too() -> None:
    assert golden.parted("abc", "abcd") == "column 4: pinned 'abc', found 'abcd'"
    assert golden.parted("x", "") == "column 1: pinned 'x', found ''"

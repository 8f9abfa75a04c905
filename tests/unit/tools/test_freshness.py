"""Tests stop where the package under test differs from the sources."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools import freshness
from tools.sources_digest import sources_digest


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Return a package of two modules, and an installed copy of it."""
    monkeypatch.setattr(freshness, "INSTALLED_DATA", {})
    sources, package = tmp_path / "src" / "ludus", tmp_path / "site" / "ludus"
    (sources / "algorithms").mkdir(parents=True)
    (sources / "__init__.py").write_text("")
    (sources / "algorithms" / "returns.py").write_text("sign = 1\n")
    shutil.copytree(sources, package)
    return sources, package


def test_an_equal_copy_is_fresh(folders: tuple[Path, Path]) -> None:
    sources, package = folders
    assert freshness.stale(package, sources) == ""
    assert freshness.stale(sources, sources) == ""


@pytest.mark.parametrize("change", ["edited", "new", "removed from the copy"])
def test_a_copy_that_differs_is_named_with_a_hint(folders: tuple[Path, Path], change: str) -> None:
    sources, package = folders
    if change == "edited":
        (sources / "algorithms" / "returns.py").write_text("sign = -1\n")
    elif change == "new":
        (sources / "algorithms" / "returns.py").rename(sources / "algorithms" / "more.py")
    else:
        (package / "algorithms" / "returns.py").unlink()
    message = freshness.stale(package, sources)
    name = "more.py" if change == "new" else "returns.py"
    assert message.endswith(f"src/ludus/algorithms/{name}: {freshness.HINT}")
    assert "\n" not in message


def test_a_copy_with_other_presets_is_named(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources, package = folders
    presets = tmp_path / "presets"
    presets.mkdir()
    (presets / "minirts.toml").write_text("[run]\n")
    monkeypatch.setattr(freshness, "INSTALLED_DATA", {"data/presets": presets})
    assert "presets/minirts.toml" in freshness.stale(package, sources)


def test_a_core_of_other_sources_is_named(folders: tuple[Path, Path], tmp_path: Path) -> None:
    sources, package = folders
    cpp = tmp_path / "cpp"
    (cpp / "games").mkdir(parents=True)
    (cpp / "games" / "rule.cpp").write_text("int komi = 7;\n")
    assert "was not built from cpp/" in freshness.stale(package, sources, cpp)


def test_tests_and_tools_are_no_part_of_the_core(tmp_path: Path) -> None:
    for folder in ("games", "tests", "tools"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.cpp").write_text("int a;\n")
    before = sources_digest(tmp_path)
    (tmp_path / "tests" / "a.cpp").write_text("int b;\n")
    (tmp_path / "tools" / "a.cpp").unlink()
    assert sources_digest(tmp_path) == before
    (tmp_path / "games" / "a.cpp").write_text("int b;\n")
    assert sources_digest(tmp_path) != before

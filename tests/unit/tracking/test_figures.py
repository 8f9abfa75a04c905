"""Figures for papers: texts, ticks and units in SVG and PDF, no ground, whatever names they show."""

from __future__ import annotations

import re
import shutil
import zlib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ludus.reporting.paper_figure import PaperLine, paper_figure
from ludus.sweep.report import read_report, write_sweep_report

pytest.importorskip("matplotlib")
SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: bytes) -> list[str]:
    return ["".join(e.itertext()).strip() for e in ElementTree.fromstring(svg.decode()).iter(f"{SVG}text")]


def line(name: str, seeds: int = 2) -> PaperLine:
    band = ((0.1, 0.5), (0.3, 0.9)) if seeds > 1 else ()
    return PaperLine(name, (0, 20_000), (0.2, 0.7), *band)


LINES = [line("a"), line("b", 1)]


@pytest.fixture(scope="module")
def made() -> dict[str, bytes]:
    return paper_figure(LINES, "win rate", "decisions of the policy", rates=True)


def test_axes_have_titles_ticks_and_units(made: dict[str, bytes]) -> None:
    found = texts(made[".svg"])
    assert {"win rate", "decisions of the policy", "0%", "100%", "10k", "20k", "a", "b"} <= set(found)


def test_nothing_has_a_ground(made: dict[str, bytes]) -> None:
    assert b"fill: #ffffff" not in made[".svg"]
    parts = re.findall(rb"stream\n(.*?)\nendstream", made[".pdf"], re.DOTALL)
    streams = [zlib.decompress(part) for part in parts if part[:1] == b"x"]
    assert any(b"0.878431" in stream or b" RG\n" in stream for stream in streams)
    assert not any(re.search(rb"\b1 1 1 rg\b|\b1 g\b", stream) for stream in streams)


def test_the_same_points_make_the_same_bytes(made: dict[str, bytes]) -> None:
    assert paper_figure(LINES, "win rate", "decisions of the policy", rates=True) == made
    assert made[".pdf"].startswith(b"%PDF")


def test_any_name_can_be_shown() -> None:
    shown = ["$\\frac{", "_hidden", "<script>alert(1)</script>", "中文 and α"]
    names = [*shown, "a" * 500, "\x1b[31m", "", "other"]
    svg = paper_figure([line(name) for name in names], "$x_{", "decisions", rates=False)[".svg"]
    found = texts(svg)
    assert {*shown, "other", "$x_{"} <= set(found)
    assert not any("%" in text for text in found)
    assert b"<script" not in svg


def test_many_lines_have_several_panels() -> None:
    made = paper_figure([line(f"cell {k}") for k in range(11)], "win rate", "decisions", rates=True)
    found = texts(made[".svg"])
    assert found.count("win rate") == 2
    assert all(f"cell {k}" in found for k in range(11))


def test_a_report_has_one_figure_a_game(trained: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(trained, tmp_path / "other"))
    config = other / "config.toml"
    config.write_text(config.read_text().replace('name = "tic_tac_toe"', 'name = "other_game"'))
    report = read_report([trained, other])
    names = {path.name for path in write_sweep_report(report, tmp_path / "out")}
    assert {f"curves-{g}.{end}" for g in ("tic-tac-toe", "other-game") for end in ("svg", "pdf")} <= names
    drawn = (tmp_path / "out" / "curves-other-game.svg").read_bytes()
    assert "other_game: win rate" in texts(drawn)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Matplotlib" not in page
    assert page.count("<figure") == 2

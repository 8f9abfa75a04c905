"""The page of a position in a browser: it opens there, with the candidates on the board and in a table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ludus.cli.__main__ import main
from tests.web.browser import Browser

TABLE = """[...document.querySelectorAll('.candidates tbody tr')]
.map(r => [...r.cells].map(c => c.textContent))"""
BARS = """[...document.querySelectorAll('.thought .bars li')]
.map(li => ['.bar-label', '.bar-text'].map(name => li.querySelector(name).textContent))"""


@pytest.mark.parametrize(("move", "tick", "last"), [("2", 1, 3), ("4", 3, 3)])
def test_the_page_opens_at_the_position(
    browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str], move: str, tick: int, last: int
) -> None:
    record, page = tmp_path / "g.sgf", tmp_path / "page.html"
    record.write_bytes(b"(;GM[1]SZ[5]KM[0.5]PB[Anna]PW[Bob];B[cc];W[cb];B[bc])")
    words = [
        "search",
        str(record),
        "--move",
        move,
        "--by",
        "mcts:200",
        "--top",
        "4",
        "-o",
        str(page),
        "--json",
    ]
    assert main(words) == 0
    (opinion,) = json.loads(capsys.readouterr().out)["opinions"]
    browser.open(page)
    assert browser.evaluate("ludus.tick") == tick
    assert browser.evaluate("ludus.match.lastTick") == last
    assert browser.evaluate("document.getElementById('banner').classList.contains('shown')") is False
    assert browser.evaluate("ludus.drawn.overlay ?? ludus.thoughts.overlay") > 0
    rows = browser.evaluate(TABLE)
    assert [row[:2] for row in rows] == [[c["mark"], c["move"]] for c in opinion["candidates"]]
    shown = dict(browser.evaluate(BARS))
    for c in opinion["candidates"]:
        assert shown[c["move"]].startswith(f"{c['visits']} ")
    assert browser.evaluate("document.querySelector('.candidates h2').textContent").startswith("mcts:200: ")
    browser.evaluate("ludus.seek(0)")
    browser.evaluate(f"ludus.seek({last})")
    over = browser.evaluate("document.getElementById('banner').classList.contains('shown')")
    assert over is (tick != last)

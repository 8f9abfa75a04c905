"""Pommerman's board in a real browser, from recorded matches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ludus.games import replays
from ludus.web.from_replay import recording_of
from ludus.web.replay_page import to_html
from tests.web.browser import Browser

TICK = 40


@pytest.mark.parametrize("team", [True, False])
def test_the_board_shows_every_item(browser: Browser, tmp_path: Path, team: bool) -> None:
    params = {"mode": "team", "fog": "1"} if team else {}
    replay = replays.record("pommerman", params, seed=3, bots=("simple",) * 4)
    view = json.loads(replays.frames(replay)[TICK])
    path = tmp_path / "match.html"
    path.write_text(to_html(replay), encoding="utf-8")
    browser.open(path, f"tick={TICK}")
    drawn = browser.evaluate("ludus.drawn")
    walls = sum(cell in (1, 2) for row in view["board"] for cell in row)
    assert drawn["walls"] == walls
    assert drawn["bombs"] == len(view["bombs"])
    assert drawn["flames"] == len(view["flames"])
    assert drawn["agents"] == sum(a["alive"] for a in view["agents"])
    numbers = browser.evaluate("[...document.querySelectorAll('#seats .numbers')].map(d => d.textContent)")
    assert len(numbers) == 4
    for agent, text in zip(view["agents"], numbers, strict=True):
        assert f"bombs{agent['ammo']}" in text
        assert f"range{agent['blast'] - 1}" in text
    assert browser.evaluate("document.getElementById('fog').hidden") is not team
    if team:
        browser.open(path, f"tick={TICK}&fog=2")
        own = view["agents"][2]
        seen = [
            b for b in view["bombs"] if max(abs(b["row"] - own["row"]), abs(b["column"] - own["column"])) <= 4
        ]
        assert browser.evaluate("ludus.drawn.bombs") == len(seen)
        assert browser.evaluate("ludus.drawn.walls") < walls
    browser.press("End")
    assert browser.evaluate("ludus.drawn.agents") < 4


def test_the_title_shows_the_teams() -> None:
    def title(params: dict[str, str], *bots: str) -> str:
        return recording_of(replays.record("pommerman", params, seed=3, bots=bots)).title

    assert title({}, "simple", "noop", "noop", "noop") == "Pommerman: simple against 3 times noop"
    assert title({"mode": "team"}, "simple", "noop", "random", "noop") == (
        "Pommerman: simple and random against noop and noop"
    )
    assert title({"mode": "one_vs_one"}, "simple", "noop") == "Pommerman: simple against noop"

"""Replay pages on a phone and in both themes: no horizontal bar, room for a finger, text that can be read."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from ludus.games import replays
from ludus.web.replay_page import MODULES, asset, to_html
from tests.web.browser import Browser

# Targets of a finger smaller than 44 pixels in CSS.
SMALL = """[...document.querySelectorAll('button, .controls label, #timeline, .plot, .speed input, a')]
.filter(n => n.offsetParent && !n.closest('dialog:not([open])')).map(n => [n, n.getBoundingClientRect()])
.filter(([n, box]) => box.width < 44 || box.height < 44)
.map(([n, box]) => [n.id || n.className || n.textContent, box.width, box.height])"""
# Texts with a contrast (WCAG 2) below 4.5 to what is behind them; transparency counts.
FAINT = """(() => { const found = [], numbers = text => text.match(/[\\d.]+/g).map(Number);
const part = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
for (const node of document.querySelectorAll('body *')) {
  if (!node.offsetParent || node.closest('.sr-only, :disabled, dialog:not([open])')) continue;
  if (![...node.childNodes].some(child => child.nodeType === 3 && child.data.trim())) continue;
  let opacity = 1, back = null;
  for (let at = node; at; at = at.parentElement) {
    const style = getComputedStyle(at), colour = numbers(style.backgroundColor);
    if (at.id !== 'banner') opacity *= Number(style.opacity);
    if (!back && (colour.length < 4 || colour[3] === 1)) back = colour;
  }
  const text = numbers(getComputedStyle(node).color).map((v, i) => v * opacity + back[i] * (1 - opacity));
  const [high, low] = [light(text), light(back)].sort((a, b) => b - a);
  const contrast = (high + 0.05) / (low + 0.05);
  if (contrast < 4.5) found.push([node.id || node.className || node.tagName, node.textContent, contrast]);
} return found; })()"""
MATCHES: dict[str, tuple[str, dict[str, str], int]] = {
    "go": ("random", {"size": "19", "max_moves": "30"}, 0),
    "connect_four": ("random", {}, 0),
    "tic_tac_toe": ("random", {}, 0),
    "pommerman": ("simple", {"fog": "1", "max_steps": "60"}, 0),
    "leduc_poker": ("random", {}, 0),
    "minirts": ("simple", {"tick_limit": "400"}, 40),
}


def page_of(game: str, folder: Path) -> Path:
    bot, params, every = MATCHES[game]
    path = folder / f"{game}.html"
    path.write_text(to_html(replays.record(game, params, seed=3, bots=(bot,)), every), encoding="utf-8")
    return path


@pytest.mark.parametrize("game", MATCHES)
def test_a_page_fits_a_phone_and_a_finger_and_can_be_read(
    browser: Browser, tmp_path: Path, game: str
) -> None:
    path = page_of(game, tmp_path)
    for dark in (False, True):
        browser.open(path, "tick=5", width=390, height=844, dark=dark)
        assert browser.evaluate("document.documentElement.scrollWidth") <= 390
        assert browser.evaluate(SMALL) == []
        assert browser.evaluate(FAINT) == []
        browser.press("?")
        assert browser.evaluate("document.getElementById('help').open") is True
        assert browser.evaluate(FAINT) == []


def test_small_targets_and_faint_texts_are_found(browser: Browser, tmp_path: Path) -> None:
    browser.open(page_of("tic_tac_toe", tmp_path), "tick=5", width=390, height=844)
    browser.evaluate("document.getElementById('play').style.cssText = 'min-height: 0; height: 43px'")
    browser.evaluate("document.getElementById('title').style.opacity = 0.4")
    assert [row[0] for row in browser.evaluate(SMALL)] == ["play"]
    assert [row[0] for row in browser.evaluate(FAINT)] == ["title"]


@pytest.mark.parametrize("game", ["connect_four", "minirts"])
def test_the_help_lists_only_keys_that_do_something(browser: Browser, tmp_path: Path, game: str) -> None:
    browser.open(page_of(game, tmp_path), width=390, height=844)
    text = browser.evaluate("document.getElementById('help').textContent")
    assert ("fog:" in text, "hit points" in text) == ((True, True) if game == "minirts" else (False, False))
    assert "On the timeline" in text


def test_a_module_imports_only_what_another_one_exports() -> None:
    """The page joins its modules; the live page loads them one by one."""
    exported = {
        name: set(re.findall(r"^export (?:async )?(?:function|class|const) (\w+)", asset(name), re.MULTILINE))
        for name in MODULES
    }
    for name in MODULES:
        for names, source in re.findall(
            r"^import \{([^}]*)\} from \"\./([^\"]+)\";", asset(name), re.MULTILINE
        ):
            missing = {part.strip() for part in names.split(",") if part.strip()} - exported[source]
            assert not missing, f"{name} imports {missing} from {source}"
            assert MODULES.index(source) < MODULES.index(name)


def test_modules_that_are_joined_have_no_name_in_common() -> None:
    declared = r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)"
    names = [found for name in MODULES for found in re.findall(declared, asset(name), re.MULTILINE)]
    assert [name for name in dict.fromkeys(names) if names.count(name) > 1] == []


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Write nothing."""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """Serve the modules and a page that imports the drawings, as a live page does."""
    for name in (*MODULES, "style.css"):
        (tmp_path / name).write_text(
            resources.files("ludus.web").joinpath("static", "replay", name).read_text("utf-8")
        )
    (tmp_path / "live.html").write_text(
        """<!doctype html><link rel="icon" href="data:,"><link rel="stylesheet" href="style.css">
        <canvas id="map"></canvas><script type="module">
        import { drawingOf } from "./board_views.js"; import { readPalette } from "./palette.js";
        const canvas = document.getElementById("map"); canvas.width = canvas.height = 300;
        window.draw = (match) => { const view = drawingOf(canvas, match, readPalette(2));
          view.draw({ tick: match.ticks.at(-1), fog: -1 });
          return { ...view.drawn, name: view.nameOf?.(0) ?? "" }; };
        window.loaded = true;</script>"""
    )
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/live.html"
        server.shutdown()


def test_a_live_page_draws_with_the_same_modules(
    session_browser: Browser, served: str, tmp_path: Path
) -> None:
    blank = tmp_path / "blank.html"
    blank.write_text('<link rel="icon" href="data:,">')
    session_browser.open(blank, ready="true")
    session_browser.call("Page.navigate", url=served)
    session_browser.wait("window.loaded === true")

    def drawn(renderer: str, document: dict[str, object], **view: str) -> dict[str, Any]:
        match = {"renderer": renderer, "views": [document], "ticks": [0], "seats": ["a", "b"], "view": view}
        answer: dict[str, Any] = session_browser.evaluate(f"draw({json.dumps(match)})")
        return answer

    board: dict[str, object] = {"tick": 0, "width": 3, "height": 3, "cells": [0, 1, 1, *[-1] * 6], "last": 2}
    shown = drawn("board", board, lines="crossings", coordinates="go")
    assert (shown["stones"], shown["last"], shown["crossings"], shown["name"]) == ([1, 2], 2, 9, "A3")
    assert drawn("board", board)["name"] == ""
    assert drawn("noughts", board, coordinates="chess")["marks"] == 3
    arena: dict[str, object] = {
        "tick": 0,
        "size": 2,
        "board": [[1, 0], [0, 2]],
        "agents": [{"seat": 1, "row": 0, "column": 1, "alive": True}],
    }
    assert (drawn("arena", arena)["walls"], drawn("arena", arena)["agents"]) == (2, 1)
    assert drawn("cards", {"tick": 0, "cards": [1, -1]})["open"] == 1
    assert session_browser.errors == []

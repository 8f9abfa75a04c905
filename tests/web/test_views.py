"""Views: the names that games declare, that are shipped and that the page draws are the same."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from ludus.flow.process.extensions import ExtensionError
from ludus.games import replays, views
from ludus.games.views import BOARD, MAP, View, register_view, view_of
from ludus.native import core
from ludus.web.from_replay import recording_of
from ludus.web.recording import Recording, ViewError
from ludus.web.renderers import RENDERERS, renderer_of
from ludus.web.replay_page import asset, render, to_html
from tests.web.browser import Browser

ROOT = Path(__file__).resolve().parents[2]
BOARD_DOCUMENT = b'{"tick": 0, "width": 3, "height": 2, "cells": [0, 1, -1, -2, -3, 1]}'


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drop the views that a test registers."""
    monkeypatch.setattr(views._VIEWS, "_registered", {})
    monkeypatch.setattr(views._VIEWS, "_found", {})


def declared(folder: Path, monkeypatch: pytest.MonkeyPatch, entry: str, code: str = "") -> None:
    """Write an installed distribution ``skirmish 2.0`` that declares views."""
    about = folder / "skirmish-2.0.dist-info"
    about.mkdir()
    (folder / "skirmish_views.py").write_text(code)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: skirmish\nVersion: 2.0\n")
    (about / "entry_points.txt").write_text(f"[ludus.views]\n{entry}\n")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "skirmish_views", raising=False)


def test_the_page_draws_every_declarable_view() -> None:
    (table,) = re.findall(r"const RENDERERS = \{(.*?)\};", asset("board_views.js"), re.DOTALL)
    drawn = re.findall(r"(\w+):", table)
    assert set(drawn) == set(RENDERERS) == set(views.RENDERERS)


@pytest.mark.parametrize("game", core.game_names())
def test_every_built_in_game_is_drawn(game: str) -> None:
    recording = recording_of(replays.record(game, seed=2, bots=("random",)))
    view = view_of(game)
    assert view is not None
    assert recording.renderer == view.renderer
    assert view.renderer != "document"
    render(recording)


def test_pages_and_policies_name_no_game() -> None:
    # A matrix is a word of algebra, too.
    long = [name for name in core.game_names() if len(name) > 3 and name != "matrix"]
    names = re.compile("|".join((*long, *(f'"{name}"' for name in core.game_names()))))
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for package in ("web", "policies")
        for path in (ROOT / "src" / "ludus" / package).rglob("*")
        if path.suffix in (".py", ".js", ".html", ".css")
        for word in names.findall(path.read_text("utf-8"))
    ]
    assert found == []


def test_speed_one_is_the_games_declared_pace() -> None:
    def pace(game: str) -> float:
        return recording_of(replays.record(game, seed=2, bots=("random",))).ticks_per_s

    assert (pace("pommerman"), pace("connect_four"), pace("tower_defense")) == (6.0, 1.0, 50.0)


def test_a_package_chooses_a_shipped_drawing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declared(tmp_path, monkeypatch, "skirmish = ludus.games.views:BOARD")
    assert view_of("skirmish") == BOARD
    assert renderer_of("skirmish", view_of("skirmish"), BOARD_DOCUMENT) == "board"
    assert view_of("another") is None
    assert renderer_of("another", None, BOARD_DOCUMENT) == "document"
    assert renderer_of("another", None, b'{"map": {}, "units": []}') == "map"
    with pytest.raises(ViewError, match="skirmish declares the view board, whose documents have width"):
        renderer_of("skirmish", BOARD, b'{"tick": 0, "width": 3, "height": 3, "cells": [0]}')
    with pytest.raises(ViewError, match="declares the view map"):
        renderer_of("skirmish", MAP, b'{"tick": 0, "cells": "text"}')


V = "from ludus.games.views import View\nV = View("


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("from ludus.games.views import View\nV = View('bord')", r"'bord' \(did you mean board\?\)"),
        ("from ludus.games.views import View\nV = View('board', -1.0)", "ticks_per_s = -1.0, expected 0 to"),
        (V + "'board', input='cell')", r"unknown input 'cell' \(did you mean cells\?\)"),
        (V + "'board', lines='crosses')", "unknown lines 'crosses'"),
        (V + "'board', coordinates='Go')", r"unknown coordinates 'Go' \(did you mean go\?\)"),
        (
            V + "'map', hide='maps')",
            r"'maps', expected a cut or module:function \(did you mean map\?\)",
        ),
        (V + "'map', hide='a.b:c; import os')", "expected a cut or module:function"),
        (V + "'arena', input='keys')", "input = 'keys' without keys"),
        (V + "'arena', input='keys', keys=(('a', 0), ('a', 1)))", "a key twice"),
        (V + "'arena', input='keys', keys=(('a', -1),))", "the choice -1 for the key 'a', expected 0 to"),
        (V + "'arena', input='keys', keys=(('', 1),))", "the key '', expected a KeyboardEvent.key"),
        (V + "'arena', input='keys', keys=('ab',))", "keys with 'ab', expected pairs"),
        (V + "'board', ownership='a b')", "ownership = 'a b', expected module:function"),
        (V + "'board', record='a.b:c')", "record or record_suffix, expected both"),
        ("V = 'board'", "is str, expected a ludus.games.views.View"),
        ("import no_such_library", "ModuleNotFoundError"),
    ],
)
def test_a_broken_view_is_one_error_with_the_name_of_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, message: str
) -> None:
    declared(tmp_path, monkeypatch, "skirmish = skirmish_views:V", code)
    with pytest.raises(ExtensionError, match=rf"'skirmish'.*skirmish_views:V of skirmish 2\.0.*{message}"):
        view_of("skirmish")


def test_a_program_registers_a_view() -> None:
    register_view("skirmish", View("board", ticks_per_s=2.0))
    found = view_of("skirmish")
    assert found is not None
    assert found.ticks_per_s == 2.0
    with pytest.raises(ExtensionError, match="that comes with Ludus"):
        register_view("minirts", BOARD)


def test_a_board_shows_its_cells(browser: Browser, tmp_path: Path) -> None:
    cells = json.loads(BOARD_DOCUMENT)["cells"]
    later = json.dumps({"tick": 1, "width": 3, "height": 2, "cells": [0, *cells[1:4], 0, 1]}).encode()
    recording = Recording(
        game="skirmish", title="S", renderer="board", seats=("a", "b"), views=[BOARD_DOCUMENT, later]
    )
    path = tmp_path / "board.html"
    path.write_text(render(recording), encoding="utf-8")
    browser.open(path)
    assert browser.evaluate("ludus.drawn.marks") == 3
    browser.press("End")
    assert browser.evaluate("ludus.drawn.marks") == 4
    canvas = "document.getElementById('map')"
    assert browser.evaluate(f"Math.round({canvas}.width / {canvas}.height * 10)") == 15


def test_a_match_of_connect_four_is_a_board(browser: Browser, tmp_path: Path) -> None:
    replay = replays.record("connect_four", seed=2, bots=("random",))
    path = tmp_path / "match.html"
    path.write_text(to_html(replay), encoding="utf-8")
    browser.open(path)
    browser.press("End")
    last = json.loads(replays.frames(replay)[-1])
    assert browser.evaluate("ludus.drawn.marks") == sum(c >= 0 for c in last["cells"])

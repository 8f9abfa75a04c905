"""Boards, arenas and tables in a real browser: all that the documents hold is drawn."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ludus.games import replays
from ludus.games.coordinates import cell_name
from ludus.web.from_replay import recording_of
from ludus.web.recording import Recording, SeatDecision
from ludus.web.replay_page import render
from tests.cell_names import cell_named
from tests.web.browser import Browser
from tests.web.test_replay_page import HOSTILE

NUMBERS = "[...document.querySelectorAll('#seats .numbers')].map(d => Object.fromEntries([...d.children].map(\
r => [r.children[0].textContent, r.children[1].textContent])))"
# Red, green and blue at the middles of cells. From a copy: Chromium warns of slow reading.
COLOURS = """(cells => { const map = document.getElementById('map'), copy = document.createElement('canvas');
copy.width = map.width; copy.height = map.height; const c = copy.getContext('2d', {willReadFrequently: true});
c.drawImage(map, 0, 0);
return cells.map(([x, y, dy]) => { const [px, py] = ludus.view.pointOf(x, y);
const size = ludus.view.pointOf(1, 0)[0] - ludus.view.pointOf(0, 0)[0];
return [...c.getImageData(Math.round(px), Math.round(py + dy * size), 1, 1).data].slice(0, 3); }); })"""


def opened(
    browser: Browser,
    folder: Path,
    recording: Recording,
    fragment: str = "",
    **how: Any,  # noqa: ANN401
) -> None:
    path = folder / "match.html"
    path.write_text(render(recording), encoding="utf-8")
    browser.open(path, fragment, **how)


def go(size: int, moves: int, bot: str = "tactical") -> Recording:
    params = {"size": str(size), "max_moves": str(moves)}
    return recording_of(replays.record("go", params, seed=3, bots=(bot,)))


def made(cells: list[int], width: int, height: int, **fields: object) -> Recording:
    """Return a match of one moment on a board with crossings."""
    document = {"tick": 0, "width": width, "height": height, "cells": cells, **fields}
    return Recording(
        game="x", title="X", renderer="board", seats=("a", "b"), views=[json.dumps(document)],
        lines="crossings", coordinates="go",
    )  # fmt: skip


def test_a_match_of_go_shows_all_that_its_documents_hold(browser: Browser, tmp_path: Path) -> None:
    recording = go(9, 100)
    views = [json.loads(view) for view in recording.views]
    opened(browser, tmp_path, recording)
    taken = next(v["tick"] for v in views if sum(v["captured"]) > 0)
    for view in (views[0], views[7], views[taken], views[60], views[-1]):
        browser.evaluate(f"ludus.seek({view['tick']})")
        drawn = browser.evaluate("ludus.drawn")
        assert (drawn["crossings"], drawn["stars"], drawn["labels"]) == (81, 5, 36)
        assert drawn["stones"] == [view["cells"].count(0), view["cells"].count(1)]
        assert drawn["last"] == (view["last"] if 0 <= view["last"] < 81 else -1)
        assert drawn["ko"] == view["ko"]
        black, white = browser.evaluate(NUMBERS)
        assert (black["stones"], white["stones"]) == ("black", "white")
        assert [int(black["captured"]), int(white["captured"])] == view["captured"]
        assert white["komi"] == "7.5"
        assert (
            float(black["margin"].replace("−", "-"))
            == view["margin"]
            == -float(white["margin"].replace("−", "-"))
        )
    assert browser.evaluate("ludus.timeline.curve") == "margin"
    start = next(i for i, v in enumerate(views) if {0, 1} <= set(v["cells"]))
    assert browser.evaluate("ludus.timeline.top") == max(abs(v["margin"]) for v in views[start:])


def test_a_forbidden_point_is_marked(browser: Browser, tmp_path: Path) -> None:
    cells = [-1] * 25
    opened(browser, tmp_path, made(cells, 5, 5, ko=12, komi=6.5, last=-1))
    assert browser.evaluate("ludus.drawn.ko") == 12


def test_the_result_of_a_match_of_go_is_on_the_banner(browser: Browser, tmp_path: Path) -> None:
    recording = go(5, 60, "random")
    margin = json.loads(list(recording.views)[-1])["margin"]
    opened(browser, tmp_path, recording, "tick=999")
    assert f"by {abs(margin):g} point" in browser.evaluate("document.getElementById('banner').textContent")


@pytest.mark.parametrize(
    ("size", "stars"),
    [
        (19, {"D16", "K16", "Q16", "D10", "K10", "Q10", "D4", "K4", "Q4"}),
        (13, {"D10", "K10", "G7", "D4", "K4"}),
        (9, {"C7", "G7", "E5", "C3", "G3"}),
        (7, {"C5", "E5", "D4", "C3", "E3"}),
        (8, {"C6", "F6", "C3", "F3"}),
        (5, {"C3"}),
        (4, set()),
    ],
)
def test_star_points_are_where_players_expect_them(
    browser: Browser, tmp_path: Path, size: int, stars: set[str]
) -> None:
    from ludus.web.board_painter import star_points

    cells = [row * size + column for column, row in star_points(size, size)]
    assert {cell_name(cell, size, size, "go") for cell in cells} == stars
    opened(browser, tmp_path, made([-1] * size * size, size, size))
    assert browser.evaluate("ludus.drawn.stars") == len(stars)
    assert browser.evaluate("ludus.drawn.labels") == 4 * size
    points = [[cell % size, cell // size, 0] for cell in cells]
    plain = browser.evaluate(COLOURS + f"({json.dumps([[0.5, 0.5, 0]])})")[0]
    for star in browser.evaluate(COLOURS + f"({json.dumps(points)})"):
        assert sum(star) + 100 < sum(plain)  # darker than the wood


@pytest.mark.parametrize("dark", [False, True])
def test_stones_are_black_and_white_in_both_themes(browser: Browser, tmp_path: Path, dark: bool) -> None:
    opened(browser, tmp_path, made([0, 1, -1, -1], 2, 2, last=-1), dark=dark)
    black, white, wood = (
        sum(c) / 3 for c in browser.evaluate(COLOURS + "([[0, 0, 0.3], [1, 0, 0.3], [0.5, 0.5, 0]])")
    )
    assert black < 60
    assert white > 200
    assert black + 60 < wood < white - 30


def test_the_last_stone_has_a_ring(browser: Browser, tmp_path: Path) -> None:
    opened(browser, tmp_path, made([0, 1, -1, -1], 2, 2, last=1))
    assert browser.evaluate("ludus.drawn.last") == 1
    ring, other = browser.evaluate(COLOURS + "([[1, 0, 0.2], [0, 0, 0.2]])")
    assert sum(ring) < 120  # black in white
    assert max(ring) - min(other) < 90


def test_a_match_of_connect_four_shows_columns_and_the_winning_four(browser: Browser, tmp_path: Path) -> None:
    recording = recording_of(replays.record("connect_four", seed=3, bots=("tactical", "random")))
    last = json.loads(list(recording.views)[-1])
    assert last["winner"] == 0
    opened(browser, tmp_path, recording)
    assert browser.evaluate("[ludus.drawn.labels, ludus.drawn.last, ludus.drawn.winning.length]") == [
        7,
        -1,
        0,
    ]
    browser.press("End")
    drawn = browser.evaluate("ludus.drawn")
    assert drawn["marks"] == sum(c >= 0 for c in last["cells"])
    assert drawn["last"] == last["last"]
    assert len(drawn["winning"]) >= 4
    assert {last["cells"][cell] for cell in drawn["winning"]} == {0}
    steps = {b - a for a, b in zip(drawn["winning"], drawn["winning"][1:], strict=False)}
    assert len(steps) == 1
    assert steps <= {1, 6, 7, 8}
    assert {d.text for d in recording.decisions} <= set("1234567")
    shown = browser.evaluate("[...document.querySelectorAll('#decisions .what')].map(n => n.textContent)")
    assert shown == [d.text for d in recording.decisions]


def test_a_match_of_gomoku_shows_the_winning_row(browser: Browser, tmp_path: Path) -> None:
    recording = recording_of(replays.record("gomoku", seed=3, bots=("pattern", "random")))
    last = json.loads(list(recording.views)[-1])
    opened(browser, tmp_path, recording, "tick=999")
    drawn = browser.evaluate("ludus.drawn")
    assert (drawn["crossings"], drawn["stars"], drawn["labels"]) == (225, 5, 60)
    assert len(drawn["winning"]) >= 5
    assert {last["cells"][cell] for cell in drawn["winning"]} == {last["winner"]}
    assert last["last"] in drawn["winning"]


def test_noughts_have_names_a_last_move_and_a_winning_row(browser: Browser, tmp_path: Path) -> None:
    recording = recording_of(replays.record("tic_tac_toe", seed=3, bots=("perfect", "random")))
    views = [json.loads(view) for view in recording.views]
    opened(browser, tmp_path, recording)
    assert browser.evaluate("ludus.drawn.labels") == 9
    browser.press("End")
    drawn, cells = browser.evaluate("ludus.drawn"), views[-1]["cells"]
    assert cell_name(drawn["last"], 3, 3, "chess") == recording.decisions[-1].text
    assert [cells[cell] for cell in drawn["winning"]] == (
        [views[-1]["winner"]] * 3 if views[-1]["winner"] >= 0 else []
    )


@pytest.mark.parametrize(
    ("columns", "rows", "kind"), [(19, 19, "go"), (30, 2, "chess"), (7, 6, "columns"), (3, 3, "")]
)
def test_cells_have_the_same_names_in_python_and_on_the_page(
    browser: Browser, tmp_path: Path, columns: int, rows: int, kind: str
) -> None:
    document = {"tick": 0, "width": columns, "height": rows, "cells": [-1] * columns * rows}
    views = [json.dumps(document)]
    board = Recording(game="x", title="X", renderer="board", seats=("a", "b"), views=views, coordinates=kind)
    opened(browser, tmp_path, board)
    cells = range(-1, columns * rows + 1)
    names = [cell_name(cell, columns, rows, kind) for cell in cells]
    assert (
        browser.evaluate(f"Array.from({{length: {len(cells)}}}, (_, i) => ludus.view.nameOf(i - 1))") == names
    )
    typed = [
        *names,
        *(name.lower() for name in names),
        " D 4 ",
        "I5",
        "Z99",
        "0",
        "00",
        "-1",
        "",
        "pass",
        "A1A1",
    ]
    expected = [cell_named(text, columns, rows, kind) for text in typed]
    assert browser.evaluate(f"{json.dumps(typed)}.map(text => ludus.view.indexOf(text))") == expected


def test_a_point_of_the_page_is_a_cell_or_none(browser: Browser, tmp_path: Path) -> None:
    opened(browser, tmp_path, go(9, 10))
    at = "(([x, y]) => ludus.view.cellAt(x, y))"
    assert browser.evaluate(f"{at}(ludus.view.pointOf(3, 5))") == {"row": 5, "column": 3, "index": 48}
    assert browser.evaluate(f"{at}(ludus.view.pointOf(8, 8))")["index"] == 80
    for outside in ("[0, 0]", "[-5, 40]", "[1e9, 1e9]", "[NaN, 3]", "ludus.view.pointOf(9, 0)"):
        assert browser.evaluate(f"{at}({outside})") is None


def test_marks_and_overlays_are_drawn_where_they_belong(browser: Browser, tmp_path: Path) -> None:
    opened(browser, tmp_path, made([0, -1, -1, -1, -1, -1, -1, -1, -1], 3, 3, last=0, to_move=1))
    wood = browser.evaluate(COLOURS + "([[1.5, 1.5, 0]])")[0]
    browser.evaluate(
        "ludus.view.overlay = {kind: 'policy',"
        "values: Float64Array.of(0.5, 0.3, 0.1, NaN, -1, 0, 0, 0, 0.05, 9, 9)};"
        "ludus.view.marks = {hover: 4, chosen: 5, legal: [0, 1, 1, 0, 0, 0, 0, 0, 1, 1]}; ludus.redraw()"
    )
    drawn = browser.evaluate("ludus.drawn")
    # Not on the stone, not where there is no number, not beyond the board (a pass).
    assert drawn["overlay"] == 3
    assert drawn["numbers"] == 3
    assert (drawn["hover"], drawn["chosen"], drawn["legal"]) == (4, 5, 3)
    thought = browser.evaluate(COLOURS + "([[1, 0, 0.35]])")[0]
    assert sum(abs(a - b) for a, b in zip(thought, wood, strict=True)) > 100
    assert browser.evaluate(COLOURS + "([[2, 1, 0.3]])")[0][2] > wood[2] + 30  # white would play there
    browser.evaluate("ludus.view.overlay = null; ludus.view.marks = {}; ludus.redraw()")
    drawn = browser.evaluate("ludus.drawn")
    assert (drawn["overlay"], drawn["legal"], drawn["hover"], drawn["chosen"]) == (0, 0, -1, -1)
    for overlay in ("{}", "{values: 'text', kind: 1}", "{values: [null, {}, 'x'], kind: 'visits'}"):
        browser.evaluate(f"ludus.view.overlay = {overlay}; ludus.redraw()")
        assert browser.evaluate("ludus.drawn.overlay") == 0


def test_an_overlay_of_columns_lies_on_their_lowest_empty_cell(browser: Browser, tmp_path: Path) -> None:
    cells = [-1] * 42
    cells[35] = cells[28] = 0  # two pieces in the first column
    document = json.dumps({"tick": 0, "width": 7, "height": 6, "cells": cells, "to_move": 1})
    board = Recording(
        game="x", title="X", renderer="board", seats=("a", "b"), views=[document], coordinates="columns"
    )
    opened(browser, tmp_path, board)
    browser.evaluate(
        "ludus.view.overlay = {kind: 'visits', values: [1200, 5, 0, 0, 0, 0, 40]};"
        "ludus.view.marks.hover = 0; ludus.redraw()"
    )
    assert browser.evaluate("[ludus.drawn.overlay, ludus.drawn.hover]") == [3, 21]


def test_a_match_in_an_arena_has_events_and_a_lane_a_seat(browser: Browser, tmp_path: Path) -> None:
    params = {"mode": "team", "fog": "1"}
    bots = ("simple", "noop", "simple", "random")
    recording = recording_of(replays.record("pommerman", params, seed=3, bots=bots))
    views = [json.loads(view) for view in recording.views]
    opened(browser, tmp_path, recording)
    events = browser.evaluate("ludus.match.events")
    assert browser.evaluate("[ludus.timeline.lanes, ludus.timeline.events]") == [4, len(events)]
    out = {(e["tick"], e["seat"]) for e in events if e["kind"] == "out"}
    assert out
    assert out == {
        (b["tick"], seat)
        for a, b in pairwise(views)
        for seat in range(4)
        if a["agents"][seat]["alive"] and not b["agents"][seat]["alive"]
    }
    # Every bomb that was placed has exploded or is still there.
    kinds = [e["kind"] for e in events]
    assert kinds.count("bomb") == kinds.count("explosion") + len(views[-1]["bombs"]) > 5
    wood = [sum(row.count(2) for row in view["board"]) for view in views]
    blown = sum(int(e["text"].split()[0]) for e in events if e["kind"] == "wood")
    assert blown == wood[0] - wood[-1] > 3
    taken = [e for e in events if e["kind"] == "taken"]
    assert taken
    assert all(e["text"] in ("+ bomb", "+ range", "+ kick") for e in taken)
    assert {d.text for d in recording.decisions} <= {"stop", "up", "down", "left", "right", "bomb"}
    assert {d.text for d in recording.decisions if d.seat == 1} == {"stop"}
    sights = browser.evaluate("[...document.querySelectorAll('#fog .sight')].map(n => n.textContent)")
    assert sights == ["spectator", *bots]


@pytest.mark.parametrize(
    ("game", "drawn", "words"),
    [
        ("kuhn_poker", {"cards": 2, "open": 2, "bets": 2, "chips": 0}, ("K", "J", "bet")),
        ("leduc_poker", {"cards": 3, "open": 3, "bets": 6, "chips": 2}, ("K♠", "J♥", "Q♠", "raise", "9")),
        ("matrix", {"cells": 9, "chosen": 1}, ("rock", "scissors", "gets −1")),
    ],
)
def test_games_without_a_board_are_tables(
    browser: Browser, tmp_path: Path, game: str, drawn: dict[str, int], words: tuple[str, ...]
) -> None:
    opened(browser, tmp_path, recording_of(replays.record(game, seed=3, bots=("random",))), "tick=99")
    assert browser.evaluate("ludus.drawn") == drawn
    text = browser.evaluate("document.querySelector('.table-view').innerText")
    assert all(word in text for word in words)


def test_the_public_card_lies_face_down_in_the_first_round(browser: Browser, tmp_path: Path) -> None:
    opened(browser, tmp_path, recording_of(replays.record("leduc_poker", seed=3, bots=("random",))))
    assert browser.evaluate("[ludus.drawn.cards, ludus.drawn.open]") == [3, 2]


def test_the_timeline_draws_what_decides(browser: Browser, tmp_path: Path) -> None:
    recording = recording_of(replays.record("capture_the_flag", seed=5, bots=("simple",)), every_ticks=50)
    score = [json.loads(view)["score"] for view in recording.views]
    opened(browser, tmp_path, recording)
    assert browser.evaluate("[ludus.timeline.curve, ludus.timeline.top]") == ["score", max(map(max, score))]


def hostile(**fields: object) -> str:
    return json.dumps({"tick": 1, **fields})


@pytest.mark.parametrize(
    ("renderer", "first", "later"),
    [
        ("board", {"width": 2, "height": 2, "cells": [HOSTILE] * 4}, {"width": HOSTILE, "cells": HOSTILE}),
        ("board", {"width": 2, "height": 2, "cells": [1e300, None, {}, []]}, {}),
        ("board", {"width": 1000, "height": 1000, "cells": [0] * 1_000_000}, {}),
        ("board", {"width": -1, "height": 2.5, "cells": []}, {}),
        ("board", {"width": 3, "height": 3, "komi": 1, "cells": [0], "last": 1e9, "ko": -7, "margin": 1e308},
         {"width": 3, "height": 3, "cells": [0] * 10_000, "last": HOSTILE, "captured": HOSTILE}),
        ("noughts", {"cells": [HOSTILE] * 9}, {"cells": 5}),
        ("noughts", {}, {}),
        ("cards", {"cards": [HOSTILE, -1, None], "choices": [HOSTILE], "paid": [HOSTILE]},
         {"cards": 3, "rounds": [3]}),
        ("table", {"rows": 1, "columns": 1, "payoff": [HOSTILE], "actions": [HOSTILE]}, {"rows": 1e9}),
        ("table", {"rows": 300, "columns": 300, "payoff": [0] * 90_000, "actions": [7, 7]}, {}),
        (HOSTILE, {"cells": HOSTILE}, {}),
    ],
)  # fmt: skip
def test_hostile_documents_neither_break_the_page_nor_run(
    browser: Browser, tmp_path: Path, renderer: str, first: dict[str, object], later: dict[str, object]
) -> None:
    views = [json.dumps({"tick": 0, **first}), hostile(**later), hostile(tick=2)]
    recording = Recording(
        game=HOSTILE, title=HOSTILE, renderer=renderer, seats=(HOSTILE, HOSTILE), views=views,
        decisions=(SeatDecision(0, 0, HOSTILE),), coordinates="go", lines="crossings", labels=(HOSTILE,),
    )  # fmt: skip
    opened(browser, tmp_path, recording)
    for key in (".", ".", ",", "End", "f", "n"):
        browser.press(key)
    assert browser.evaluate("document.getElementById('failure').hidden") is True
    assert browser.evaluate("document.querySelectorAll('script').length") == 2
    assert browser.evaluate("document.querySelectorAll('main img, main iframe, main a').length") == 0


@pytest.mark.parametrize(
    "document",
    [
        '{"tick": 0, "size": 3, "board": "x"}',
        '{"tick": 0, "size": 9999999, "board": []}',
        '{"tick": NaN}',
        "[]",
    ],
)
def test_documents_that_are_no_arena_are_one_error(document: str) -> None:
    recording = Recording(game="x", title="X", renderer="arena", seats=("a",), views=[document])
    with pytest.raises(ValueError, match=r"arena|JSON|size"):
        render(recording)

"""The page in a real browser: its drawing, its keys and clicks, and that it loads nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ludus.flow.inputs import shown
from ludus.web.recording import Recording, SeatDecision
from ludus.web.replay_page import render
from tests.web import synthetic
from tests.web.browser import Browser
from tests.web.test_replay_page import HOSTILE

EVERY = 4
# Green of the map's pixels at points of the map. From a copy: Chromium warns of slow reading.
PIXELS = """(points => { const map = document.getElementById('map'), copy = document.createElement('canvas');
copy.width = map.width; copy.height = map.height; const c = copy.getContext('2d', {willReadFrequently: true});
c.drawImage(map, 0, 0);
return points.map(p => c.getImageData(...ludus.pointOf(...p), 1, 1).data[1]); })"""


def moment(tick: int) -> dict[str, Any]:
    """Return the view document of the synthetic match at ``tick``."""
    view: dict[str, Any] = json.loads(synthetic.documents(4000, EVERY)[tick // EVERY])
    assert view["tick"] == tick
    return view


def visible(view: dict[str, Any], seat: int) -> list[dict[str, Any]]:
    seen = view["seen"][seat]
    return [
        u for u in view["units"] if u["seat"] == seat or seen[int(u["y"] + 0.5)][int(u["x"] + 0.5)] == "1"
    ]


def test_the_page_shows_every_unit_in_its_place(browser: Browser, page: Path) -> None:
    browser.open(page, "tick=1500")
    view = moment(1500)
    assert browser.evaluate("ludus.drawn.units") == len(view["units"])
    assert browser.evaluate("ludus.drawn.bullets") == len(view["bullets"])
    drawn = browser.evaluate("ludus.scene.units.map(u => [u.track.id, u.x, u.y, u.hp])")
    expected = {u["id"]: u for u in view["units"]}
    for unit, x, y, hp in drawn:
        assert abs(x - expected[unit]["x"]) <= 1 / 64
        assert abs(y - expected[unit]["y"]) <= 1 / 64
        assert hp == expected[unit]["hp"]


@pytest.mark.parametrize("seat", [0, 1])
def test_fog_hides_what_the_seat_does_not_see(browser: Browser, page: Path, seat: int) -> None:
    browser.open(page, f"tick=1500&fog={seat}")
    view = moment(1500)
    seen = visible(view, seat)
    assert len(seen) < len(view["units"])
    assert browser.evaluate("ludus.drawn.units") == len(seen)
    assert sorted(browser.evaluate("ludus.scene.units.map(u => u.track.id)")) == sorted(u["id"] for u in seen)
    assert browser.evaluate("ludus.drawn.enemies") == sum(u["seat"] != seat for u in seen)
    assert browser.evaluate("ludus.drawn.fogged") == sum(row.count("0") for row in view["seen"][seat])
    # A pixel in a fogged cell is darker than one in a cell that is seen.
    cells = [(x, y) for y in range(20) for x in range(20) if x != 9 and x != 10]
    light = browser.evaluate(PIXELS + f"({json.dumps([[x - 0.44, y + 0.44] for x, y in cells])})")
    dark = [v for (x, y), v in zip(cells, light, strict=True) if view["seen"][seat][y][x] == "0"]
    bright = [v for (x, y), v in zip(cells, light, strict=True) if view["seen"][seat][y][x] == "1"]
    assert sorted(dark)[len(dark) // 2] + 40 < sorted(bright)[len(bright) // 2]


def test_a_seat_keeps_units_that_it_saw(browser: Browser, page: Path) -> None:
    remembered: dict[int, tuple[float, float]] = {}
    for view in map(json.loads, synthetic.documents(4000, EVERY)[: 2200 // EVERY + 1]):
        seen = view["seen"][0]
        remembered = {i: p for i, p in remembered.items() if seen[int(p[1] + 0.5)][int(p[0] + 0.5)] == "0"}
        remembered |= {u["id"]: (u["x"], u["y"]) for u in visible(view, 0) if u["seat"] == 1}
    hidden = {i for i, p in remembered.items() if seen[int(p[1] + 0.5)][int(p[0] + 0.5)] == "0"}
    assert hidden
    browser.open(page, "tick=2200&fog=0")
    assert set(browser.evaluate("ludus.scene.ghosts.map(g => g.id)")) == hidden
    browser.evaluate("ludus.set({fog: -1})")
    assert browser.evaluate("ludus.drawn.ghosts") == 0


def test_every_key_works_as_the_help_lists_it(browser: Browser, page: Path) -> None:
    browser.open(page, "tick=1000")

    def after(key: str, expression: str, shift: bool = False) -> Any:  # noqa: ANN401 - any value of the page
        browser.press(key, shift)
        return browser.evaluate(expression)

    assert after("ArrowRight", "ludus.tick") == 1050
    assert after("ArrowLeft", "ludus.tick") == 1000
    assert after(".", "ludus.tick") == 1001
    assert after(",", "ludus.tick") == 1000
    events = browser.evaluate("ludus.match.events.map(e => e.tick)")
    assert after("]", "ludus.tick") == next(t for t in events if t > 1000)
    here = browser.evaluate("ludus.tick")
    assert after("[", "ludus.tick") == max(t for t in events if t < here)
    last = browser.evaluate("ludus.match.lastTick")
    assert after("End", "ludus.tick") == last
    assert after("PageUp", "ludus.tick") == last - round(last / 20)
    assert after("Home", "ludus.tick") == 0
    assert after("PageDown", "ludus.tick") == round(last / 20)
    assert after("ArrowUp", "ludus.speed") == 2
    assert after("-", "ludus.speed") == 1
    assert [after("f", "ludus.fog") for _ in range(3)] == [0, 1, -1]
    assert after("o", "[ludus.options.orders, ludus.drawn.orders]") == [False, 0]
    assert after("b", "ludus.options.bars") is False
    assert after("l", "ludus.options.letters") is False
    assert after("n", "ludus.selected") == 0
    assert after("n", "ludus.selected") == 1
    assert after("p", "ludus.selected") == 0
    assert after("Escape", "ludus.selected") == -1
    assert after("?", "document.getElementById('help').open", shift=True) is True
    shown = browser.evaluate("[...document.querySelectorAll('#keys kbd')].map(k => k.textContent)")
    assert {"Space", "F", "Home", "?"} <= set(shown)
    browser.press("f")
    assert browser.evaluate("ludus.fog") == -1  # the dialog has the keys
    browser.press("Escape")
    browser.wait("!document.getElementById('help').open")
    browser.press(" ")
    assert browser.evaluate("ludus.playing") is True
    browser.wait("ludus.tick > 0")
    browser.press("k")
    assert browser.evaluate("ludus.playing") is False


def test_the_page_plays_at_its_speed_and_stops_at_the_end(browser: Browser, page: Path) -> None:
    browser.open(page)
    last = browser.evaluate("ludus.match.lastTick")
    browser.evaluate(f"ludus.set({{speed: 7}}); ludus.seek({last - 400})")
    assert browser.evaluate("document.getElementById('banner').classList.contains('shown')") is False
    browser.evaluate("document.getElementById('play').click()")
    assert browser.evaluate("document.getElementById('play').ariaLabel") == "Pause"
    browser.wait(f"ludus.tick === {last} && !ludus.playing")
    assert browser.evaluate("document.getElementById('banner').classList.contains('shown')") is True
    assert (
        browser.evaluate("document.getElementById('banner').innerText").split("\n")[0].startswith("policy:0")
    )
    browser.evaluate("document.getElementById('play').click()")
    assert browser.evaluate("ludus.tick") < last  # starts over
    browser.press(" ")


def test_the_timeline_scrubs_under_the_mouse(browser: Browser, page: Path) -> None:
    browser.open(page)
    x, y, width = browser.evaluate(
        "(() => { const b = document.getElementById('timeline').getBoundingClientRect();"
        " return [b.x, b.y + b.height / 2, b.width]; })()"
    )
    last = browser.evaluate("ludus.match.lastTick")
    browser.mouse("mousePressed", x + width / 2, y)
    assert abs(browser.evaluate("ludus.tick") - last / 2) < last / 50
    browser.mouse("mouseMoved", x + width / 4, y)
    assert abs(browser.evaluate("ludus.tick") - last / 4) < last / 50
    browser.mouse("mouseReleased", x + width / 4, y)
    browser.mouse("mouseMoved", x + width / 2, y)
    assert abs(browser.evaluate("ludus.tick") - last / 4) < last / 50
    assert browser.evaluate("document.getElementById('timeline').ariaValueNow") == str(
        browser.evaluate("ludus.tick")
    )


def test_selecting_a_unit_shows_its_details(browser: Browser, page: Path) -> None:
    browser.open(page, "tick=1200")
    base = next(u for u in moment(1200)["units"] if u["type"] == "base" and u["seat"] == 1)
    left, top = browser.evaluate(
        "(() => { const b = document.getElementById('map').getBoundingClientRect(); return [b.x, b.y]; })()"
    )
    x, y = browser.evaluate(f"ludus.pointOf({base['x']}, {base['y']})")
    browser.click(left + x, top + y)
    assert browser.evaluate("ludus.selected") == base["id"]
    text = browser.evaluate("document.getElementById('selection-body').innerText")
    assert "base" in text.lower()
    assert f"{base['hp']} / 500" in text
    browser.evaluate("ludus.set({fog: 0})")
    assert "Out of this seat" in browser.evaluate("document.getElementById('selection-body').innerText")
    worker = next(u for u in moment(1200)["units"] if u["type"] == "worker")
    browser.evaluate(f"ludus.set({{fog: -1, selected: {worker['id']}}})")
    text = browser.evaluate("document.getElementById('selection-body').innerText")
    assert "gather" in text
    assert "cooldown" in text


def test_logs_lead_back_to_their_ticks(browser: Browser, page: Path) -> None:
    browser.open(page, "tick=1210")
    current = browser.evaluate("document.querySelector('#decisions [aria-current]').innerText").split()
    assert current[0] == "1,200"
    browser.evaluate("document.querySelector('#decisions button').click()")
    assert browser.evaluate("ludus.tick") < 1200
    browser.evaluate("document.querySelector('#events button').click()")
    assert browser.evaluate("ludus.match.events.some(e => e.tick === ludus.tick)") is True


@pytest.mark.parametrize("width", [320, 420, 768, 1280])
def test_the_page_fits_its_width(browser: Browser, page: Path, width: int) -> None:
    browser.open(page, "tick=1500", width=width)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate("document.getElementById('map').getBoundingClientRect().width") >= min(
        280, width - 30
    )


def test_the_page_follows_light_and_dark(browser: Browser, page: Path) -> None:
    corner = PIXELS + "([[0.3, 0.3]])[0]"
    browser.open(page)
    light = browser.evaluate(corner)
    browser.theme(dark=True)
    browser.wait(f"{corner} < 120")
    assert light > 150


def test_every_control_has_a_name(browser: Browser, page: Path) -> None:
    browser.open(page)
    nameless = browser.evaluate(
        """[...document.querySelectorAll('button, input, canvas, [role]')].filter(e => !e.ariaLabel
        && !e.labels?.length && !e.innerText?.trim() && !e.ariaHidden && !e.hidden
        && !['banner', 'status', 'failure'].includes(e.id) && !e.getAttribute('aria-labelledby')).map(e =>
        e.outerHTML)"""
    )
    assert nameless == []


def test_the_page_inflates_data_without_the_browser(browser: Browser, page: Path) -> None:
    browser.open(page)
    same = browser.evaluate(
        """(async () => { const text = document.getElementById('match-data').textContent;
        const [a, b] = [await ludus.unpack(text, true), await ludus.unpack(text, false)];
        return a.length > 1000 && a.length === b.length && a.every((v, i) => v === b[i]); })()"""
    )
    assert same is True


def test_hostile_names_are_only_text(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    decisions = (SeatDecision(tick=0, seat=0, text=HOSTILE),)
    path.write_text(
        render(
            synthetic.recording(
                100, 50, (HOSTILE, HOSTILE), title=HOSTILE, decisions=decisions, facts=((HOSTILE, HOSTILE),)
            )
        ),
        encoding="utf-8",
    )
    browser.open(path)
    assert browser.evaluate("document.getElementById('title').textContent") == shown.visible(HOSTILE)
    assert browser.evaluate("document.title.startsWith('</script>')") is True
    assert browser.evaluate("document.querySelectorAll('script').length") == 2
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    assert browser.evaluate("document.querySelector('.seat-name').textContent") == shown.visible(HOSTILE)


def test_damaged_data_is_reported_and_not_shown(session_browser: Browser, page: Path, tmp_path: Path) -> None:
    html = page.read_text(encoding="utf-8")
    at = html.index('id="match-data">') + len('id="match-data">') + 4000
    path = tmp_path / "damaged.html"
    path.write_text(html[:at] + ("A" * 64) + html[at + 64 :], encoding="utf-8")
    session_browser.open(path)
    assert session_browser.evaluate("document.getElementById('failure').innerText").startswith(
        "The match cannot be shown"
    )
    assert session_browser.errors


def tic_tac_toe(cells: list[int], tick: int) -> bytes:
    return json.dumps(
        {"tick": tick, "to_move": tick % 2, "winner": -1, "over": False, "cells": cells}
    ).encode()


def test_tic_tac_toe_is_a_board(browser: Browser, tmp_path: Path) -> None:
    cells, views = [-1] * 9, [tic_tac_toe([-1] * 9, 0)]
    for tick, cell in enumerate((4, 0, 2, 6, 3, 1, 5)):
        cells[cell] = tick % 2
        views.append(tic_tac_toe(cells, tick + 1))
    decisions = tuple(SeatDecision(tick=t, seat=t % 2, text="b2") for t in range(7))
    recording = Recording(
        game="tic_tac_toe", title="Tic-tac-toe", renderer="noughts", seats=("perfect", "random"), views=views,
        outcome=(1.0, -1.0), decisions=decisions, ticks_per_s=1.0,
    )  # fmt: skip
    path = tmp_path / "ttt.html"
    path.write_text(render(recording), encoding="utf-8")
    browser.open(path)
    assert browser.evaluate("ludus.drawn.marks") == 0
    browser.press("End")
    assert browser.evaluate("ludus.drawn.marks") == 7
    assert browser.evaluate("document.getElementById('fog').hidden") is True


def test_any_other_game_shows_its_documents(browser: Browser, tmp_path: Path) -> None:
    views = [json.dumps({"tick": t, "stones": [t] * t}).encode() for t in range(3)]
    path = tmp_path / "other.html"
    path.write_text(
        render(Recording(game="x", title="X", renderer="constructor", seats=("a", "b"), views=views)),
        encoding="utf-8",
    )
    browser.open(path)
    browser.press(".")
    assert browser.evaluate("document.querySelector('.document').textContent") == "tick1stones1"

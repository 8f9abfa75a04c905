"""Games of units by the mouse, a finger and keys: heroes, athletes, the camera of the map."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from ludus.games.match import Match
from ludus.games.views import view_of
from ludus.web.moves import order_name
from ludus.web.serve.seat_view import SeatView
from tests.web.browser import Browser
from tests.web.live import LivePage, checked_page
from tests.web.serving import Client

UNITS = "ludus.game.units"
HERO = f"{UNITS}.hero"


@pytest.fixture
def page(session_browser: Browser, client: Client) -> Iterator[LivePage]:
    yield from checked_page(session_browser, client)


def at(page: LivePage, x: float, y: float) -> tuple[float, float]:
    """Return where a point of the map is in the window."""
    x, y = page.evaluate(
        "(() => { const b = document.getElementById('map').getBoundingClientRect();"
        f" const [x, y] = ludus.game.view.pointOf({x}, {y}); return [b.x + x, b.y + y]; }})()"
    )
    return x, y


def test_a_hero_walks_far_by_one_click_and_attacks_by_another(page: LivePage) -> None:
    page.play("moba", ["person", *["noop"] * 5], seed=2, rate=4.0)
    page.wait(f"{HERO} !== undefined && ludus.game.moment.legal[0]?.[0][1] === 1")
    x, y, base = page.evaluate(f"[{HERO}.x, {HERO}.y, {UNITS}.units.find((u) => u.type === 'ancient').x]")
    assert page.evaluate(f"{UNITS}.turned") == (base > 16)
    way = -12 if base > 16 else 12  # farther than any single decision leads
    page.browser.click(*at(page, x + way, y))
    page.wait(f"{HERO} && Math.abs({HERO}.x - {x + way}) < 1.5")
    assert page.evaluate("ludus.game.link.state") == "open"  # it sends few decisions
    enemy = f"{UNITS}.units.find((u) => u.seat >= 3)"
    page.wait(f"{enemy} !== undefined")
    page.evaluate(f"window.enemy = {enemy}")
    page.browser.click(*at(page, *page.evaluate("[enemy.x, enemy.y]")))
    page.wait("ludus.game.log.some((entry) => entry.text.startsWith('attack '))")


def test_a_map_of_a_lane_fills_the_board(page: LivePage) -> None:
    page.play("moba", ["person", *["noop"] * 5], seed=1)
    wall = "ludus.game.view.tracks.walls"
    ground = page.evaluate("ludus.game.view.window.ground")
    cells = ground["width"] * ground["height"]
    open_cells = page.evaluate(f"{wall}.length - {wall}.reduce((a, b) => a + b, 0)")
    assert open_cells / cells > 0.8
    assert page.evaluate(f"{wall}.length") > 2 * cells


def test_an_athlete_is_sent_to_the_flag_by_a_click(page: LivePage) -> None:
    page.play("capture_the_flag", ["person", "noop"], {"commands": "units"}, seed=2, rate=2.0)
    page.wait("ludus.game.moment.legal[0]?.[0].slice(0, 5).some(Boolean)")
    page.browser.press("n")
    page.wait(f"{UNITS}.selected.size === 1")
    find = "find((unit) => unit.type === 'flag')"
    flag = page.evaluate(f"(({{x, y}}) => [x, y])({UNITS}.units.{find})")
    page.browser.click(*at(page, *flag), button="right")
    page.wait(f"{UNITS}.units.some((u) => u.command === 'get_flag')")
    page.wait("ludus.game.log.some(({text}) => text === 'athlete get_flag')")


def test_the_wheel_and_two_fingers_zoom_the_map(page: LivePage) -> None:
    page.play("minirts", ["person", "noop"], {"commands": "units"}, seed=1, rate=0.05)
    zoom = "ludus.game.view.window.zoom"
    x, y = at(page, 15, 5)
    wheel = {"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": -400}
    page.browser.call("Input.dispatchMouseEvent", **wheel)
    page.wait(f"{zoom} > 1.5")
    assert np.allclose(at(page, 15, 5), (x, y), atol=1.5)
    page.browser.call("Input.dispatchMouseEvent", **{**wheel, "deltaY": 4000})
    page.wait(f"{zoom} === 1")
    page.browser.phone(390, 700)
    page.wait("innerWidth === 390 && ludus.game.view.pointOf(19, 0)[0] < 390")
    page.evaluate("document.getElementById('map').scrollIntoView()")
    x, y = at(page, 10, 10)
    page.browser.touch("touchStart", (x - 20, y))
    page.browser.touch("touchStart", (x - 20, y), (x + 20, y))
    for step in range(1, 9):
        page.browser.touch("touchMove", (x - 20 - 5 * step, y), (x + 20 + 5 * step, y))
    page.browser.touch("touchEnd")
    page.wait(f"{zoom} > 1.5")
    assert page.evaluate(f"{UNITS}.selected.size") == 0
    page.browser.call("Emulation.setTouchEmulationEnabled", enabled=False)


def test_persons_order_units_where_the_game_has_them() -> None:
    for game in ("minirts", "capture_the_flag", "rts"):
        view = view_of(game)
        assert view is not None
        assert dict(view.persons) == {"commands": "units"}
        assert Match(game, dict(view.persons)).spec.heads[0].name == "unit"


def test_rows_of_a_team_are_the_documents_units_own_ones_first() -> None:
    match = Match("moba", {}, seed=3)
    spec = match.spec
    labels = next(t for t in spec.observation if t.name == "units").labels
    own, x, y = (labels.index(name) for name in ("own", "x", "y"))
    mates = {s: [q for q in range(6) if q != s and spec.together(s, q)] for s in range(6)}
    views = {s: SeatView((s,), "map", mates[s]) for s in range(6)}
    compared = 0
    while match.tick < 1200:
        for seat in match.to_act:
            match.bot(seat, "simple")
        match.advance()
        for seat in range(6) if match.tick % 100 == 0 else ():
            document = views[seat].cut(match.view())
            units = sorted(document["units"], key=lambda u: not spec.together(u["seat"], seat))
            side = document["map"]["width"]
            base = next(u for u in units if u["type"] == "ancient")
            turned = base["x"] > side / 2

            def byte(v: float, turned: bool = turned, side: int = side) -> int:
                return round(((side - 1 - v if turned else v) + 0.5) / side * 255)

            rows = [row for row in np.asarray(match.observe(seat)["units"]) if row.any()]
            assert len(rows) == len(units)
            for row, unit in zip(rows, units, strict=True):
                assert bool(row[own]) == spec.together(unit["seat"], seat)
                assert abs(int(row[x]) - byte(unit["x"])) <= 1
                assert abs(int(row[y]) - byte(unit["y"])) <= 1
            compared += len(rows)
            if len(units) > 1:
                name = order_name((2, 1, 0), spec, (True, True, False), document, seat)
                assert name == f"attack {units[1]['type']}"
    assert compared > 300

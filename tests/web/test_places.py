"""A click on the map chooses a place, in games whose decisions name a cell of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.web.browser import Browser
from tests.web.live import LivePage
from tests.web.serving import served

MAY_DECIDE = "ludus.game.moment.legal[0] !== undefined"
LEGAL = "ludus.game.moment.legal[0][0]"


@pytest.fixture
def page(session_browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivePage]:
    """Yield a page; a test with it also fails on any console error, and on a request to another host."""
    with served(tmp_path_factory.mktemp("served")) as client:
        session_browser.errors, session_browser.requests = [], []
        live = LivePage(session_browser, client)
        yield live
        live.check()
        for session in client.server.matches.listed():
            session.stop()


def towers(page: LivePage) -> list[list[float]]:
    places: list[list[float]] = page.evaluate(
        "ludus.game.moment.view.units.filter((unit) => unit.type === 'tower').map((unit) => [unit.x, unit.y])"
    )
    return places


def places(page: LivePage) -> list[tuple[int, int]]:
    """Return the cells where a tower may stand, off the diagonal, so that x and y cannot be mixed up."""
    page.wait(MAY_DECIDE)
    legal = page.evaluate(f"{LEGAL}.flatMap((ok, choice) => (ok && choice ? [choice] : []))")
    return [(choice // 20, choice % 20) for choice in legal if choice // 20 != choice % 20]


def test_a_click_builds_where_it_was_made(page: LivePage) -> None:
    page.play("tower_defense", ["person"], seed=3, rate=0.25)
    x, y = places(page)[3]
    page.click_cell(x, y)
    page.wait("ludus.game.moment.view.units.some((unit) => unit.type === 'tower')")
    assert towers(page) == [[x, y]]
    assert page.evaluate("document.querySelectorAll('.lists select').length") == 1  # the list stays
    option = f"document.querySelector('.lists option[value=\"{20 * x + y}\"]').textContent"
    assert page.evaluate(option).startswith(f"{x}, {y} (50)")  # a cell, not the number of a choice
    wait = "document.querySelector('.lists option[value=\"0\"]')"
    assert page.evaluate(f"{wait}.textContent") == "0, 0"  # the cell of the base waits, and costs nothing
    assert "Builds nothing" in page.evaluate(f"{wait}.title")
    page.wait("document.querySelectorAll('#moves li').length > 0")
    assert f"{x}, {y}" in page.evaluate(
        "[...document.querySelectorAll('#moves .what')].map((e) => e.textContent)"
    )


def test_a_click_where_nothing_can_be_built_says_so(page: LivePage) -> None:
    page.play("tower_defense", ["person"], seed=3, rate=0.25)
    free = {*places(page)}
    x, y = next((x, y) for x in range(1, 19) for y in range(1, 19) if x != y and (x, y) not in free)
    page.click_cell(x, y)
    page.wait(f"ludus.game.said.startsWith('{x}, {y} is not possible now')")
    assert towers(page) == []


def test_a_click_sets_the_list_where_a_decision_has_further_parts(page: LivePage) -> None:
    page.play("tower_defense", ["person"], {"commands": "tactical"}, seed=3, rate=0.25)
    one, two = places(page)[3], places(page)[5]
    shown = "document.querySelector('.lists select').value"
    for x, y in (one, two, one):
        page.click_cell(x, y)
        page.wait(f"{shown} === '{20 * x + y}'")
    assert page.evaluate("ludus.drawn.places") >= 1
    assert towers(page) == []
    page.wait(MAY_DECIDE)
    page.click(".lists button")
    page.wait("ludus.game.moment.view.units.some((unit) => unit.type === 'tower')")
    assert towers(page) == [[*one]]

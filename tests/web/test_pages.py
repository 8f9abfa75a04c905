"""The pages that lead to a match, and the first key on its board."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.web.browser import Browser
from tests.web.live import LivePage, make_run
from tests.web.serving import Client, served

START = "!!document.querySelector('#start:not(:disabled)')"
# Pixels of a figure's canvas in about the colour of its line.
DRAWN = """
(() => {
  const figure = [...document.querySelectorAll('#curves figure')].find((f) => f.textContent.includes('NAME'));
  const canvas = figure.querySelector('canvas');
  const seat = getComputedStyle(document.documentElement).getPropertyValue('--seat0').trim().slice(1);
  const wanted = [0, 2, 4].map((at) => parseInt(seat.slice(at, at + 2), 16));
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] > 200 && wanted.every((value, k) => Math.abs(data[i + k] - value) < 24)) count += 1;
  }
  return count;
})()
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("served")
    make_run(folder / "small", "go", (1,), size=5)
    with served(folder) as made:
        yield made


@pytest.fixture
def page(session_browser: Browser, client: Client) -> Iterator[LivePage]:
    session_browser.errors, session_browser.requests = [], []
    live = LivePage(session_browser, client)
    yield live
    live.check()


def test_a_link_to_weights_has_the_parameters_of_their_game(page: LivePage) -> None:
    page.go("/run/small", "document.querySelector('header a.button') !== null")
    page.go(page.evaluate("document.querySelector('header a.button').getAttribute('href')"), START)
    page.wait("document.querySelector('#param-size').value === '5'")
    page.wait("document.querySelector('#seat-1').selectedOptions[0]?.disabled === false")
    page.evaluate("document.querySelector('#start').click()")
    page.wait("window.ludus?.game.view?.columns === 5")
    assert "small@1" in page.text("aside")
    page.evaluate("ludus.game.send('resign')")
    page.wait("document.querySelector('#new-match') !== null")
    page.go(page.evaluate("document.querySelector('#new-match').getAttribute('href')"), START)
    page.wait("document.querySelector('#param-size').value === '5'")
    page.wait("document.querySelector('#strength-1') !== null")
    assert "small@1" in page.text("fieldset output")


@pytest.mark.parametrize("params", ["[", '{"size":"99999"}', '{"<b>":{"a":[]}}'])
def test_a_link_with_wrong_parameters_is_a_page_that_can_be_mended(page: LivePage, params: str) -> None:
    page.go("/play", "document.querySelector('#game') !== null")
    page.evaluate(f"location.assign('/play?game=go&params=' + encodeURIComponent({params!r}))")
    page.wait("document.querySelector('#param-size') !== null && document.querySelector('#seat-1') !== null")
    assert page.evaluate("document.querySelector('b') === null")
    page.browser.errors.clear()  # the console names a refused request


def test_rare_values_of_a_curve_are_drawn(page: LivePage) -> None:
    page.go("/run/small", "document.querySelectorAll('#curves canvas').length > 1")
    figures = page.text("#curves .curves")
    assert "eval/random/win_rate" in figures
    assert "ci_low" not in figures
    assert page.evaluate(DRAWN.replace("NAME", "win_rate")) > 100
    page.browser.errors.clear()  # the console advises another kind of canvas for tests such as this


def test_an_arrow_key_reaches_the_board_from_anywhere_on_the_page(page: LivePage) -> None:
    page.play("connect_four", ["person", "random"])
    page.wait("ludus.game.myTurn")
    assert page.evaluate("document.activeElement === document.body")
    page.browser.press("ArrowLeft")
    page.wait("document.getElementById('status').textContent === 'column 4'")
    page.browser.press("ArrowRight")
    page.browser.press("Enter")
    page.wait("ludus.tick === 2")
    assert page.text("#moves .row:last-child .what") == "5"


def test_a_match_without_winner_is_called_so(page: LivePage) -> None:
    page.go("/", "document.querySelector('#runs tbody tr') !== null")
    text = (
        "import('/static/app/home.js')"
        ".then((m) => m.resultText({over: true, players: ['a', 'b'], outcome: %s}))"
    )
    found = [page.evaluate(text % outcome) for outcome in ("[0, 0]", "[-1, -1]", "[1, -1]", "[]")]
    assert found == ["a draw", "no one won", "won by a", "cut off"]

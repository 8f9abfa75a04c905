"""The pages that lead to a match, and the first key on its board."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ludus.flow.hosted_replay import HostedReplay
from ludus.games import replays
from ludus.native import core
from tests.web.browser import Browser
from tests.web.live import LivePage, checked_page, make_run
from tests.web.serving import Client, served

POLE = "gymnasium/CartPole-v1"
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


def hosted_replay() -> bytes:
    """Return the replay of a match of a game written in Python."""
    return core.replay_encode(
        HostedReplay(
            game=POLE, version=1, params={}, seed=1, match=0, players=["pole@1"], heads=1, ticks=[0],
            seats=[0], actions=[0], length=487, hash_every=1000, hashes=[0], final_hash=0, over=True,
            outcome=[0.0], returns=[487.0], reproduced=0,
        )
    )  # fmt: skip


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("served")
    make_run(folder / "small", "go", (1,), size=5)
    pole = make_run(folder / "pole", "tic_tac_toe", (1,))
    text = pole.info_path.read_text()
    pole.info_path.write_text(text.replace("tic_tac_toe", POLE).replace("2026-01-01", "2026-02-01"))
    (pole.replays / "final-1.ludus").write_bytes(hosted_replay())
    (folder / "td.ludus").write_bytes(replays.record("tower_defense", bots=["noop"]))
    with served(folder) as made:
        yield made


@pytest.fixture
def page(session_browser: Browser, client: Client) -> Iterator[LivePage]:
    yield from checked_page(session_browser, client)


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
    page.go("/run/small", "document.querySelectorAll('#curves canvas').length > 0")
    figures = page.text("#curves .curves")
    assert "Win rate against random, evaluations" in figures
    assert "ci_low" not in figures
    assert page.evaluate(DRAWN.replace("NAME", "Win rate")) > 100
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
    text = "import('/static/app/home.js').then((m) => m.resultText({over: true, players: ['a', 'b'], %s}))"
    for line, result in (
        ("outcome: [0, 0]", "a draw"),
        ("outcome: [-1, -1]", "no one won"),
        ("outcome: [1, -1], returns: [3, 2]", "won by a"),
        ("outcome: []", "cut off"),
        ("outcome: [0], returns: [487]", "return 487"),
        ("outcome: [0], returns: [-1234.5678]", "return -1,235"),
        ("outcome: [1]", "won by a"),
        ("outcome: [-1]", "lost"),
        ("outcome: [0]", "over"),
        ("over: false, outcome: [], returns: [500]", "return 500, cut off"),
        ("over: false, outcome: [], returns: [3, 2]", "cut off"),
    ):
        assert page.evaluate(text % line) == result
    # Matches of other tests are recorded too, when they end.
    rows = "[...document.querySelectorAll('#replays tbody tr')]"
    made = f"{rows}.filter((row) => /^(td|final-1)/.test(row.textContent))"
    page.wait(f"{made}.length === 2")
    assert page.evaluate(f"{made}.map((row) => row.cells[3].textContent).sort()") == ["lost", "return 487"]
    solo = "[...document.querySelectorAll('#replays a')].find((a) => a.textContent.startsWith('td')).href"
    page.go(page.evaluate(f"new URL({solo}).pathname"), "document.body.classList.contains('ready')")
    assert page.text("#banner").startswith("noop lost")
    assert page.text("#seats .badge") == "lost"


def test_a_game_of_python_is_offered_on_no_page(page: LivePage) -> None:
    page.go("/", "document.querySelectorAll('#runs tbody tr').length === 2")
    links = "[...document.querySelectorAll('#runs a.button')].map((a) => new URL(a.href).search)"
    play = "?game=go&against=small%40best&params=%7B%22size%22%3A%225%22%7D"
    assert set(page.evaluate(links)) == {play, ""}  # the other one is watched
    page.go("/run/pole", "document.querySelector('#versions') !== null")
    assert page.evaluate("document.querySelectorAll('#versions a, header a.button').length") == 0
    assert f"compiled games that are installed here: {POLE} is none" in page.text("#versions")
    page.wait("document.querySelector('#run-replays small')?.textContent.trim() === 'pole@1; return 487'")
    page.go(f"/play?game={POLE}&against=pole%40best", "document.querySelector('#other-game') !== null")
    assert page.text(".failure").startswith(f"{POLE} cannot be played on a page")
    assert page.evaluate("document.querySelector('#start')") is None
    page.evaluate("document.querySelector('#other-game').click()")
    page.wait(f"location.search === '' && {START}")
    assert page.evaluate("document.querySelector('#game').value") == "go"  # that of the newest run


def test_a_replay_that_cannot_be_shown_is_a_page_with_a_sentence(page: LivePage) -> None:
    path, why = "/replay/none", "there is no such replay; it may have been removed"
    page.go(path, "document.querySelector('.failure') !== null")
    assert page.text(".failure") == why
    assert page.evaluate("getComputedStyle(document.querySelector('.failure')).borderRadius") == "10px"
    assert page.text("a.home") == "Ludus"
    page.browser.errors.clear()  # the console names the refused request
    answer = page.client.ask(path)
    assert (answer.json, answer.status in (400, 404)) == ({"why": why}, True)  # for programs


def test_a_match_that_is_over_cannot_be_joined(page: LivePage) -> None:
    page.play("connect_four", ["person", "random"])
    page.go("/", "document.querySelector('#matches a[href^=\"/play/\"]') !== null")
    socket = page.client.socket(page.match, page.key).greet()
    socket.send({"type": "resign"})
    socket.get("over")
    row = f"document.getElementById('match-{page.match}')"
    page.go("/", f"{row} !== null")
    page.wait(f"{row}.textContent.includes('over')")
    assert page.evaluate(f"[...{row}.querySelectorAll('a')].map((a) => a.textContent)") == ["Watch"]

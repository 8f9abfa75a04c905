"""Meaning of clicks, taps, drags and keys on the page of a match."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.web.browser import Browser
from tests.web.live import LivePage, checked_page
from tests.web.serving import Client

NOTICE = "document.getElementById('notice').textContent"
MOVE = "document.getElementById('move').value"


@pytest.fixture
def page(session_browser: Browser, client: Client) -> Iterator[LivePage]:
    yield from checked_page(session_browser, client)


def settled(page: LivePage, tick: int) -> None:
    """The match has come to a tick and stays there: what the page sent before has been played."""
    page.wait(f"ludus.tick === {tick} && ludus.game.myTurn")
    page.evaluate("ludus.game.send('pause')")
    page.wait("ludus.game.moment.paused")
    page.evaluate("ludus.game.send('resume')")
    page.wait("!ludus.game.moment.paused")
    assert page.evaluate("ludus.tick") == tick


def cell(page: LivePage, column: int, row: int) -> tuple[float, float]:
    x, y = page.evaluate(
        "(() => { const b = document.getElementById('map').getBoundingClientRect();"
        f" const [x, y] = ludus.game.view.pointOf({column}, {row}); return [b.x + x, b.y + y]; }})()"
    )
    return x, y


@pytest.mark.parametrize(
    ("game", "at", "params"),
    [("connect_four", (3, 2), {}), ("go", (2, 2), {"size": 5})],
)
def test_a_double_click_is_one_move(
    page: LivePage, game: str, at: tuple[int, int], params: dict[str, Any]
) -> None:
    page.play(game, ["person", "random"], params, seed=4)
    page.wait("ludus.game.myTurn")
    x, y = cell(page, *at)
    for count in (1, 2, 3):
        page.browser.click(x, y, count=count)
        page.wait("ludus.game.myTurn && ludus.tick > 0")
    settled(page, 2)
    assert page.evaluate(NOTICE) == ""
    page.evaluate("ludus.game.clicks.last.at -= 1000")  # later
    x, y = cell(page, at[0] - 1, at[1])
    page.browser.click(x, y)
    settled(page, 4)


def test_two_taps_are_one_move(page: LivePage) -> None:
    page.play("connect_four", ["person", "random"], seed=4)
    page.wait("ludus.game.myTurn")
    page.evaluate("document.getElementById('confirm').checked && document.getElementById('confirm').click()")
    page.browser.phone(390, 844)
    page.wait("innerWidth === 390 && ludus.game.view.pointOf(6, 0)[0] < 390")
    x, y = cell(page, 3, 2)
    page.browser.tap(x, y)
    page.browser.tap(x + 9, y - 7)
    settled(page, 2)
    page.browser.call("Emulation.setTouchEmulationEnabled", enabled=False)


def test_a_double_click_on_a_button_and_a_held_key_are_one_move(page: LivePage) -> None:
    page.play("go", ["person", "random"], {"size": 5}, seed=4)
    page.wait("ludus.game.myTurn")
    x, y = page.middle("button[data-choice='25']")  # a second pass might end the match
    for count in (1, 2):
        page.browser.click(x, y, count=count)
        page.wait("ludus.game.myTurn && ludus.tick > 0")
    settled(page, 2)
    page.play("connect_four", ["person", "random"], seed=4)
    page.wait("ludus.game.myTurn")
    page.browser.press("ArrowLeft")
    page.wait("document.activeElement.id === 'map'")
    enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
    for repeated in (False, True, True, True):
        page.browser.call("Input.dispatchKeyEvent", type="keyDown", autoRepeat=repeated, **enter)
        page.wait("ludus.game.myTurn && ludus.tick > 0")
    page.browser.call("Input.dispatchKeyEvent", type="keyUp", key="Enter", code="Enter")
    settled(page, 2)


@pytest.mark.parametrize(
    ("key", "code", "means"),
    [
        ("!", "Digit1", "!"),  # with Shift
        ("&", "Digit1", "1"),  # AZERTY
        ("é", "Digit2", "2"),
        ("1", "Digit1", "1"),  # with Shift there
        ("+", "Digit1", "1"),  # Czech
        ("٣", "Digit3", "3"),
        ("7", "Numpad7", "7"),
        ("Home", "Numpad7", "Home"),  # without Num Lock
        ("a", "KeyQ", "a"),  # AZERTY: the letter that is written
        ("т", "KeyN", "n"),
        ("Τ", "KeyT", "t"),
        ("z", "KeyY", "z"),
        ("é", "KeyE", "é"),
        ("ArrowUp", "ArrowUp", "ArrowUp"),
        (" ", "Space", " "),
    ],
)
def test_a_key_means_what_it_writes_or_what_stands_at_its_place(
    page: LivePage, key: str, code: str, means: str
) -> None:
    if not page.evaluate("window.ludus !== undefined"):
        page.go("/", "document.querySelector('#matches') !== null")
    shift = "true" if key == "!" else "false"
    event = f"new KeyboardEvent('keydown', {{key: '{key}', code: '{code}', shiftKey: {shift}}})"
    found = page.evaluate(f"import('/static/app/keys.js').then((m) => m.characterOf({event}))")
    assert found == means


def test_digits_and_letters_of_other_keyboards_play(page: LivePage) -> None:
    page.play("minirts", ["person", "noop"], rate=2.0)
    page.wait("ludus.tick > 5")
    for key, code, button in (("&", "Digit1", 0), ("2", "Numpad2", 1), ("é", "Digit2", 1)):
        page.evaluate("window.played = []; ludus.game.act = (action) => window.played.push(action)")
        page.browser.press(key, code=code)
        page.wait("window.played.length === 1")
        assert page.evaluate("window.played[0][0]") == page.evaluate(
            f"Number(document.querySelectorAll('.choices button')[{button}].dataset.choice)"
        )
    page.play("minirts", ["person", "noop"], {"commands": "units"}, seed=1)
    page.wait("ludus.tick > 5")
    page.browser.press("т", code="KeyN")
    page.wait("ludus.game.units.selected.size === 1")
    page.play("connect_four", ["person", "random"])
    page.wait("ludus.game.myTurn")
    page.browser.press('"', code="Digit3")
    page.wait(f"{MOVE} === '3' && document.activeElement.id === 'move'")
    page.browser.press("Enter")
    page.wait("ludus.tick === 2")
    assert page.text("#moves .row:last-child .what") == "3"


def test_a_finger_draws_a_box_around_units_and_the_page_stays(page: LivePage) -> None:
    page.play("minirts", ["person", "noop"], {"commands": "units"}, seed=1, rate=0.05)
    page.browser.phone(390, 700)
    page.wait("innerWidth === 390 && ludus.game.view.pointOf(19, 0)[0] < 390")
    assert page.evaluate("getComputedStyle(document.getElementById('map')).touchAction") == "none"
    size = page.evaluate("[ludus.game.view.tracks.width, ludus.game.view.tracks.height]")
    page.evaluate("document.getElementById('map').scrollIntoView()")
    at = page.evaluate("scrollY")
    (left, top), (right, low) = cell(page, 0, 0), cell(page, size[0] - 1, size[1] - 1)

    def drag(end: str, second: bool = False) -> None:
        page.browser.touch("touchStart", (left, top))
        for step in range(1, 13):
            share = step / 12
            page.browser.touch("touchMove", (left + share * (right - left), top + share * (low - top)))
        if second:
            page.browser.touch("touchStart", (right, low), (left + 40, top + 40))
            page.browser.touch("touchEnd", (right, low))
        page.browser.touch(end)

    def selects(drags: Callable[[str], None]) -> None:
        for _ in range(4):  # on a busy machine a finger may rest for so long that it is no drag
            drags("touchEnd")
            if page.evaluate("ludus.game.units.selected.size") >= 2:
                return
        raise AssertionError("no units in the box")

    drag("touchCancel")
    assert page.evaluate("ludus.game.units.selected.size") == 0
    assert page.evaluate("ludus.game.said").startswith("nothing") is False
    selects(drag)
    assert page.evaluate("scrollY") == at
    page.evaluate("ludus.game.units.select([])")
    selects(lambda end: drag(end, second=True))  # a further finger neither ends the box nor starts one
    page.browser.call("Emulation.setTouchEmulationEnabled", enabled=False)


def test_a_held_button_ends_with_its_own_finger(page: LivePage) -> None:
    page.play("pommerman", ["person", "noop", "noop", "noop"], rate=2.0)
    page.evaluate("window.held = []; ludus.game.act = (action) => window.held.push(action[0])")
    button = "document.querySelector('.pad-ArrowUp')"
    for kind, pointer in (("pointerdown", 7), ("pointerdown", 8), ("pointerup", 8)):
        page.evaluate(
            f"{button}.setPointerCapture = () => 0;"
            f" {button}.dispatchEvent(new PointerEvent('{kind}', {{pointerId: {pointer}, bubbles: true}}))"
        )
    page.evaluate("window.held = []")
    page.wait("window.held.length > 1")  # it is held, and repeats
    for kind in ("pointercancel", "lostpointercapture"):
        page.evaluate(f"{button}.dispatchEvent(new PointerEvent('{kind}', {{pointerId: 7, bubbles: true}}))")
    page.evaluate("window.held = []; window.since = ludus.tick")
    page.wait("ludus.tick > window.since + 2")
    assert page.evaluate("window.held") == []


def test_a_seat_that_is_out_has_no_buttons(page: LivePage) -> None:
    page.play("pommerman", ["person", "noop", "noop", "noop"], {"mode": "ffa"}, rate=20.0, seed=3)
    page.wait("ludus.tick > 0")
    assert not page.evaluate("document.querySelector('.pad button').disabled")
    page.browser.press(" ")  # and stay on the bomb
    page.wait("ludus.game.isOut && document.querySelector('.pad button').disabled")
    page.wait("document.getElementById('match-status').textContent.startsWith('Your seat is out; the match')")
    assert page.evaluate("ludus.act(1)") is False
    assert page.evaluate(NOTICE) == "Your seat is out of the match"


def test_moves_stay_when_the_page_is_loaded_again_and_some_are_taken_back(page: LivePage) -> None:
    page.play("connect_four", ["person", "random"], seed=2)
    for tick in (2, 4):
        page.wait("ludus.game.myTurn")
        page.evaluate("ludus.game.type('4')")
        page.wait(f"ludus.tick === {tick} && ludus.game.myTurn")
    log = "ludus.game.log.map((move) => [move.tick, move.seat, move.text])"
    before = page.evaluate(log)
    assert [move[:2] for move in before] == [[1, 0], [2, 1], [3, 0], [4, 1]]
    page.evaluate("window.before = true; location.reload()")
    page.wait("!window.before && window.ludus?.game.view && ludus.game.myTurn")
    assert page.evaluate(log) == before
    assert "None yet" not in page.text("#moves-panel")
    page.evaluate("document.getElementById('take-back').click()")
    page.wait("ludus.tick === 2")
    assert page.evaluate(log) == before[:2]
    page.evaluate("window.before = true; location.reload()")
    page.wait("!window.before && window.ludus?.game.view && ludus.game.myTurn")
    assert page.evaluate(log) == before[:2]
    page.evaluate("ludus.game.send('resign')")
    page.wait("document.getElementById('result') !== null")
    assert page.text("#result span") == "You lost. You resigned."


def test_a_move_on_its_way_is_the_only_one_of_its_turn(page: LivePage) -> None:
    page.play("connect_four", ["person", "random"])
    page.wait("document.getElementById('match-status').textContent === 'Your turn'")
    page.evaluate(  # a slow link
        "(() => { const { socket } = ludus.game.connection; const send = socket.send.bind(socket);"
        " window.held = []; socket.send = (text) => held.push(text);"
        " window.release = () => { socket.send = send; held.forEach((text) => send(text)); }; })()"
    )
    assert page.evaluate("ludus.act(3)") is True
    page.wait("document.getElementById('match-status').textContent === 'Your move is on its way'")
    assert page.text(".seat.to-move") == ""
    page.browser.press("4")
    page.wait(f"{MOVE} === '4'")
    page.browser.press("Enter")
    page.wait("document.getElementById('notice').textContent === 'Your move is on its way'")
    assert page.evaluate("held.filter((text) => text.includes('act')).length") == 1
    page.evaluate("release()")
    page.wait("ludus.tick === 2 && document.getElementById('match-status').textContent === 'Your turn'")
    assert page.evaluate(MOVE) == "4"  # what was typed early is still there
    page.browser.press("Enter")
    page.wait("ludus.tick === 4")


def test_a_refused_move_leaves_the_turn(page: LivePage) -> None:
    page.play("connect_four", ["person", "random"])
    page.wait("document.getElementById('match-status').textContent === 'Your turn'")
    page.evaluate("ludus.game.moment.tick = 7")  # the server refuses what was decided for another moment
    assert page.evaluate("ludus.act(3)") is True
    page.wait("document.getElementById('notice').textContent.startsWith('a decision for tick 7')")
    page.wait("document.getElementById('match-status').textContent === 'Your turn'")
    page.evaluate("ludus.game.moment.tick = 0")
    assert page.evaluate("ludus.act(3)") is True
    page.wait("ludus.tick === 2")


def test_two_persons_at_one_page_decide_at_the_same_moment(page: LivePage) -> None:
    page.play("matrix", ["person", "person"])
    page.wait("document.getElementById('match-status').textContent === 'Your turn'")
    page.click(".choices button[data-choice='0']")
    page.wait("ludus.game.seat === 1 && document.querySelectorAll('.seat.to-move').length === 1")
    page.browser.press("2")
    page.wait("document.querySelector('#result') !== null")
    assert page.evaluate("ludus.game.moment.last") == [[0, "rock"], [1, "paper"]]

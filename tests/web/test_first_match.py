"""A first match of every built-in game, played by a script that reads what the page shows and no more.

It starts with the explanation and ends with a sentence that gives the reason. Only that the page is ready is
known from elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import pytest

from tests.web.browser import Browser
from tests.web.live import LivePage, checked_page
from tests.web.serving import Client

PATIENCE_S = 60.0
ENDS = ("You won", "You lost", "A draw", "No one won")
# Texts of the buttons of a part of the page that can be pressed.
OPEN_BUTTONS = """[...document.querySelectorAll('%s button')]
  .filter((b) => b.offsetParent !== null && !b.disabled && b.getAttribute('aria-disabled') !== 'true')
  .map((b) => [...b.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data).join('').trim())"""


@pytest.fixture
def page(session_browser: Browser, client: Client) -> Iterator[LivePage]:
    yield from checked_page(session_browser, client)


def over(page: LivePage) -> bool:
    return bool(page.evaluate("document.querySelector('#result') !== null"))


def turn(page: LivePage) -> bool:
    """Wait until the page asks for a move; whether it does, or the match is over."""
    page.wait(
        "document.querySelector('#result') !== null"
        " || document.getElementById('match-status').textContent === 'Your turn'",
        PATIENCE_S,
    )
    return not over(page)


def press_first(page: LivePage) -> None:
    """Press a button that is open until the match is over."""
    while turn(page):
        moves = page.evaluate("document.querySelectorAll('#moves li').length")
        page.click(".choices button[aria-disabled=false]")
        page.wait(
            f"document.querySelectorAll('#moves li').length > {moves}"
            " || document.querySelector('#result') !== null"
        )


def type_in_turn(*moves: str) -> Callable[[LivePage], None]:
    """Type moves one after the other; one that is refused is left out."""

    def play(page: LivePage) -> None:
        for move in moves * 20:
            if not turn(page):
                return
            page.evaluate("document.getElementById('move').focus()")
            written = f"document.getElementById('move').value = {move!r}"
            told = "document.getElementById('move').dispatchEvent(new Event('input', {bubbles: true}))"
            page.evaluate(f"({written}, {told})")
            page.browser.press("Enter")
            page.wait(
                "document.querySelector('#result') !== null"
                " || document.getElementById('notice').textContent !== ''"
                " || !document.getElementById('move')?.value",
                PATIENCE_S,
            )

    return play


def wait_to_lose(page: LivePage) -> None:
    """Start the match, and give no order."""
    assert page.text("#match-status") == "Waiting for your first order"
    page.click("#start")


def stand_on_a_bomb(page: LivePage) -> None:
    page.browser.press(" ")
    page.wait("document.querySelector('#out, #result') !== null", PATIENCE_S)
    if not over(page):
        assert "You were caught in flames at tick " in page.text("#out")
        assert page.evaluate(OPEN_BUTTONS % ".pad") == []


class First(NamedTuple):
    """A first match: its other players, how the script plays, and a part of the last sentence."""

    others: tuple[str, ...]
    play: Callable[[LivePage], None]
    why: str
    params: Mapping[str, object] = MappingProxyType({})
    fast: bool = False


COLUMNS = tuple("1234567")
MATCHES = {
    "connect_four": First(("random",), type_in_turn(*COLUMNS), "in a row: column", fast=True),
    "minirts": First(("simple",), wait_to_lose, "Your last base fell at tick ", fast=True),
    "tic_tac_toe": First(
        ("random",), type_in_turn("b2", "a1", "c3", "a3", "c1", "a2", "b1", "b3", "c2"), " row"
    ),
    "gomoku": First(
        ("random",), type_in_turn("h8", "h9", "h10", "h11", "h12", "h7", "h6"), "five in a row: "
    ),
    "go": First(("random",), press_first, " leads by ", {"size": 5}),
    "kuhn_poker": First(("random",), press_first, ""),
    "leduc_poker": First(("call",), press_first, ""),
    "matrix": First(("first",), press_first, ""),
    "pommerman": First(("noop",) * 3, stand_on_a_bomb, "tick ", {"mode": "ffa"}),
    "capture_the_flag": First(
        ("simple",), wait_to_lose, "Simple (orange) brought the flag to its base 5 times"
    ),
    "moba": First(("noop",) * 2 + ("simple",) * 3, wait_to_lose, "ancient fell at tick "),
    "rts": First(("rush",), wait_to_lose, "Your last town hall fell at tick "),
    "tower_defense": First((), wait_to_lose, "Your base fell at tick "),
}


def first_match(page: LivePage, game: str) -> None:
    match = MATCHES[game]
    rate = 20.0 if match.play in (wait_to_lose, stand_on_a_bomb) else 1.0
    seats = ["person", *match.others]
    page.play(game, seats, dict(match.params), guide=True, start="order", seed=3, rate=rate)
    page.wait("document.querySelector('#guide .aim')?.textContent.length > 20")
    shown = page.text("#guide")
    assert "You win" in shown
    assert "You lose" in shown or "You are out" in shown
    page.browser.press("Escape")
    page.wait("document.querySelector('#guide') === null")
    match.play(page)
    page.wait("document.querySelector('#result') !== null", PATIENCE_S)
    text = page.text("#result span")
    assert text.startswith(ENDS)
    assert match.why in text
    assert "The match is over after" not in text
    assert {"Rematch"} <= set(page.evaluate(OPEN_BUTTONS % "#result"))


@pytest.mark.parametrize("game", [name for name, match in MATCHES.items() if match.fast])
def test_a_stranger_plays_a_first_match(page: LivePage, game: str) -> None:
    first_match(page, game)


@pytest.mark.slow
@pytest.mark.parametrize("game", [name for name, match in MATCHES.items() if not match.fast])
def test_a_stranger_plays_a_first_match_of_every_game(page: LivePage, game: str) -> None:
    first_match(page, game)

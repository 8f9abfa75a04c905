"""No button, label or message of the pages of a game is left without an explanation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ludus.games.registry import BUILT_IN
from tests.web.browser import Browser
from tests.web.live import LivePage, checked_page
from tests.web.serving import Client
from tools.first_visits import SETTLED, UNEXPLAINED, visits

FAST = ("minirts", "connect_four")


@pytest.fixture
def page(session_browser: Browser, client: Client) -> Iterator[LivePage]:
    yield from checked_page(session_browser, client)


@pytest.mark.parametrize(
    "game", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in BUILT_IN]
)
def test_a_first_visit_leaves_no_word_unexplained(page: LivePage, game: str) -> None:
    found = dict(visits(page, game))
    assert len(found) == 5  # set-up, before the first order, match, end, replay
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_a_word_without_explanation_is_found(page: LivePage) -> None:
    page.go("/play", "!!document.querySelector('#start:not(:disabled)')")
    add = "insertAdjacentHTML('beforeend', '<button>Frobnicate</button>')"
    page.evaluate(f"document.getElementById('app').{add}")
    page.evaluate(SETTLED)
    assert page.evaluate(UNEXPLAINED) == ["button: Frobnicate"]

"""A browser and a page with a made-up match."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ludus.storage import zoo
from ludus.web.replay_page import render
from tests.web import synthetic
from tests.web.browser import Browser
from tests.web.serving import Client, served


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page of a match of about 2,900 ticks."""
    path = tmp_path_factory.mktemp("page") / "match.html"
    path.write_text(render(synthetic.recording()), encoding="utf-8")
    return path


@pytest.fixture(scope="module", autouse=True)
def _no_trained_players(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Leave the package's trained players out, which the set-up page would start with."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zoo, "FOLDER", tmp_path_factory.mktemp("no-players"))
        yield


_browsers: list[Browser] = []


@pytest.fixture(scope="session")
def session_browser(chromium: str) -> Iterator[Browser]:
    with Browser(chromium) as browser:
        _browsers.append(browser)
        yield browser
        _browsers.clear()


@pytest.fixture(scope="module", autouse=True)
def _left_page() -> None:
    """Leave the page of another module: no test depends on which one ran before."""
    for browser in _browsers:
        browser.go("about:blank", ready="true")


@pytest.fixture
def browser(session_browser: Browser) -> Iterator[Browser]:
    """Yield a browser.

    A test with it also fails on any console error, and on any request but for the file itself.
    """
    yield session_browser
    assert session_browser.errors == []
    assert [url for url in session_browser.requests if not url.startswith(("file:///", "data:,"))] == []
    assert len([url for url in session_browser.requests if url.startswith("file:")]) <= 1


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Serve an empty folder."""
    with served(tmp_path_factory.mktemp("served")) as made:
        yield made

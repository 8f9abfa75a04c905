"""Pages whose server cannot be reached, and pages that are opened from elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ludus.web.serve import session as sessions
from ludus.web.serve.session import Session
from ludus.web.serve.watching import watch_run
from tests.web.browser import Browser
from tests.web.freezing import NAME, FreezingProxy, freezing
from tests.web.live import PLAYING
from tests.web.serving import Client, served
from tests.web.small_runs import make_run
from tests.web.test_serve_link import until

BEAT_S = 0.5
LOST = "ludus.game.link.state === 'lost'"
OPEN = "ludus.game.link.state === 'open'"
STATUS = "document.getElementById('match-status').textContent"
NOTICE = "document.getElementById('notice').textContent"
START = "!!document.querySelector('#start:not(:disabled)')"
LINK = "document.getElementById('link')"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("served")
    make_run(folder / "mine")
    with served(folder, BEAT_S) as made:
        yield made


@pytest.fixture(scope="module")
def proxy(client: Client) -> Iterator[FreezingProxy]:
    with freezing(client.port) as made:
        yield made


@pytest.fixture
def browser(session_browser: Browser, client: Client, proxy: FreezingProxy) -> Iterator[Browser]:
    yield session_browser
    proxy.thaw()
    for session in client.server.matches.listed():
        session.stop()


def open_match(
    browser: Browser, client: Client, game: str, *seats: str, **settings: object
) -> tuple[str, Session]:
    """Start a match and open its page through the proxy; return its id and its thread."""
    made = client.post({"game": game, "seats": seats, **settings}).json
    kind = "play" if "person" in seats else "watch"
    url = client.server.url(
        f"/{kind}/{made['id']}?key={made['key']}" if kind == "play" else f"/watch/{made['id']}"
    )
    browser.go(url.replace("127.0.0.1", NAME), ready=PLAYING)
    session = client.server.matches.get(made["id"])
    assert session is not None
    return made["id"], session


@pytest.mark.parametrize(
    "seats", [("person", "noop"), pytest.param(("simple", "noop"), marks=pytest.mark.slow)]
)
def test_a_dead_link_is_said_and_the_match_stands_until_it_lives(
    browser: Browser, client: Client, proxy: FreezingProxy, seats: tuple[str, ...]
) -> None:
    _, session = open_match(browser, client, "minirts", *seats, rate=0.2)
    browser.wait("ludus.tick > 0")
    proxy.freeze()
    browser.wait(LOST)
    assert browser.evaluate(STATUS) == "Connection lost, trying again"
    assert browser.evaluate("getComputedStyle(document.getElementById('map')).opacity") == "0.4"
    until(lambda: session._lost_at is not None)
    stood = session.table.match.tick
    if "person" in seats:
        assert browser.evaluate("ludus.act(0)") is False
        browser.wait(f"{NOTICE} === 'Connection lost: the move was not sent'")
    browser.evaluate("document.getElementById('pause').click()")
    browser.wait(f"{NOTICE} === 'Connection lost: nothing was sent'")
    assert session.table.match.tick == stood
    proxy.thaw()
    browser.wait(f"{OPEN} && ludus.tick > {stood}")
    browser.wait(f"{STATUS}.startsWith('Tick')")
    assert session._lost_at is None


def test_a_move_into_a_dead_link_is_said_and_counts_once(
    browser: Browser, client: Client, proxy: FreezingProxy
) -> None:
    _, session = open_match(browser, client, "connect_four", "person", "random", clock_s=500)
    browser.wait("ludus.game.myTurn")
    proxy.freeze()
    assert browser.evaluate("ludus.act(3)") is True
    browser.wait(LOST)
    browser.wait(f"{NOTICE} === 'The last move has not been confirmed'")
    clock = "document.querySelector('.seat-clock').textContent"
    shown = browser.evaluate(clock)
    until(lambda: session._lost_at is not None)
    proxy.thaw()
    browser.wait(OPEN)
    browser.wait(f"{NOTICE} === 'The last move was not received: send it again'")
    assert browser.evaluate("ludus.tick") == 0
    assert browser.evaluate(clock) >= shown  # m:ss of some eight minutes
    assert browser.evaluate("ludus.act(3)") is True
    browser.wait("ludus.tick === 2 && ludus.game.myTurn")
    assert browser.evaluate(NOTICE) == ""
    assert browser.evaluate("ludus.game.log.length") == 2


@pytest.mark.slow
def test_a_move_whose_answer_was_lost_is_not_asked_for_again(browser: Browser, client: Client) -> None:
    open_match(browser, client, "connect_four", "person", "random")
    browser.wait("ludus.game.myTurn")
    browser.evaluate(
        "(() => { const { connection } = ludus.game; connection.socket.onmessage = null;"
        " ludus.act(2); setTimeout(() => connection.lose(0, ''), 300); })()"
    )
    browser.wait(LOST)
    browser.wait(f"{OPEN} && ludus.tick === 2")
    assert browser.evaluate(NOTICE) == ""
    assert browser.evaluate("ludus.game.log.map((move) => move.seat)") == [0, 1]


def test_a_watched_run_is_watched_again_after_its_first_match(
    browser: Browser, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "BETWEEN_S", 0.1)
    run = client.server.library.run("mine")
    session = watch_run(client.server.matches, run.path, rate=5)
    browser.go(client.server.url(f"/watch/{session.match}"), ready=PLAYING)
    browser.wait("ludus.over !== null")
    browser.wait("ludus.over === null")
    browser.evaluate("ludus.game.connection.lose(1006, '')")
    browser.wait(f"{OPEN} && ludus.game.connection.answered")


@pytest.mark.parametrize("path", ["/play?game=tic_tac_toe", pytest.param("/", marks=pytest.mark.slow)])
def test_a_page_without_a_match_says_that_its_link_is_dead(
    browser: Browser, client: Client, proxy: FreezingProxy, path: str
) -> None:
    ready = START if path != "/" else "document.querySelectorAll('#runs tbody tr').length === 1"
    browser.go(client.server.url(path).replace("127.0.0.1", NAME), ready=ready)
    assert browser.evaluate(LINK) is None
    proxy.freeze()
    if path != "/":  # a request that hangs ends, and can be made again
        browser.evaluate("document.getElementById('start').click()")
        browser.wait(
            "[...document.querySelectorAll('.failure')].at(-1)?.textContent.startsWith('There was no answer')"
        )
    browser.wait(f"{LINK}?.textContent.startsWith('Connection lost')")
    proxy.thaw()
    browser.wait(f"{LINK} === null")
    if path != "/":
        browser.wait(START)
        browser.evaluate("document.getElementById('start').click()")
        browser.wait(f"location.pathname.startsWith('/play/') && window.ludus && {PLAYING}")


def test_pages_of_an_ended_server_say_so(session_browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as client:  # a busy machine does not lose the page before the goodbye
        open_without_proxy(session_browser, client)
        client.server.stop()
        session_browser.wait(f"{STATUS} === 'The server has ended, trying again'")
    session_browser.evaluate("ludus.game.connection.gone = false")  # a killed server sends no goodbye
    session_browser.wait(f"{STATUS}.startsWith('The server does not answer: it has ended')")
    with served(tmp_path, BEAT_S) as client:
        session_browser.go(client.server.url("/"), ready="document.querySelector('#matches') !== null")
    session_browser.wait(f"{LINK}?.textContent === 'The server does not answer. Is ludus still running?'")


def open_without_proxy(browser: Browser, client: Client) -> None:
    made = client.post({"game": "connect_four", "seats": ["person", "random"]}).json
    browser.go(client.server.url(f"/play/{made['id']}?key={made['key']}"), ready=PLAYING)


def test_a_page_without_the_token_says_why_it_may_not_join(browser: Browser, client: Client) -> None:
    open_without_proxy(browser, client)
    browser.call("Network.clearBrowserCookies")
    browser.evaluate("ludus.game.connection.lose(1006, '')")
    browser.wait("ludus.game.link.state === 'closed'")
    browser.wait(f"{STATUS}.startsWith('open the address that the command printed')")


class Elsewhere(BaseHTTPRequestHandler):
    """A page of another site with a link to the printed address."""

    address = ""

    def do_GET(self) -> None:
        page = f'<link rel="icon" href="data:,"><a id="link" href="{self.address}">a match</a>'.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Write nothing."""


@pytest.mark.parametrize("host", ["127.0.0.1", pytest.param(NAME, marks=pytest.mark.slow)])
def test_the_printed_address_works_as_a_link_of_another_site(
    browser: Browser, client: Client, host: str
) -> None:
    browser.call("Network.clearBrowserCookies")
    made = client.post({"game": "connect_four", "seats": ["person", "random"]}).json
    url = client.server.url(f"/play/{made['id']}?key={made['key']}").replace("127.0.0.1", host)
    handler = type("Handler", (Elsewhere,), {"address": url})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        browser.go(f"http://localhost:{site.server_port}/", ready="document.getElementById('link') !== null")
        browser.evaluate("document.getElementById('link').click()")
        browser.wait(
            f"location.pathname.startsWith('/play/') && window.ludus && {PLAYING} && ludus.game.myTurn"
        )
        assert browser.evaluate("ludus.act(3)") is True
        browser.wait("ludus.tick === 2")
        site.shutdown()

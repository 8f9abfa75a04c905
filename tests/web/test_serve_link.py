"""Who is connected: pages that fall silent, come back and send again, and who else may open a socket."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ludus.web.serve import messages
from ludus.web.serve.guard import Guard
from ludus.web.serve.library import Library
from ludus.web.serve.messages import CLOSE_FORBIDDEN, CLOSE_SILENT
from ludus.web.serve.server import PageServer
from ludus.web.serve.session import Session
from tests.web.freezing import freezing
from tests.web.serving import PATIENCE_S, Client, Refused, Socket, served

BOARD = "connect_four"
BEAT_S = 0.4


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with served(tmp_path_factory.mktemp("served"), BEAT_S) as made:
        yield made


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def session_of(client: Client, page: Socket) -> Session:
    session = client.server.matches.get(page.hello["match"])
    assert session is not None
    return session


def resign(client: Client, page: Socket) -> None:
    """End a match: a server plays few at a time."""
    session = session_of(client, page)
    session.stop()
    until(lambda: session.closed)


def test_a_silent_page_is_lost_and_its_match_stands(client: Client) -> None:
    """A link that is dead closes no socket: the page reads nothing, and answers nothing."""
    page = client.play("pommerman", "person", "noop", "noop", "noop", rate=2).greet()
    assert page.hello["beat_s"] == BEAT_S
    page.get("moment")
    page.answers = False
    assert page.wait_closed() == (CLOSE_SILENT, "no sign of life of the page")
    session = session_of(client, page)
    until(lambda: session._lost_at is not None)
    stood = session.table.match.tick
    time.sleep(2 * BEAT_S)
    assert session.table.match.tick == stood
    back = client.socket(page.hello["match"], page.hello["key"]).greet()
    assert back.hello["first"]["tick"] == stood
    assert back.get("moment")["tick"] > stood
    resign(client, back)


def test_a_page_that_answers_stays_though_no_one_plays(client: Client) -> None:
    page = client.play(BOARD, "person", "random").greet()
    with pytest.raises(TimeoutError):
        page.get(seconds=6 * BEAT_S)
    page.act(3)
    assert page.get("moment")["tick"] == 1
    resign(client, page)


def test_a_clock_does_not_run_out_while_its_page_is_lost(client: Client) -> None:
    seconds = 2 * BEAT_S  # less than it takes to be sure that the page is lost
    page = client.play(BOARD, "person", "random", clock_s=seconds).greet()
    page.answers = False
    page.wait_closed()
    session = session_of(client, page)
    until(lambda: session._lost_at is not None)
    time.sleep(seconds)
    back = client.socket(page.hello["match"], page.hello["key"]).greet()
    assert 0 < back.hello["first"]["left_s"]["0"] <= seconds
    back.act(3)
    assert back.get("moment")["tick"] == 1
    resign(client, back)


def test_a_clock_gives_back_the_time_since_the_last_sign_of_life(client: Client) -> None:
    page = client.play(BOARD, "person", "random", clock_s=100).greet()
    session = session_of(client, page)
    (viewer,) = session._viewers
    ends = session._clock.ends
    page.answers = False
    until(lambda: session._lost_at is not None)
    left = session._clock.left(time.monotonic())["0"]
    assert left == pytest.approx(min(100, ends - viewer.heard_at), abs=0.1)
    assert session._lost_at is not None
    assert ends - session._lost_at < left
    resign(client, page)


def test_a_move_that_comes_twice_counts_once(client: Client) -> None:
    """A page that comes back takes its own place: what its former socket delivers late has no effect."""
    made = client.post({"game": BOARD, "seats": ["person", "person"]}).json
    path = f"/ws/matches/{made['id']}?key={made['key']}&page=mine"
    old = Socket(client, path, {}).greet()
    new = Socket(client, path, {}).greet()
    new.act(3, seat=0, echo=2)
    assert new.get("moment")["tick"] == 1
    old.act(3, seat=0, tick=0, echo=1)  # it was on its way
    old.act(4, seat=1, tick=1, echo=1)  # and would be legal
    time.sleep(0.2)
    new.act(5, seat=1, tick=1, echo=3)
    assert new.get("moment")["last"] == [[1, "6"]]
    assert new.last["tick"] == 2
    resign(client, new)


def test_a_message_of_a_page_that_has_left_has_no_effect(client: Client) -> None:
    page = client.play(BOARD, "person", "random").greet()
    session = session_of(client, page)
    (viewer,) = session._viewers
    page.drop()
    until(lambda: session._lost_at is not None)
    session.post(viewer, messages.Act(1, 0, 0, (3,)))
    back = client.socket(page.hello["match"], page.hello["key"]).greet()
    assert back.hello["first"]["tick"] == 0
    resign(client, back)


def test_a_frozen_link_holds_no_place_for_long(client: Client) -> None:
    with freezing(client.port) as proxy:
        page = client.play("minirts", "person", "simple", rate=20).greet()
        watching = Socket(client, f"/ws/matches/{page.hello['match']}", {}, proxy.address).greet()
        connections = client.server._server.server_state.connections
        proxy.freeze()
        for viewer in session_of(client, page)._viewers:
            if not viewer.plays:
                viewer.send("x" * (32 << 20), False)  # more than the machine buffers
        until(lambda: all(viewer.plays for viewer in session_of(client, page)._viewers))
        page.drop()
        until(lambda: not connections)  # unread messages keep none open
        watching.drop()
        resign(client, page)


def test_a_socket_without_the_token_is_told_why(client: Client) -> None:
    for cookie in (None, f"ludus-{client.port}=wrong"):
        refused = client.socket("0" * 16, Cookie=cookie)
        code, why = refused.wait_closed()
        assert code == CLOSE_FORBIDDEN
        assert why == "open the address that the command printed: it has a token, this request has not"
        assert len(why.encode()) < 124  # as much as a close may have
    for headers in ({"Origin": "http://evil.example"}, {"Host": f"evil.example:{client.port}"}):
        with pytest.raises(Refused, match="403"):
            client.socket("0" * 16, **headers).get("hello")


def test_any_cookie_of_the_name_may_be_the_token(client: Client) -> None:
    """A page of another port sets one of the same name and a longer path, which browsers send first."""
    name = f"ludus-{client.port}"
    for cookie in (
        f"{name}=other; {name}={client.token}",
        f"{name}={client.token}; {name}=other",
        f"{name}; {name}=; x=1; {name}={client.token}",
    ):
        assert client.ask("/api/games", Cookie=cookie).status == 200
    assert client.ask("/api/games", Cookie=f"{name}=other; {name}=another; x={client.token}").status == 403


def test_servers_of_one_port_have_cookies_of_their_own(client: Client, tmp_path: Path) -> None:
    """Ports of several machines, forwarded to this one, may be the same at their ends."""
    answer = client.ask(f"/?token={client.token}", Cookie=None)
    cookie = answer.headers["set-cookie"].partition(";")[0]
    assert client.ask("/api/games", Cookie=cookie).status == 200
    other = Guard(lambda *_: None, client.port, "other")  # type: ignore[arg-type]
    assert cookie.partition("=")[0] != other._cookie
    assert client.ask("/api/games", Cookie=f"{other._cookie}={client.token}").status == 403


def test_who_is_connected_is_known_within_six_seconds(client: Client, tmp_path: Path) -> None:
    assert messages.BEAT_S * messages.MISSING <= 6
    server = PageServer(Library(tmp_path))
    assert server.matches.beat_s == messages.BEAT_S
    server.close()
    assert client.ask("/api/alive").json == {"beat_s": BEAT_S}


@pytest.mark.parametrize(
    ("site", "mode", "dest", "status"),
    [
        ("same-origin", "cors", "empty", 200),
        ("none", "navigate", "document", 200),
        ("cross-site", "navigate", "document", 200),  # a link of another site
        ("same-site", "navigate", "document", 200),  # a link of another port
        ("same-site", "no-cors", "image", 403),
        ("same-site", "cors", "empty", 403),
        ("same-site", "navigate", "iframe", 403),
        ("cross-site", "no-cors", "script", 403),
    ],
)
def test_pages_of_another_port_use_no_cookie_of_this_one(
    client: Client, site: str, mode: str, dest: str, status: int
) -> None:
    """Cookies do not tell ports apart, a browser's account of a request does."""
    given = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest}
    assert client.ask("/api/games", body=b"", method="GET", **given).status == status

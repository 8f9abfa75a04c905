"""The server answers while others hold connections or a disk is slow, and reads addresses as browsers do."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Never

import pytest

from ludus.web.serve import server as serve_server
from ludus.web.serve.library import Run, UnknownId
from ludus.web.serve.messages import CLOSE_UNKNOWN
from ludus.web.serve.runs import curves_of, line_of
from ludus.web.serve.server import ADDRESS
from tests.web.serving import Client, served
from tests.web.small_runs import make_run


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with served(tmp_path) as made:
        yield made


def test_half_requests_take_no_place_for_long(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve_server, "REQUEST_S", 0.5)
    with contextlib.ExitStack() as opened:
        for number in range(140):
            raw = opened.enter_context(socket.create_connection((ADDRESS, client.port), 5))
            raw.sendall(b"GET / HTTP/1.1\r\nHost" if number % 2 else b"")
        raw.settimeout(10)
        assert raw.recv(1) == b""
        end = time.monotonic() + 10
        while (status := client.ask("/api/matches").status) == 503 and time.monotonic() < end:
            time.sleep(0.1)
    assert status == 200


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "socket"])
def test_strangers_that_stay_leave_room_for_pages(client: Client, sent: bytes | str) -> None:
    """Connections that have not shown the token end first, however many there are."""
    if isinstance(sent, str):
        handshake = (
            "GET /ws/matches/x HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\nUpgrade: websocket\r\n"
        )
        handshake += "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
        sent = f"{handshake}{'A' * 22}==\r\n\r\n".replace("HOST", client.host).encode()
    page = client.play("connect_four", "person", "random").greet()
    with contextlib.ExitStack() as opened:
        for number in range(300):
            raw = opened.enter_context(socket.create_connection((ADDRESS, client.port), 5))
            raw.sendall(sent)
            if number % 20 == 0:
                assert client.ask("/api/matches").status == 200
        assert client.ask("/api/matches").status == 200
        page.act(3)
        assert page.get("moment")["tick"] == 1


def test_a_request_that_its_page_gives_up_is_no_error(
    client: Client, capfd: pytest.CaptureFixture[str]
) -> None:
    head = f"POST /api/matches HTTP/1.1\r\nHost: {client.host}\r\nOrigin: http://{client.host}\r\n"
    head += f"Cookie: {client.headers['Cookie']}\r\n"
    upgrade = f"GET /ws/matches/x HTTP/1.1\r\nHost: {client.host}\r\nOrigin: http://{client.host}\r\n"
    upgrade += f"Cookie: {client.headers['Cookie']}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    upgrade += f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {'A' * 22}==\r\n\r\n"
    requests = [
        f"{head}Content-Length: 100\r\n\r\n{{",
        f"{head}Content-Length: 100\r\n\r\n",
        f"{head}Transfer-Encoding: chunked\r\n\r\n5\r\n{{",
        f"GET /api/runs HTTP/1.1\r\nHost: {client.host}\r\nCookie: {client.headers['Cookie']}\r\n\r\n",
        upgrade,
    ]
    for number, request in enumerate(requests * 4):
        with socket.create_connection((ADDRESS, client.port), 5) as raw:
            raw.sendall(request.encode())
            if number % 2:
                time.sleep(0.05)
            # RST, and not a goodbye
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", number % 3 == 0, 0))
    for _ in range(3):
        assert client.ask("/api/games").status == 200
    assert capfd.readouterr().err == ""


def test_matches_that_no_page_has_joined_make_room(client: Client) -> None:
    asked = {"game": "connect_four", "seats": ["person", "random"]}
    made = [client.post(asked).json for _ in range(4)]
    joined = [client.socket(match["id"], match["key"]).greet() for match in made[1:3]]
    more = [client.post(asked) for _ in range(3)]
    assert [answer.status for answer in more] == [201] * 3
    assert client.socket(made[0]["id"]).wait_closed()[0] == CLOSE_UNKNOWN  # the oldest without a page
    for page in joined:
        page.act(3)
        assert page.get("moment")["tick"] == 1
    joined += [client.socket(answer.json["id"], answer.json["key"]).greet() for answer in more[1:]]
    assert client.post(asked).status == 429
    assert "end one first" in client.post(asked).why


def test_a_slow_disk_stops_no_match(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    library = client.server.library
    asked, free = threading.Event(), threading.Event()

    def slow(name: str) -> Never:
        asked.set()
        free.wait(10)
        raise UnknownId(name)

    monkeypatch.setattr(library, "run", slow)
    monkeypatch.setattr(library, "replay", slow)
    answers: list[int] = []
    for path in ("/api/runs/x", "/api/runs/x/curves", "/replay/x", "/api/replays/x/thoughts?with=mcts:10"):
        asked.clear()
        free.clear()
        thread = threading.Thread(target=lambda path=path: answers.append(client.ask(path).status))
        thread.start()
        assert asked.wait(10)
        started = time.monotonic()
        assert client.ask("/api/matches").status == 200
        assert time.monotonic() - started < 5
        free.set()
        thread.join(10)
    assert answers == [404] * 4


def test_a_run_tells_the_parameters_of_its_game(tmp_path: Path) -> None:
    run = make_run(tmp_path / "small")
    run.config.write_text('[game]\nname = "go"\n\n[game.params]\nsize = 5\n')
    assert line_of(Run("small", "small", run.path)).params == {"size": "5"}
    run.config.write_text('[game]\nname = "go"\n\n[game.params]\nrulebook = "' + "x" * 3000 + '"\n')
    assert line_of(Run("small", "small", run.path)).params == {}
    run.config.write_bytes(b"\xff[[[")
    assert line_of(Run("small", "small", run.path)).params == {}


def test_an_evaluation_that_is_written_late_stands_at_its_place(tmp_path: Path) -> None:
    run = make_run(tmp_path / "late", versions=())
    rows = [{"steps": 100, "a/b": 1.0}, {"steps": 300, "a/b": 3.0}, {"steps": 100, "e/w": 0.5}]
    rows += [{"steps": 200, "e/w": 0.75}, {"steps": 300, "e/w": 0.9}]
    run.metrics_path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    curves = curves_of(Run("late", "late", run.path), ["a/b", "e/w"], "steps", 100)
    assert curves.x == (100.0, 200.0, 300.0)
    assert curves.series["a/b"].mean == (1.0, None, 3.0)
    assert curves.series["e/w"].mean == (0.5, 0.75, 0.9)

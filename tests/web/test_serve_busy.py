"""The server answers while others hold connections or a disk is slow, and reads addresses as browsers do."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Never

import pytest
from starlette.types import Receive, Scope, Send

from ludus.web.serve import server as serve_server
from ludus.web.serve.guard import Guard
from ludus.web.serve.library import Run, UnknownId
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


def test_the_port_of_http_is_left_out_as_browsers_do() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("not asked")

    for port, hosts in ((80, ("127.0.0.1", "127.0.0.1:80", "[::1]")), (8642, ("localhost:8642",))):
        guard = Guard(app, port, "token")
        assert all(guard._wrong_host([("host", host)]) is None for host in hosts)
        assert guard._wrong_host([("host", f"127.0.0.1:{port + 1}")])
    assert guard._wrong_host([("host", "127.0.0.1")])


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
    run.metrics.write_text("".join(json.dumps(row) + "\n" for row in rows))
    curves = curves_of(Run("late", "late", run.path), ["a/b", "e/w"], "steps", 100)
    assert curves.x == (100.0, 200.0, 300.0)
    assert curves.series["a/b"].mean == (1.0, None, 3.0)
    assert curves.series["e/w"].mean == (0.5, 0.75, 0.9)

"""A server in a thread, and clients of it: HTTP, and a WebSocket of its own on wsproto."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Ping,
    RejectConnection,
    Request,
    TextMessage,
)

from ludus.web.serve.library import Library
from ludus.web.serve.server import ADDRESS, PageServer

PATIENCE_S = 20.0
QUIET_S = 60.0  # between signs of life, where a test is not about them: a busy machine loses no page
Message = dict[str, Any]


class Refused(Exception):
    """The server did not open a socket."""


class Answer:
    """An answer over HTTP."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self) -> Any:  # noqa: ANN401
        return json.loads(self.body)

    @property
    def why(self) -> str:
        """The sentence of a refusal, which is one line and no traceback."""
        text = self.body.decode()
        assert "Traceback" not in text
        why = str(json.loads(text)["why"]) if text.startswith("{") else text.strip()
        assert "\n" not in why
        return why


class Client:
    """A browser of this machine that has opened the printed address."""

    def __init__(self, server: PageServer) -> None:
        self.server, self.port = server, server.port
        self.token = parse_qs(urlsplit(server.url()).query)["token"][0]
        self.host = f"{ADDRESS}:{self.port}"
        self.headers = {"Cookie": f"ludus-{self.port}={self.token}", "Origin": f"http://{self.host}"}

    def ask(self, path: str, *, method: str = "GET", body: bytes = b"", **headers: str | None) -> Answer:
        """Send a request; ``headers`` replace the client's own, None leaves one out."""
        connection = http.client.HTTPConnection(ADDRESS, self.port, timeout=PATIENCE_S)
        sent = {**self.headers, **headers}
        try:
            connection.putrequest(method, path, skip_host="Host" in sent, skip_accept_encoding=True)
            for name, value in sent.items():
                if value is not None:
                    connection.putheader(name, value)
            if body:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body or None)
            found = connection.getresponse()
            named = {name.lower(): value for name, value in found.getheaders()}
            return Answer(found.status, named, found.read())
        finally:
            connection.close()

    def post(self, value: object, **headers: str | None) -> Answer:
        """Ask for a match."""
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return self.ask("/api/matches", method="POST", body=body, **headers)

    def play(self, game: str, *seats: str, **more: Any) -> Socket:  # noqa: ANN401
        """Start a match and return the socket of the page that plays it."""
        answer = self.post({"game": game, "seats": seats, **more})
        assert answer.status == 201, answer.body
        made = answer.json
        return self.socket(made["id"], made["key"])

    def socket(self, match: str, key: str = "", **headers: str | None) -> Socket:
        """Open the socket of a match."""
        return Socket(self, f"/ws/matches/{match}" + (f"?key={key}" if key else ""), headers)


class Socket:
    """One WebSocket. Messages of the server in their order, each read once."""

    def __init__(
        self,
        client: Client,
        target: str,
        headers: dict[str, str | None],
        address: tuple[str, int] | None = None,
    ) -> None:
        self.client = client
        self.closed: tuple[int, str] | None = None
        self.hello: Message = {}
        self.last: Message = {}  # the newest moment
        self.answers = True  # signs of life
        self._read: list[Message] = []
        self._text = ""
        self._socket = socket.create_connection(address or (ADDRESS, client.port), PATIENCE_S)
        self._ws = WSConnection(ConnectionType.CLIENT)
        sent = {**client.headers, **headers}
        host = sent.pop("Host", None) or client.host
        extra = [(name.encode(), value.encode()) for name, value in sent.items() if value is not None]
        self._socket.sendall(self._ws.send(Request(host, target, extra_headers=extra)))
        self._opened = False
        while not self._opened and self.closed is None:
            self._receive()

    def __enter__(self) -> Socket:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()

    def drop(self) -> None:
        """Lose the connection, without a goodbye."""
        self._socket.close()

    def send(self, message: Message | bytes | str) -> None:
        """Send a message, JSON or anything else."""
        data = json.dumps(message) if isinstance(message, dict) else message
        event = BytesMessage(data) if isinstance(data, bytes) else TextMessage(data)
        self._socket.sendall(self._ws.send(event))

    def act(self, *action: int, seat: int | None = None, tick: int | None = None, echo: int = 1) -> None:
        """Send a decision."""
        own = self.hello["you"][0] if seat is None else seat
        at = self.last["tick"] if tick is None else tick
        self.send({"type": "act", "echo": echo, "tick": at, "seat": own, "action": list(action)})

    def get(self, kind: str = "", seconds: float = PATIENCE_S) -> Message:
        """Return the next message of a kind, or of any; those before it are gone."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            while self._read:
                message = self._read.pop(0)
                if not kind or message["type"] == kind:
                    return message
                if message["type"] == "failed":
                    raise AssertionError(message)
            if self.closed is not None:
                raise Refused(f"closed: {self.closed}")
            self._receive(end - time.monotonic())
        raise TimeoutError(f"no {kind or 'message'} in {seconds} s")

    def greet(self) -> Socket:
        """Wait for the server's first message."""
        self.get("hello")
        return self

    def wait_closed(self) -> tuple[int, str]:
        """Return code and reason of the server's close."""
        end = time.monotonic() + PATIENCE_S
        while self.closed is None and time.monotonic() < end:
            self._receive(end - time.monotonic())
        assert self.closed is not None
        return self.closed

    def _receive(self, seconds: float = PATIENCE_S) -> None:
        self._socket.settimeout(max(0.01, seconds))
        try:
            data = self._socket.recv(1 << 16)
        except TimeoutError:
            return
        except OSError:
            data = b""
        if not data:
            self.closed = self.closed or (1006, "")
            return
        self._ws.receive_data(data)
        for event in self._ws.events():
            if isinstance(event, RejectConnection):
                self.closed = (event.status_code, "")
            elif isinstance(event, AcceptConnection):
                self._opened = True
            elif isinstance(event, CloseConnection):
                self.closed = (event.code, event.reason or "")
            elif isinstance(event, Ping):
                self._socket.sendall(self._ws.send(event.response()))
            elif isinstance(event, TextMessage):
                self._text += event.data
                if event.message_finished:
                    self._keep(json.loads(self._text))
                    self._text = ""

    def _keep(self, message: Message) -> None:
        if message["type"] == "alive":  # a page answers it
            with suppress(OSError):  # closed by the server: the next reading shows it
                if self.answers:
                    self.send(message)
            return
        if message["type"] == "hello":
            self.hello, self.last = message, message["first"]
        elif message["type"] == "moment":
            self.last = message
        self._read.append(message)


@contextmanager
def served(folder: Path, beat_s: float = QUIET_S) -> Iterator[Client]:
    """Serve a folder in a thread."""
    server = PageServer(Library(folder), free_port(), beat_s=beat_s)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        assert server.wait_until_ready()
        yield Client(server)
    finally:
        server.stop()
        thread.join(PATIENCE_S)


def free_port() -> int:
    """Return a port that no one has."""
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        return int(probe.getsockname()[1])


def legal(moment: Message, seat: int, head: int = 0) -> list[int]:
    """Return the legal choices of a head."""
    return [k for k, allowed in enumerate(moment["legal"][str(seat)][head]) if allowed]

"""Plays a match at an address that ``ludus play`` printed, as its page does: HTTP, then a WebSocket."""

from __future__ import annotations

import json
import random
import socket
import time
from http.client import HTTPConnection
from typing import Any
from urllib.parse import parse_qs, urlsplit

#: Seconds that a match may take, and an answer.
MATCH_S, ANSWER_S = 600.0, 60.0


class PageError(RuntimeError):
    """The server did not answer as a page expects."""


def play_address(address: str, seed: int = 1) -> tuple[list[float], int]:
    """Play legal moves drawn by chance to the end. Returns the outcome by seat, and the number of moves."""
    parts = urlsplit(address)
    host = f"127.0.0.1:{parts.port}"
    cookie = _open_page(host, f"{parts.path}?{parts.query}")
    match, key = parts.path.rsplit("/", 1)[1], parse_qs(parts.query)["key"][0]
    page = _PageSocket(host, f"/ws/matches/{match}?key={key}", cookie)
    draw, moves, end = random.Random(seed), 0, time.monotonic() + MATCH_S
    hello = page.get("hello")
    (seat,), moment = hello["you"], hello["first"]
    while time.monotonic() < end:
        if seat in moment["to_act"]:
            action = [
                draw.choice([k for k, legal in enumerate(head) if legal])
                for head in moment["legal"][str(seat)]
            ]
            moves += 1
            page.send({"type": "act", "echo": moves, "tick": moment["tick"], "seat": seat, "action": action})
        moment = page.get("moment", "over")
        if moment["type"] == "over":
            return list(moment["outcome"]), moves
    raise PageError(f"{address}: the match is not over after {MATCH_S:.0f} s")


def _open_page(host: str, path: str) -> str:
    """Open the page as a browser does and return its cookie."""
    connection = HTTPConnection(host, timeout=ANSWER_S)
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    if answer.status != 303:
        raise PageError(f"{path}: status {answer.status}, expected 303 with a cookie")
    cookie = str(answer.headers["Set-Cookie"]).partition(";")[0]
    connection.request("GET", answer.headers["Location"], headers={"Cookie": cookie})
    answer = connection.getresponse()
    if answer.status != 200 or b"<!doctype html>" not in answer.read()[:100].lower():
        raise PageError(f"{path}: status {answer.status}, expected a page")
    connection.close()
    return cookie


class _PageSocket:
    """A WebSocket of the page."""

    def __init__(self, host: str, target: str, cookie: str) -> None:
        from wsproto import ConnectionType, WSConnection  # of the extra [web]
        from wsproto.events import Request

        address, port = host.split(":")
        self._socket = socket.create_connection((address, int(port)), ANSWER_S)
        self._ws = WSConnection(ConnectionType.CLIENT)
        headers = [(b"Cookie", cookie.encode()), (b"Origin", f"http://{host}".encode())]
        self._socket.sendall(self._ws.send(Request(host, target, extra_headers=headers)))
        self._text, self._read = "", list[dict[str, Any]]()

    def send(self, message: dict[str, Any]) -> None:
        from wsproto.events import TextMessage

        self._socket.sendall(self._ws.send(TextMessage(json.dumps(message))))

    def get(self, *kinds: str) -> dict[str, Any]:
        """Return the next message of one of these kinds."""
        end = time.monotonic() + MATCH_S
        while time.monotonic() < end:
            while self._read:
                message = self._read.pop(0)
                if message["type"] == "alive":  # a page answers it
                    self.send(message)
                elif message["type"] == "failed":
                    raise PageError(str(message))
                elif message["type"] in kinds:
                    return message
            self._receive()
        raise PageError(f"no {' or '.join(kinds)} within {MATCH_S:.0f} s")

    def _receive(self) -> None:
        from wsproto.events import CloseConnection, Ping, RejectConnection, TextMessage

        data = self._socket.recv(1 << 16)
        if not data:
            raise PageError("the server closed the connection")
        self._ws.receive_data(data)
        for event in self._ws.events():
            if isinstance(event, RejectConnection):
                raise PageError(f"the socket was refused: status {event.status_code}")
            if isinstance(event, CloseConnection):
                raise PageError(f"the server closed the socket: {event.code} {event.reason or ''}")
            if isinstance(event, Ping):
                self._socket.sendall(self._ws.send(event.response()))
            elif isinstance(event, TextMessage):
                self._text += event.data
                if event.message_finished:
                    self._read.append(json.loads(self._text))
                    self._text = ""

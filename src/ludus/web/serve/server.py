"""The server as a process: a port of this machine, a token, an end that saves the matches."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import secrets
import signal
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from types import FrameType

import uvicorn
import wsproto  # noqa: F401 - uvicorn imports it when it serves: too late to report that it is missing
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.wsproto_impl import WSProtocol

from ludus.flow.problem import Argument, HasProblems
from ludus.flow.process.interrupts import on_stop
from ludus.web.frames.shows import Shows
from ludus.web.serve.app import make_app
from ludus.web.serve.guard import KNOWN, TOKEN
from ludus.web.serve.library import Library
from ludus.web.serve.matches import Sessions
from ludus.web.serve.messages import BEAT_S, MAX_BYTES
from ludus.web.serve.seats import LONGEST_S

ADDRESS = "127.0.0.1"
FIRST_PORT, PORTS = 8642, 20  #: where a server without a given port is looked for
REQUEST_S = 10.0  # until a connection has sent a whole request
GRACE_S = 2  # for open sockets when the server stops
CLOSE_S = 2.0  # from the end of a socket to its connection's end, whether the page answers or not
MOST_CONNECTIONS = 128  # before requests are answered by 503
MOST_STRANGERS = 64  # connections that have not shown the token
STOP_S = LONGEST_S + 5.0  # for matches to be saved then: one may be in a search


class PortInUse(HasProblems, ValueError):
    """No port to serve at."""


class PageServer:
    """A server of one folder. :meth:`run` serves until the process is asked to end.

    Attributes:
        library: Table of runs and replays.
        matches: The matches.
        shows: Runs that are watched at games written in Python.
        port: The port.
    """

    def __init__(self, library: Library, port: int = 0, device: str = "auto", beat_s: float = BEAT_S) -> None:
        """Take a port; 0: the first free one of a few.

        Args:
            library: What is served.
            port: The port.
            device: Device of networks.
            beat_s: Seconds between two signs of life of a page.

        Raises:
            PortInUse: Another process has the port.
        """
        self.library, self.matches = library, Sessions(library, device, beat_s)
        self.shows = Shows(library, device)
        self._socket = _bound(port)
        self.port: int = self._socket.getsockname()[1]
        self._token = secrets.token_urlsafe(32)
        config = uvicorn.Config(
            make_app(library, self.matches, self.shows, self.port, self._token),
            http=_Connection,
            ws=_Socket,
            ws_max_size=MAX_BYTES,
            loop="asyncio",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=GRACE_S,
        )
        self._server = _Server(config)
        self._saving = False

    def url(self, path: str = "/") -> str:
        """Return the address of a page, with the token."""
        return f"http://{ADDRESS}:{self.port}{path}{'&' if '?' in path else '?'}{TOKEN}={self._token}"

    def run(self) -> None:
        """Serve until a stop signal or :meth:`stop`; matches are saved then.

        Further signals wait until the matches are saved: a terminal that closes may send SIGHUP twice. A
        second Ctrl-C ends the server at once.
        """
        with on_stop(self._on_signal):
            try:
                self._server.run(sockets=[self._socket])
            finally:
                self.close()
                self.shows.close()
                self._saving = True
                self.matches.stop(STOP_S)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._saving and number == signal.SIGINT:
            raise KeyboardInterrupt
        self._server.handle_exit(number, frame)

    def close(self) -> None:
        """Give the port back."""
        self._socket.close()

    def wait_until_ready(self, seconds: float = 10.0) -> bool:
        """Return whether the server answers, after at most ``seconds``. For other threads."""
        end = time.monotonic() + seconds
        while not self._server.started and time.monotonic() < end:
            time.sleep(0.01)
        return self._server.started

    def stop(self) -> None:
        """Let :meth:`run` return. For other threads."""
        self._server.should_exit = True


class _Connection(H11Protocol):
    """A connection that has to send its requests in time: half requests take no place from other pages.

    One that has not shown the token gives its place to the next: see :func:`_drop_strangers`.
    """

    known = False  # whether a request had the token
    made_at = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.made_at = self.loop.time()
        self.loop.call_later(REQUEST_S, self._close_idle)
        _drop_strangers(self.connections)

    def on_response_complete(self) -> None:
        self.known = self.known or bool(self.cycle.scope.get(KNOWN))
        super().on_response_complete()
        self.loop.call_later(REQUEST_S, self._close_idle)

    @property
    def idle(self) -> bool:
        """Whether no request is being answered."""
        return getattr(self.cycle, "response_complete", True)  # there is no cycle before the first request

    def drop(self) -> None:
        """End the connection, and count it no more."""
        self.connections.discard(self)
        self.transport.close()

    def _close_idle(self) -> None:
        if self.idle and self in self.connections and not self.transport.is_closing():  # no WebSocket by now
            self.transport.close()


class _Socket(WSProtocol):
    """A WebSocket whose connection ends soon after it, also where a dead link leaves messages unread."""

    made_at = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.made_at = self.loop.time()

    async def run_asgi(self) -> None:
        try:
            await super().run_asgi()
        finally:
            self.loop.call_later(CLOSE_S, self.transport.abort)

    @property
    def known(self) -> bool:
        """Whether the page has the token."""
        scope: Mapping[str, object] = getattr(self, "scope", {})  # there is none before the request
        return bool(scope.get(KNOWN))

    @property
    def idle(self) -> bool:
        """Whether the page has been refused."""
        return self.close_sent

    def drop(self) -> None:
        """End the connection."""
        self.transport.abort()


def _drop_strangers(connections: Iterable[object]) -> None:
    """End the oldest idle connections that have not shown the token, if there are too many of them."""
    strangers = [c for c in connections if isinstance(c, _Connection | _Socket) and not c.known and c.idle]
    if len(strangers) > MOST_STRANGERS:
        for connection in sorted(strangers, key=lambda c: c.made_at)[:-MOST_STRANGERS]:
            connection.drop()


class _Server(uvicorn.Server):
    """A server whose signals :class:`PageServer` handles."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _bound(port: int) -> socket.socket:
    for candidate in (port,) if port else (*range(FIRST_PORT, FIRST_PORT + PORTS), 0):
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((ADDRESS, candidate))
            made.listen(512)
            return made
        except OSError as error:
            made.close()
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            if port:
                why = "in use by another process" if error.errno == errno.EADDRINUSE else "not allowed"
                typed = Argument("port", str(port), command="play")
                leave = (f"{why}; choose another, or leave ", Argument("port", command="play"), " out")
                raise PortInUse(*leave, where=typed) from None
    raise PortInUse("no port is free")

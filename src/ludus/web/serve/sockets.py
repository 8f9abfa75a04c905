"""WebSockets of live matches: one page each, on the event loop; the match's thread is on the other side."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections import deque

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from ludus.web.serve import messages
from ludus.web.serve.matches import Matches
from ludus.web.serve.messages import (
    CLOSE_FLOOD,
    CLOSE_FORBIDDEN,
    CLOSE_FULL,
    CLOSE_LARGE,
    CLOSE_UNKNOWN,
    MAX_BYTES,
    PER_SECOND,
)
from ludus.web.serve.session import Session

MAX_SOCKETS = 32
MOST_WAITING = 64  # messages that wait for a slow page before older moments are left out
MOST_UNREAD = 256  # messages after which a page that does not read loses its socket


class Page:
    """A page at the other end of a socket, as a match sees it."""

    def __init__(self, plays: bool) -> None:
        """Wait for messages; ``plays``: the page has the match's key."""
        self.plays = plays
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[str, bool]] = deque()
        self._news = asyncio.Event()
        self.slow = False

    def send(self, text: str, moment: bool) -> None:
        """Pass a message of the match's thread to the event loop."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._put, text, moment)

    def _put(self, text: str, moment: bool) -> None:
        if moment and len(self._waiting) >= MOST_WAITING:
            self._waiting = deque(entry for entry in self._waiting if not entry[1])
        self.slow = self.slow or len(self._waiting) >= MOST_UNREAD
        if not self.slow:
            self._waiting.append((text, moment))
        self._news.set()

    async def next(self) -> str:
        """Return the next message for the page; "" once it has left too many unread."""
        while not self._waiting and not self.slow:
            self._news.clear()
            await self._news.wait()
        return self._waiting.popleft()[0] if self._waiting else ""


class Flood:
    """Counts messages: at most ``PER_SECOND`` in any second."""

    def __init__(self) -> None:
        """Start with none."""
        self._times: deque[float] = deque(maxlen=PER_SECOND)

    def over(self, now: float) -> bool:
        """Count a message; return whether it is one too many."""
        full = len(self._times) == PER_SECOND and now - self._times[0] < 1.0
        self._times.append(now)
        return full


class Sockets:
    """The sockets of a server, bounded in number."""

    def __init__(self, matches: Matches) -> None:
        """Serve ``matches``."""
        self._matches = matches
        self._open = 0

    async def serve(self, socket: WebSocket) -> None:
        """Serve one socket until it ends."""
        session = self._matches.get(socket.path_params["match"])
        key = socket.query_params.get("key", "")
        await socket.accept()
        if session is None or not session.is_alive():
            await socket.close(CLOSE_UNKNOWN, "there is no such match; it may have ended long ago")
        elif key and not secrets.compare_digest(key.encode(), session.key.encode()):
            await socket.close(CLOSE_FORBIDDEN, "the key is of another match")
        elif self._open >= MAX_SOCKETS:
            await socket.close(CLOSE_FULL, f"{MAX_SOCKETS} pages are connected already; close one first")
        else:
            self._open += 1
            try:
                await self._talk(socket, session, Page(plays=bool(key)))
            finally:
                self._open -= 1

    async def _talk(self, socket: WebSocket, session: Session, page: Page) -> None:
        session.join_viewer(page)
        writing = asyncio.create_task(_write(socket, page))
        try:
            await _read(socket, session, page)
        except (WebSocketDisconnect, RuntimeError, OSError):
            pass
        finally:
            session.leave_viewer(page)
            writing.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await writing


async def _write(socket: WebSocket, page: Page) -> None:
    while text := await page.next():
        await socket.send_text(text)
    await socket.close(CLOSE_FLOOD, "the page does not read its messages")


async def _read(socket: WebSocket, session: Session, page: Page) -> None:
    flood = Flood()
    while socket.application_state is WebSocketState.CONNECTED:
        received = await socket.receive()
        if received["type"] == "websocket.disconnect":
            return
        if flood.over(time.monotonic()):
            await socket.close(CLOSE_FLOOD, f"more than {PER_SECOND} messages in a second")
            return
        data = received.get("text")
        data = received.get("bytes") or b"" if data is None else data
        if len(data) > MAX_BYTES:
            await socket.close(CLOSE_LARGE, f"a message of more than {MAX_BYTES} bytes")
            return
        try:
            message = messages.read(data)
        except messages.Unreadable as error:
            page.send(messages.write(messages.Refused(0, str(error)[:300])), False)
            continue
        session.post(page, message)

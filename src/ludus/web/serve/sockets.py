"""WebSockets of live matches: one page each, on the event loop; the match's thread is on the other side."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections import deque

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from ludus.web.serve import messages
from ludus.web.serve.matches import Sessions
from ludus.web.serve.messages import (
    CLOSE_FLOOD,
    CLOSE_FORBIDDEN,
    CLOSE_FULL,
    CLOSE_LARGE,
    CLOSE_SILENT,
    CLOSE_UNKNOWN,
    MAX_BYTES,
    MISSING,
    PER_SECOND,
)
from ludus.web.serve.session import Session

MAX_SOCKETS = 32
MOST_WAITING = 64  # messages that wait for a slow page before older moments are left out
MOST_UNREAD = 256  # messages after which a page that does not read loses its socket
MOST_NAME = 64  # characters of a page's name
GOODBYE_S = 1.0  # for the last message to a page that does not answer
_GONE = (WebSocketDisconnect, RuntimeError, OSError)  # what a socket raises whose page has left
_ALIVE = messages.write(messages.Alive())


class Page:
    """A page at the other end of a socket, as a match sees it."""

    def __init__(self, plays: bool, name: str = "") -> None:
        """Wait for messages; ``plays``: the page has the match's key; ``name``: of the page, or empty."""
        self.plays, self.name = plays, name
        self.heard_at = time.monotonic()
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

    def __init__(self, matches: Sessions) -> None:
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
                name = socket.query_params.get("page", "")[:MOST_NAME]
                await self._talk(socket, session, Page(bool(key), name))
            finally:
                self._open -= 1

    async def _talk(self, socket: WebSocket, session: Session, page: Page) -> None:
        session.join_viewer(page)
        silence = asyncio.create_task(_silence(page, self._matches.beat_s))
        tasks = [
            asyncio.create_task(_read(socket, session, page)),
            asyncio.create_task(_write(socket, page)),
            silence,
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            session.leave_viewer(page)
            lost = silence.done()
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        if lost:
            # Unread messages in the buffers of a dead link would keep this one waiting.
            with contextlib.suppress(TimeoutError, asyncio.TimeoutError, *_GONE):
                await asyncio.wait_for(socket.close(CLOSE_SILENT, "no sign of life of the page"), GOODBYE_S)
        for error in ended:
            if isinstance(error, Exception) and not isinstance(error, _GONE):
                raise error


async def _silence(page: Page, beat_s: float) -> None:
    """Send signs of life; return once the page has been silent for the time of :data:`MISSING` of them."""
    next_beat = asleep = time.monotonic()
    while True:
        now = time.monotonic()
        if now - asleep > 2 * beat_s:  # this process stood: what the page has sent may not be read yet
            page.heard_at = max(page.heard_at, now - (MISSING - 1) * beat_s)
        if now >= page.heard_at + MISSING * beat_s:
            return
        if now >= next_beat:
            page.send(_ALIVE, False)
            next_beat = now + beat_s
        asleep = now
        await asyncio.sleep(max(0.0, min(next_beat, page.heard_at + MISSING * beat_s) - now))


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
        page.heard_at = time.monotonic()
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
        if not isinstance(message, messages.Alive):
            session.post(page, message)

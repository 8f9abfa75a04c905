"""Connections of a thin rollout to an inference server on the same machine: a socket and shared memory.

The socket carries the small messages, and its end shows at once that the server has ended. The memory has no
name, so nothing stays behind. Every connection has new memory: a server that was given up cannot write into
the answers of its successor.
"""

from __future__ import annotations

import array
import select
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol

import msgspec

from ludus.flow.slab import Array
from ludus.inference.messages import (
    MAX_MESSAGE,
    Ask,
    ReplyArrays,
    check_places,
    encoded,
    end_of,
    places_of,
    reply_of,
    view_of,
)
from ludus.pool.hosted.shared import Segment

ANSWER_ROOM = 1 << 12  # bytes of an answer beside those that grow with the rows
ROW_ROOM = 64  # bytes of a row's answer beside its actions and its memory


class ServerLost(Exception):
    """A server ended, does not answer, or has not started again yet."""


class Link(Protocol):
    """A connection to one server. One thread uses it."""

    def ask(self, ask: Ask, arrays: Mapping[str, Array], seconds: float) -> ReplyArrays:
        """Send a request and wait for its answer. Raises :class:`ServerLost`.

        Args:
            ask: The request, without the places of its arrays.
            arrays: Its arrays.
            seconds: Limit of the wait.
        """
        ...

    def close(self) -> None:
        """End the connection. Idempotent."""
        ...


class SocketLink:
    """A connection on the same machine."""

    def __init__(self, path: str, heads: int) -> None:
        """Connect to the server that listens at ``path``, for decisions of ``heads`` heads.

        Raises:
            ServerLost: Nothing listens there.
        """
        self._row_room = ROW_ROOM + 4 * heads
        self._segment: Segment | None = None
        self._memory = memoryview(b"")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * MAX_MESSAGE)
            self._socket.connect(path)
        except OSError as error:
            self.close()
            raise ServerLost(f"{path}: {error.strerror}") from error
        self._socket.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)

    def ask(self, ask: Ask, arrays: Mapping[str, Array], seconds: float) -> ReplyArrays:
        """See :meth:`Link.ask`."""
        places = places_of(arrays)
        rows = sum(count for _, count in ask.parts)
        memory = arrays["memory"].nbytes if "memory" in arrays else 0
        fresh = self._grow(end_of(places) + ANSWER_ROOM + rows * self._row_room + 2 * memory)
        for place, given in zip(places, arrays.values(), strict=True):
            view_of(place, self._memory)[...] = given
        ask = msgspec.structs.replace(ask, arrays=places, size=len(self._memory))
        try:
            self._send(encoded(ask), fresh)
            if not self._poll.poll(int(seconds * 1000)):
                raise ServerLost(f"no answer for {seconds:g} s")
            data = self._socket.recv(MAX_MESSAGE + 1)
        except OSError as error:
            raise ServerLost(error.strerror or type(error).__name__) from error
        if not data:
            raise ServerLost("it ended")
        reply = reply_of(data)
        if reply.number != ask.number:
            raise ServerLost(f"answer {reply.number}, expected {ask.number}")
        check_places(reply.arrays, len(self._memory))
        return ReplyArrays(reply, {p.name: view_of(p, self._memory).copy() for p in reply.arrays})

    def _grow(self, size: int) -> bool:
        """Let the shared memory have ``size`` bytes. Return whether it is new."""
        if self._segment is not None and self._segment.size >= size:
            return False
        if self._segment is not None:
            self._segment.close()
        self._segment = Segment(size + size // 2)
        self._memory = self._segment.memory
        return True

    def _send(self, data: bytes, fresh: bool) -> None:
        """Send a request, with the descriptor of memory that the server does not have yet."""
        assert self._segment is not None
        if len(data) > MAX_MESSAGE:
            raise ValueError(f"request of {len(data)} bytes, expected at most {MAX_MESSAGE}")
        rights = array.array("i", [self._segment.descriptor])
        extra = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)] if fresh else []
        self._socket.sendmsg([data], extra)

    def close(self) -> None:
        """End the connection. Idempotent."""
        with suppress(OSError):
            self._socket.close()
        if self._segment is not None:
            self._segment.close()
            self._segment = None

"""An inference server: one thread that receives requests, fills batches, and answers them.

Requests come through sockets of this machine, with arrays in memory that both sides share, or are handed over
by other threads, which wait for the answer.
"""

from __future__ import annotations

import os
import selectors
import socket
import struct
import threading
import time
from collections.abc import Mapping
from contextlib import suppress

import msgspec

from ludus.flow.process.as_found import one_thread
from ludus.flow.slab import Array
from ludus.inference.deciding import Decider, Filling, InferenceRequest, Recipient
from ludus.inference.messages import (
    MAX_MEMORY,
    MAX_MESSAGE,
    Reply,
    ask_of,
    check_places,
    encoded,
    end_of,
    places_of,
    view_of,
)
from ludus.inference.shelves import Shelves
from ludus.pool.hosted.shared import Segment

_PEER = struct.Struct("3i")  # process, user and group at the other end of a socket


class Guest:
    """A thin rollout of this machine that is connected."""

    def __init__(self, connection: socket.socket) -> None:
        """Own ``connection``."""
        self._socket = connection
        self._segment: Segment | None = None
        self.gone = False

    def fileno(self) -> int:
        """Return the descriptor of the connection."""
        return self._socket.fileno()

    def receive(self) -> InferenceRequest | None:
        """Return the next request; None at the end. Raises ``ValueError`` for a malformed one."""
        data, descriptors, _, _ = socket.recv_fds(self._socket, MAX_MESSAGE + 1, 4)
        try:
            if not data:
                return None
            ask = ask_of(data)
            if descriptors:
                self._map(descriptors.pop(0), ask.size)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        if self._segment is None or self._segment.size != ask.size:
            raise ValueError(f"request of {ask.size} bytes of memory that is not shared")
        check_places(ask.arrays, ask.size)
        arrays = {place.name: view_of(place, self._segment.memory) for place in ask.arrays}
        return InferenceRequest(ask, arrays, self, time.monotonic())

    def _map(self, descriptor: int, size: int) -> None:
        """Map the memory behind ``descriptor``. Raises ``ValueError`` where it has another size."""
        self._release()
        found = os.fstat(descriptor).st_size
        if not 0 < size <= MAX_MEMORY or found != size:
            os.close(descriptor)
            raise ValueError(f"shared memory of {found} bytes, expected {size}, at most {MAX_MEMORY}")
        self._segment = Segment(size, descriptor)

    def answer(self, reply: Reply, arrays: Mapping[str, Array]) -> None:
        """See :class:`ludus.inference.deciding.Recipient`. Arrays of the request are overwritten."""
        if self._segment is None or self.gone:
            return
        places = places_of(arrays)
        if end_of(places) > self._segment.size:
            reply, places = Reply(reply.number, "answer: larger than the memory of the request"), ()
        for place in places:
            view_of(place, self._segment.memory)[...] = arrays[place.name]
        with suppress(OSError):  # the rollout has gone
            self._socket.send(encoded(msgspec.structs.replace(reply, arrays=places)))

    def _release(self) -> None:
        if self._segment is not None:
            self._segment.close()
            self._segment = None

    def close(self) -> None:
        """End the connection. Idempotent."""
        self.gone = True
        self._socket.close()
        self._release()


def _is_gone(recipient: Recipient) -> bool:
    return isinstance(recipient, Guest) and recipient.gone


class Waiter:
    """A thread that handed over a request and waits for its answer."""

    def __init__(self) -> None:
        """Start without an answer."""
        self._done = threading.Event()
        self._answer: tuple[Reply, dict[str, Array]] | None = None

    def answer(self, reply: Reply, arrays: Mapping[str, Array]) -> None:
        """See :class:`ludus.inference.deciding.Recipient`."""
        self._answer = reply, {name: a.copy() for name, a in arrays.items()}
        self._done.set()

    def wait(self, seconds: float) -> tuple[Reply, dict[str, Array]]:
        """Return the answer. Raises ``TimeoutError``."""
        if not self._done.wait(seconds) or self._answer is None:
            raise TimeoutError(f"no weights, or no decision, for {seconds:g} s")
        return self._answer


class InferenceServer:
    """Serves until it is closed. Its thread is the only one that uses networks."""

    def __init__(self, path: str, filling: Filling) -> None:
        """Listen at ``path``, which does not exist yet. Raises ``OSError``.

        Args:
            path: A socket's, in a folder that no other user can enter.
            filling: When requests are decided together.
        """
        self.path, self._filling = path, filling
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(path)
        self._listener.listen(1024)
        self._listener.setblocking(False)
        self._bell, self._rope = socket.socketpair()
        for end in (self._bell, self._rope):
            end.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._bell, selectors.EVENT_READ)
        self._guests: dict[int, Guest] = {}
        self._handed: list[InferenceRequest] = []
        self._lock = threading.Lock()
        self._ending = False
        self._thread: threading.Thread | None = None

    def start(self, shelves: Shelves, decider: Decider) -> None:
        """Serve the networks of ``shelves`` in a thread."""
        self._thread = threading.Thread(
            target=self._serve, args=(shelves, decider), name="inference", daemon=True
        )
        self._thread.start()

    def wake(self) -> None:
        """Look again whether requests can be decided: weights have arrived. Any thread may call it."""
        with suppress(OSError):  # a full socket wakes as well
            self._rope.send(b"\0")

    def hand_over(
        self, data: bytes, arrays: Mapping[str, Array], seconds: float
    ) -> tuple[bytes, dict[str, Array]]:
        """Return the answer to a request from another machine, and its arrays. Any thread may call it.

        Args:
            data: The request, whose arrays are not in shared memory.
            arrays: Its arrays.
            seconds: Limit of the wait.

        Raises:
            ValueError: It is malformed.
            TimeoutError: There is no answer in time.
        """
        waiter = Waiter()
        request = InferenceRequest(ask_of(data), dict(arrays), waiter, time.monotonic())
        with self._lock:
            self._handed.append(request)
        self.wake()
        reply, out = waiter.wait(seconds)
        return encoded(reply), out

    def _serve(self, shelves: Shelves, decider: Decider) -> None:
        one_thread()
        waiting: list[InferenceRequest] = []
        rest: float | None = None
        while not self._ending:
            for key, _ in self._selector.select(rest):
                self._take(key.fileobj, waiting)
            with self._lock:
                handed, self._handed = self._handed, []
            waiting = [request for request in [*waiting, *handed] if not _is_gone(request.recipient)]
            served = [request for request in waiting if shelves.has(request.ask)]
            batches, rest = self._filling.ready(served, time.monotonic(), self._recipients(waiting))
            for batch in batches:
                decider.answer(batch)
            done = {id(request) for batch in batches for request in batch}
            waiting = [request for request in waiting if id(request) not in done]

    def _recipients(self, waiting: list[InferenceRequest]) -> int:
        return max(len(self._guests), len({id(request.recipient) for request in waiting}))

    def _take(self, source: object, waiting: list[InferenceRequest]) -> None:
        """Accept a connection, or receive a request."""
        if source is self._listener:
            self._accept()
        elif source is self._bell:
            with suppress(BlockingIOError):
                self._bell.recv(4096)
        else:
            assert isinstance(source, Guest)
            self._receive(source, waiting)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        _, user, _ = _PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
        if user != os.geteuid():
            connection.close()
            return
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * MAX_MESSAGE)
        guest = Guest(connection)
        self._guests[guest.fileno()] = guest
        self._selector.register(guest, selectors.EVENT_READ)

    def _receive(self, guest: Guest, waiting: list[InferenceRequest]) -> None:
        """Receive a request. A guest whose message is malformed is dropped."""
        try:
            request = guest.receive()
        except (ValueError, OSError):
            request = None
        if request is not None:
            waiting.append(request)
            return
        self._selector.unregister(guest)
        del self._guests[guest.fileno()]
        guest.close()

    def close(self) -> None:
        """Stop serving. Idempotent."""
        self._ending = True
        self.wake()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        for guest in self._guests.values():
            guest.close()
        self._guests.clear()
        self._listener.close()
        with suppress(FileNotFoundError):
            os.unlink(self.path)

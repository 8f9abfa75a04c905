"""A way to a server that can freeze, as the link of a laptop that sleeps or of a tunnel that hangs.

While it is frozen all connections stay open and nothing is forwarded, in either direction.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

from ludus.web.serve.server import ADDRESS

NAME = "127.0.0.2"  # another name of this machine, so that the port may be the server's


class FreezingProxy:
    """Forwards connections to a port of this machine, from the same port of :data:`NAME`."""

    def __init__(self, port: int) -> None:
        self._port, self.address = port, (NAME, port)
        self._runs = threading.Event()
        self._runs.set()
        self._open: list[socket.socket] = []
        self._ended = False
        self._listener = socket.create_server((NAME, port))
        threading.Thread(target=self._accept, daemon=True).start()

    def freeze(self) -> None:
        self._runs.clear()

    def thaw(self) -> None:
        self._runs.set()

    def close(self) -> None:
        self._ended = True
        self.thaw()
        for one in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        while not self._ended:
            try:
                page, _ = self._listener.accept()
                server = socket.create_connection((ADDRESS, self._port))
            except OSError:
                return
            self._open += [page, server]
            for source, target in ((page, server), (server, page)):
                threading.Thread(target=self._forward, args=(source, target), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self._runs.wait()
                target.sendall(data)
            self._runs.wait()
            target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def freezing(port: int) -> Iterator[FreezingProxy]:
    proxy = FreezingProxy(port)
    try:
        yield proxy
    finally:
        proxy.close()

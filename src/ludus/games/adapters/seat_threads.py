"""A thread a seat, for calls of a library that may never return."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future

_Call = tuple[Future[object], Callable[..., object], tuple[object, ...]]


class SeatThreads:
    """Threads for the seats of a match. Calls of one seat run in order, calls of several run in parallel.

    The threads are daemons: unlike in ``ThreadPoolExecutor``, one that never returns does not keep the
    process from its end.
    """

    def __init__(self, seats: int, name: str) -> None:
        """Start a thread for each of ``seats``, called ``name-SEAT``."""
        self._calls: list[queue.SimpleQueue[_Call | None]] = [queue.SimpleQueue() for _ in range(seats)]
        for seat, calls in enumerate(self._calls):
            threading.Thread(target=_run, args=(calls,), name=f"{name}-{seat}", daemon=True).start()

    def submit(self, seat: int, call: Callable[..., object], *args: object) -> Future[object]:
        """Run ``call(*args)`` in the seat's thread."""
        future: Future[object] = Future()
        self._calls[seat].put((future, call, args))
        return future

    def close(self) -> None:
        """End every thread after the calls that were submitted to it."""
        for calls in self._calls:
            calls.put(None)


def _run(calls: queue.SimpleQueue[_Call | None]) -> None:
    while (item := calls.get()) is not None:
        future, call, args = item
        try:
            future.set_result(call(*args))
        except BaseException as error:
            future.set_exception(error)
        del item, future, call, args  # they would be kept until the next call

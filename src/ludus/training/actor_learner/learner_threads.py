"""Threads that learn while the calling thread samples."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

from ludus.algorithms.updates.tasks import UpdatePlan
from ludus.flow.process.as_found import one_thread


class LearnerThreads:
    """Threads that help the plan that was started last.

    Lower numbers belong to the threads that join in with ``plan.help(n)`` when their own work is done. An
    exception in a task is kept by the plan, which raises it in its ``wait``.
    """

    def __init__(self, size: int, first: int = 1) -> None:
        """Start ``size`` threads with the worker numbers ``first``, ``first + 1``, ..."""
        self.size, self.first = size, first
        self.busy_s = [0.0] * size
        self._changed = threading.Condition()
        self._plan: UpdatePlan | None = None
        self._number = 0  # of starts
        self._closing = False
        self._inside = 0  # threads in a plan
        self._threads = [
            threading.Thread(target=self._run, args=(i,), name=f"learner-{i + first}", daemon=True)
            for i in range(size)
        ]
        for thread in self._threads:
            thread.start()

    def start(self, plan: UpdatePlan) -> None:
        """Let the threads help ``plan``, without waiting."""
        with self._changed:
            self._plan = plan
            self._number += 1
            self._inside = len(self._threads)
            self._changed.notify_all()

    def settle(self) -> None:
        """Wait until every thread has left the last started plan. Call this after it is done."""
        with self._changed:
            self._changed.wait_for(lambda: self._inside == 0)

    def close(self) -> None:
        """Stop every thread after its plan. Idempotent."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        self._threads = []

    def _run(self, index: int) -> None:
        one_thread()
        seen = 0
        while True:
            with self._changed:
                while not self._closing and self._number == seen:
                    self._changed.wait()
                if self._closing:
                    return
                plan, seen = self._plan, self._number
            start = time.perf_counter()
            assert plan is not None
            with suppress(BaseException):  # the plan keeps it and raises it in the thread that waits
                plan.help(self.first + index)
            self.busy_s[index] += time.perf_counter() - start
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

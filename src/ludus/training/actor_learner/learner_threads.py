"""Threads that learn while the calling thread samples."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from ludus.algorithms.updates.tasks import UpdatePlan
from ludus.flow.process.as_found import one_thread


class LearnerThreads:
    """Threads that help the plans that were started last, one after another.

    Lower numbers belong to the threads that join in with ``plan.help(n)`` when their own work is done. An
    exception in a task is kept by the plan, which raises it in its ``wait``.
    """

    def __init__(self, size: int, first: int = 1) -> None:
        """Start ``size`` threads with the worker numbers ``first``, ``first + 1``, ..."""
        self.size, self.first = size, first
        self.busy_s = [0.0] * size
        self._changed = threading.Condition()
        self._plans: tuple[UpdatePlan, ...] = ()
        self._number = 0  # of starts
        self._closing = False
        self._inside = 0  # threads in a plan
        self._threads = [
            threading.Thread(target=self._run, args=(i,), name=f"learner-{i + first}", daemon=True)
            for i in range(size)
        ]
        for thread in self._threads:
            thread.start()

    def start(self, plans: Sequence[UpdatePlan]) -> None:
        """Let the threads help ``plans``, without waiting."""
        with self._changed:
            self._plans = tuple(plans)
            self._number += 1
            self._inside = len(self._threads)
            self._changed.notify_all()

    def settle(self) -> None:
        """Wait until every thread has left the last started plans. Call this after they are done."""
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
                plans, seen = self._plans, self._number
            start = time.perf_counter()
            try:
                for plan in plans:
                    plan.help(self.first + index)
            except BaseException:  # the plan keeps it and raises it in the thread that waits
                pass
            self.busy_s[index] += time.perf_counter() - start
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

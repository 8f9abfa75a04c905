"""One update as tasks of several threads, with a result that does not depend on which thread ran which.

The update itself is a generator: between two ``yield``s only it runs, and what it yields is a list
of tasks that may run at the same time. The thread that finishes the last task of a list advances it.

Several processes of one machine may make an update together: :class:`Processes`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np

from ludus.flow import Slab
from ludus.flow.errors import RunFailed
from ludus.flow.slab import Array

Task = Callable[[int], None]  # called with the number of the worker that runs it
ArrayShape = tuple[tuple[int, ...], "np.dtype[np.generic]"]


class LearnerProcessError(RunFailed):
    """A learner process has died, was stopped, failed, or has other parameters than this process."""


def _no_result(_: int) -> bytes:
    return b""


def _ignore(_: int, __: bytes) -> None:
    pass


class DividedTasks(list[Task]):
    """Tasks of which each process of a learner runs some, in any order; all have all results afterwards.

    Large results are written into :meth:`Processes.arrays`, small ones travel as bytes.
    """

    def __init__(
        self,
        tasks: Iterable[Task],
        pack: Callable[[int], bytes] = _no_result,
        unpack: Callable[[int, bytes], None] = _ignore,
    ) -> None:
        """Keep the tasks.

        Args:
            tasks: The tasks; they write nothing but their results.
            pack: Returns the results of a task by number, after it ran in this process.
            unpack: Stores the results of a task by number, which ran in another process.
        """
        super().__init__(tasks)
        self.pack, self.unpack = pack, unpack


class Processes(Protocol):
    """Processes that make every update together, seen from one of them.

    Each runs the serial work between two lists of tasks itself, and its share of each :class:`DividedTasks`;
    it runs all tasks of other lists. One thread at a time calls this.
    """

    def start(self, slab: Slab, progress: float, value_only: bool) -> None:
        """Prepare, and let the other processes start the update that this one starts. The slab is copied.

        Raises:
            LearnerProcessError: One of them is gone or cannot be started.
        """

    def arrays(self, shapes: Sequence[ArrayShape]) -> list[Array]:
        """Return arrays for results of the next list of tasks, the same memory in all processes.

        The second list after that one gets the same memory. It is zero at first.
        """
        ...

    def divide(self, stages: Iterator[Sequence[Task]]) -> Iterator[Sequence[Task]]:
        """Yield the lists of an update; one task in place of a divided list runs this process's share.

        Raises:
            LearnerProcessError: The parameters of the processes differ after the update.
        """
        ...

    def state_loaded(self) -> None:
        """Note that another state was loaded into this process's learner."""

    def prepare(self) -> None:
        """Start the other processes and give them the state of this one's learner, if they lack it.

        Raises:
            LearnerProcessError: One of them is gone or cannot be started.
        """

    def close(self) -> None:
        """End the other processes. Idempotent."""


class UpdatePlan:
    """Plan of one update. Thread-safe; each worker number is used by one thread at a time.

    With ``workers = 1`` no two tasks run at once, whoever helps, and all run under number 0.

    The learner's thread calls ``help(0)``; a sampler that has finished its slab may call ``help(1)``;
    ``wait()`` runs nothing. An exception in a task ends the plan and is raised in every thread that helps or
    waits.
    """

    def __init__(self, stages: Iterator[Sequence[Task]], workers: int = 2) -> None:
        """Keep the stages; nothing runs until a thread helps.

        Args:
            stages: Lists of tasks, with serial work between them.
            workers: 1 = one task at a time.
        """
        self._serial = workers == 1
        self._stages = stages
        self._changed = threading.Condition()
        self._tasks: Sequence[Task] = ()
        self._next = 0
        self._left = 0
        self._advancing = False
        self._done = False
        self._error: BaseException | None = None
        #: Number of tasks that each worker number ran.
        self.tasks_run: dict[int, int] = {}
        #: Seconds that each worker number spent in ``help`` without a task to run.
        self.waited_s: dict[int, float] = {}

    @property
    def done(self) -> bool:
        """Whether the update has ended, in success or failure."""
        return self._done

    def help(self, worker: int, *, block: bool = True) -> bool:
        """Run tasks until the update is complete, or without ``block`` until none is ready.

        Returns:
            Whether the update is complete.
        """
        while True:
            with self._changed:
                while True:
                    if self._error is not None:
                        raise self._error
                    if self._done:
                        return True
                    if self._next < len(self._tasks) and not (self._serial and self._running):
                        task: Task | None = self._tasks[self._next]
                        self._next += 1
                        break
                    if self._left == 0 and not self._advancing:
                        self._advancing = True
                        task = None
                        break
                    if not block:
                        return False
                    start = time.perf_counter()
                    self._changed.wait()
                    self.waited_s[worker] = self.waited_s.get(worker, 0.0) + time.perf_counter() - start
            try:
                if task is None:
                    self._advance()
                else:
                    task(0 if self._serial else worker)
                    with self._changed:
                        self.tasks_run[worker] = self.tasks_run.get(worker, 0) + 1
                        self._left -= 1
                        if self._left == 0 or self._serial:
                            self._changed.notify_all()
            except BaseException as error:
                with self._changed:
                    self._error = error
                    self._done = True
                    self._changed.notify_all()
                raise

    def wait(self) -> None:
        """Wait until the update is complete, without running tasks."""
        with self._changed:
            self._changed.wait_for(lambda: self._done)
            if self._error is not None:
                raise self._error

    @property
    def _running(self) -> int:
        """Number of tasks that threads run at this moment."""
        return self._left - (len(self._tasks) - self._next)

    def _advance(self) -> None:
        """Run the serial part up to the next list of tasks, in one thread at a time."""
        tasks = next(self._stages, None)
        with self._changed:
            self._advancing = False
            if tasks is None:
                self._done = True
            else:
                self._tasks, self._next, self._left = tasks, 0, len(tasks)
            self._changed.notify_all()

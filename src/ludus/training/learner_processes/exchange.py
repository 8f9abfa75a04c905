"""The work that the processes of a learner divide, and the meetings at which all get all results.

Each process makes the whole update. At a list of divided tasks each takes the next number until none is left,
and all wait for each other; then each has the results of all. A process that has left a meeting may work on
the next list while another still reads the results of the last one, so memory alternates between two halves.
"""

from __future__ import annotations

import functools
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ludus.algorithms.learner import SlabLearner
from ludus.algorithms.updates.tasks import ArrayShape, DividedTasks, Task
from ludus.flow.slab import Array
from ludus.training.learner_processes.memory import LIST, NEXT, Memory

_LENGTHS = np.dtype(np.int64)
_BYTES = np.dtype(np.uint8)
FIRST_CAPACITY = 1 << 12  # bytes of one task's results


class Exchange(ABC):
    """One process's part in the lists of every update (:class:`ludus.algorithms.updates.tasks.Processes`)."""

    def __init__(self, learner: SlabLearner[Any], rank: int) -> None:
        """Wait for :meth:`_meet_in`.

        Args:
            learner: The learner of this process.
            rank: Number of this process; 0 is the run's own.
        """
        self.learner, self.rank = learner, rank
        self._memory: Memory | None = None
        self._lists = 0  # divided lists that were run
        self._meetings = 0
        self._capacity = FIRST_CAPACITY

    @property
    def memory(self) -> Memory:
        """Memory of all processes."""
        assert self._memory is not None, "the processes have not been started"
        return self._memory

    @abstractmethod
    def _wait(self) -> None:
        """Sleep until another process rings, or for a while. Raises where one is gone."""

    @abstractmethod
    def _look(self) -> None:
        """Raise where another process is gone."""

    @abstractmethod
    def _end(self) -> None:
        """Finish an update."""

    def arrays(self, shapes: Sequence[ArrayShape]) -> list[Array]:
        """See :meth:`Processes.arrays`."""
        return self.memory.arrays[(self._lists + 1) % 2].arrays(shapes)

    def divide(self, stages: Iterator[Sequence[Task]]) -> Iterator[Sequence[Task]]:
        """See :meth:`Processes.divide`."""
        for tasks in stages:
            if isinstance(tasks, DividedTasks) and tasks:
                yield [functools.partial(self._run, tasks)]
            else:
                yield tasks
        self._end()

    def _run(self, tasks: DividedTasks, worker: int) -> None:
        """Run tasks of a list until none is left, and wait for those of the other processes."""
        self._lists += 1
        ran: dict[int, bytes] = {}
        while (i := self._next()) < len(tasks):
            tasks[i](worker)
            ran[i] = tasks.pack(i)
        for i, data in self._exchanged(ran, len(tasks)):
            tasks.unpack(i, data)

    def _next(self) -> int:
        """Take the next number of the present list."""
        ticket = self.memory.tickets[self._lists % 2]
        with self.memory.locked(self._look):
            if ticket[LIST] != self._lists:  # the first process that has reached this list
                ticket[LIST], ticket[NEXT] = self._lists, 0
            number = int(ticket[NEXT])
            ticket[NEXT] += 1
        return number

    def _exchanged(self, ran: dict[int, bytes], count: int) -> Iterator[tuple[int, bytes]]:
        """Give the results of the tasks that this process ran; yield those of all others, of ``count``."""
        while True:
            area = self.memory.records[(self._meetings + 1) % 2]
            lengths, records = area.arrays([((count,), _LENGTHS), ((count, self._capacity), _BYTES)])
            for i, data in ran.items():
                lengths[i] = len(data)
                if len(data) <= self._capacity:
                    records[i, : len(data)] = np.frombuffer(data, np.uint8)
            self._meet()
            longest = int(np.max(lengths))
            if longest <= self._capacity:
                break
            self._capacity = 1 << (longest - 1).bit_length()  # every process sees the same, and meets again
        for i in range(count):
            if i not in ran:
                yield i, records[i, : int(lengths[i])].tobytes()

    def _meet(self) -> None:
        """Wait until every process has reached this meeting."""
        self._meetings += 1
        memory = self.memory
        memory.met[self.rank, 0] = self._meetings
        for rank, bell in enumerate(memory.bells):
            if rank != self.rank:
                bell.notify()
        while int(memory.met[:, 0].min()) < self._meetings:
            self._wait()


def digest_of(learner: SlabLearner[Any]) -> int:
    """Return a checksum of parameters and statistics."""
    digest = zlib.crc32(learner.parameters.vector.numpy().data)
    for buffer in learner.network.buffers():
        digest = zlib.crc32(buffer.contiguous().numpy().data, digest)
    return digest

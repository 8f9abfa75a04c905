"""The run's own process among those that make every update: it starts the others, orders and ends them."""

from __future__ import annotations

import contextlib
import os
import select
import weakref
from collections.abc import Sequence
from typing import Any

import msgspec

from ludus.algorithms.learner import SETTLE, SlabLearner
from ludus.algorithms.updates.tasks import LearnerProcessError
from ludus.flow import Slab
from ludus.pool.hosted.shared import wait_for
from ludus.pool.hosted.watch import Patience
from ludus.pool.hosted.worker import send_message
from ludus.training.learner_processes.child import LOOK_S, STOPPED_S, Child, end_all
from ludus.training.learner_processes.exchange import Exchange, digest_of
from ludus.training.learner_processes.memory import DIGEST, ORDER, Bundle, Memory, fields_of
from ludus.training.learner_processes.worker import ROW_SEAT, ROW_SLOT, LearnerOrder, Recipe, Start

START_S = 120.0  # that a process may take to build its learner
_WORKER = "ludus.training.learner_processes.worker"


class LearnerProcesses(Exchange):
    """Processes of one learner, seen from the run's. They start with the first update.

    A process that dies, fails or is stopped is a :class:`LearnerProcessError`, after which no update starts.
    """

    def __init__(
        self, learner: SlabLearner[Any], recipe: Recipe, others: int, *, stopped_s: float = STOPPED_S
    ) -> None:
        """Prepare ``others`` processes.

        Args:
            learner: Learner of the run.
            recipe: Settings that it was built from.
            others: Number of processes besides this one, >= 1.
            stopped_s: Seconds after which a stopped process is an error.
        """
        super().__init__(learner, 0)
        self._recipe, self._others, self._stopped_s = recipe, others, stopped_s
        self._processes: list[Child] = []
        self._poll = select.poll()
        self._slab: Bundle | None = None
        self._orders = 0
        self._ended = 0  # number of the last order that all processes have carried out
        self._is_outdated = True
        self._problem = ""  # why no update can start
        self._closer: weakref.finalize[Any, Any] | None = None

    @property
    def pids(self) -> list[int]:
        """Process ids of the other processes; none before the first update."""
        return [p.pid for p in self._processes]

    # ---- see Processes ---------------------------------------------------------------------------

    def state_loaded(self) -> None:
        """See :meth:`Processes.state_loaded`."""
        self._is_outdated = True

    def prepare(self) -> None:
        """See :meth:`Processes.prepare`."""
        if self._problem:
            raise LearnerProcessError(self._problem)
        if not self._processes:
            self._start_all()
        self._look()
        if self._ended != self._orders:
            raise self._failed("an update of the learner processes was left unfinished")
        if self._is_outdated:
            self._send_state()

    def start(self, slab: Slab, progress: float, value_only: bool) -> None:
        """See :meth:`Processes.start`."""
        self.prepare()
        learner = self.learner
        fields = slab.learned_fields([tensor.name for tensor in learner.network.inputs])
        fields |= {ROW_SLOT: slab.row_slot, ROW_SEAT: slab.row_seat}
        layout, new = fields_of(fields), False
        if self._slab is None or self._slab.fields != layout:
            if self._slab is not None:
                self._slab.close()
            self._slab, new = Bundle(layout), True
        self._slab.fill(fields)
        order = LearnerOrder(
            number=self._next_order(),
            update=True,
            counters=self._counters(),
            algorithm=msgspec.json.encode(learner.config).decode(),
            fields=layout if new else None,
            progress=progress,
            value_only=value_only,
        )
        self._send(order, [self._slab.descriptor] if new else [])

    def close(self) -> None:
        """See :meth:`Processes.close`. Kills processes that do not end by themselves."""
        self._problem = self._problem or "the learner processes have been closed"
        if self._closer is not None:
            self._closer()
        if self._slab is not None:
            self._slab.close()

    @property
    def _ranks(self) -> range:
        return range(1, 1 + len(self._processes))

    # ---- start and orders ------------------------------------------------------------------------

    def _start_all(self) -> None:
        """Start the processes and wait until each has built its learner."""
        memory = self._memory = Memory(self._others + 1)
        memory.ended[:, ORDER] = -1
        self._closer = weakref.finalize(self, _end_all, self._processes, memory, os.getpid())
        self._poll.register(memory.bells[0].wait_descriptor, select.POLLIN)
        for rank in range(1, self._others + 1):
            try:
                started = Child(f"learner process {rank}", _WORKER)
            except OSError as error:
                raise LearnerProcessError(f"learner process {rank} cannot be started: {error}") from error
            self._processes.append(started)
            self._poll.register(started.channel, select.POLLHUP)
            start = Start(self._recipe, rank, self._others + 1)
            with contextlib.suppress(ConnectionError):  # _look finds its end
                send_message(started.channel, msgspec.json.encode(start), memory.descriptors)
        self._await(0, Patience(LOOK_S))

    def _await(self, order: int, waited: Patience | None = None) -> None:
        """Wait until all processes have carried out an order."""
        ended = self.memory.ended[1:, ORDER]
        while int(ended.min()) < order:
            self._wait()
            if waited is not None:
                waited.look()
                if waited.waited_s > START_S:
                    raise self._failed(f"a learner process did not start within {START_S:g} s")

    def _next_order(self) -> int:
        self._orders += 1
        return self._orders

    def _send(self, order: LearnerOrder, descriptors: Sequence[int]) -> None:
        data = msgspec.json.encode(order)
        for p in self._processes:
            with contextlib.suppress(ConnectionError):  # _look finds its end
                send_message(p.channel, data, descriptors)

    def _counters(self) -> dict[str, int]:
        learner = self.learner
        return {
            "version": learner.version,
            "steps": learner.steps,
            "seed": learner.seed,
            SETTLE: learner.settle,
        }

    def _send_state(self) -> None:
        arrays, counters = self.learner.state()
        bundle = Bundle(fields_of(arrays))
        bundle.fill(arrays)
        order = LearnerOrder(self._next_order(), False, counters, fields=bundle.fields)
        self._send(order, [bundle.descriptor])
        self._end()
        bundle.close()
        self._is_outdated = False

    def _end(self) -> None:
        """Wait for the others to carry out the last order, and compare the learners."""
        self._await(self._orders)
        mine = digest_of(self.learner)
        odd = [str(rank) for rank in self._ranks if int(self.memory.ended[rank, DIGEST]) != mine]
        if odd:
            raise self._failed(
                f"version {self.learner.version}: the parameters of learner process {', '.join(odd)} differ "
                "from those of the run's, expected equal ones; resume from the newest checkpoint"
            )
        self._ended = self._orders

    # ---- watching --------------------------------------------------------------------------------

    def _wait(self) -> None:
        news = wait_for(self._poll, LOOK_S)
        self.memory.bells[0].clear()
        self._judge(news)

    def _look(self) -> None:
        self._judge(wait_for(self._poll, 0.0))

    def _judge(self, news: Sequence[tuple[int, int]]) -> None:
        """Raise where a process has ended, or is stopped for too long."""
        rung = {descriptor for descriptor, _ in news}
        for p in self._processes:
            if p.channel.fileno() in rung:
                raise self._failed(f"{p.name} {p.how_it_ended()}")
            if why := p.why_stopped(self._stopped_s):
                raise self._failed(why)

    def _failed(self, why: str) -> LearnerProcessError:
        """Let no further update start; return the error."""
        self._problem = self._problem or why
        return LearnerProcessError(why)


def _end_all(processes: list[Child], memory: Memory, owner: int) -> None:
    """End the processes, from the process that started them; a fork of it leaves them alone."""
    end_all(processes, owner)
    if os.getpid() == owner:
        processes.clear()
        memory.close()

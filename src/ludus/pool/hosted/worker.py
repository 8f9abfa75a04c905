"""A process that plays a share of every group's slots, of a :class:`~ludus.pool.hosted.process.ProcessPool`.

It sleeps until its doorbell is notified, executes the commands of the control block, oldest first, and
notifies the group's doorbell. Game and slabs arrive as JSON with descriptors over a socket, before play or
while none of its groups plays. When the parent exits for any reason, the kernel ends this process and its
children.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Sequence

import msgspec

from ludus.flow import Slab
from ludus.flow.inputs.decode import from_json
from ludus.flow.process.interrupts import leave_to_parent
from ludus.games.names import loaded, typed
from ludus.games.python_game import ProcessUnusable
from ludus.games.registry import maker
from ludus.pool.hosted.control_block import BUSY_NS, NUMBER, PLAY_AFTER_LOSS, WAIT_NS, ControlBlock
from ludus.pool.hosted.shard import PoolPlan
from ludus.pool.hosted.shards import make_shard
from ludus.pool.hosted.shared import Doorbell, Segment, shared_slab

_HEADER = struct.Struct("<I")
_MAX_DESCRIPTORS = 64
READY = b"\0"  # before what a worker reports of itself; an error is text
UNUSABLE = 75  # exit code of a process that asks to be replaced: EX_TEMPFAIL


class WorkerStart(msgspec.Struct):
    """The first message. Descriptors with it: control segment, own doorbell, then every group's doorbell."""

    reference: str
    typed: bool  # the user typed the reference; see ludus.games.names
    params: dict[str, str]
    plan: PoolPlan  # with the parent's spec; the game made here must declare the same
    groups: list[tuple[int, int]]  # this worker's slots of each group
    worker: int
    workers: int
    control_bytes: int
    doorbell_descriptors: int  # of one doorbell


class NewSlab(msgspec.Struct):
    """A slab to write into; its descriptor comes with it."""

    number: int
    steps: int
    rows: int


def send_message(channel: socket.socket, data: bytes, descriptors: Sequence[int] = ()) -> None:
    """Send a whole message with its descriptors."""
    socket.send_fds(channel, [_HEADER.pack(len(data))], list(descriptors))
    channel.sendall(data)


def receive_message(channel: socket.socket) -> tuple[bytes, list[int]]:
    """Return the next whole message. Raises ``EOFError`` when the other side has closed."""
    head, descriptors, _, _ = socket.recv_fds(channel, _HEADER.size, _MAX_DESCRIPTORS)
    while 0 < len(head) < _HEADER.size:
        head += channel.recv(_HEADER.size - len(head))
    if len(head) < _HEADER.size:
        raise EOFError
    (size,) = _HEADER.unpack(head)
    data = bytearray()
    while len(data) < size:
        part = channel.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data), list(descriptors)


def die_with_parent(lifeline: int) -> None:
    """End this process group when the other end of ``lifeline`` closes, even while a game hangs."""
    import fcntl

    set_signal = getattr(fcntl, "F_SETSIG", None)
    if set_signal is not None:
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(lifeline, set_signal, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    else:  # pragma: no cover - other systems
        import threading

        def watch() -> None:
            with contextlib.suppress(OSError):
                os.read(lifeline, 1)
            os.killpg(os.getpgrp(), signal.SIGKILL)

        threading.Thread(target=watch, daemon=True).start()


class ShardWorker:
    """Owns the shards of one worker process."""

    def __init__(self, channel: socket.socket, start: WorkerStart, descriptors: list[int]) -> None:
        """Make the games of this worker's slots. Raises ``ValueError`` for a spec other than the parent's."""
        self.channel = channel
        self.start = start
        plan = start.plan
        self.spec = plan.spec
        segment = Segment(start.control_bytes, descriptors[0])
        groups = len(start.groups)
        self.control = ControlBlock.allocate(
            segment.allocate, plan.spec, plan.lineup, start.workers, groups, plan.slots
        )
        n = start.doorbell_descriptors
        doorbells = [Doorbell(descriptors[1 + n * i : 1 + n * (i + 1)]) for i in range(groups + 1)]
        self.doorbell, self.group_bells = doorbells[0], doorbells[1:]
        admitted = typed if start.typed else loaded  # checked by the parent, which has made the game
        made = maker(admitted(start.reference), start.params)
        self.agents = [str(agent) for agent in getattr(made, "agents", ())]
        if made.spec.spec_hash != plan.spec.spec_hash:
            raise ValueError(
                f"{start.reference} declares spec {made.spec.spec_hash} in the worker and "
                f"{plan.spec.spec_hash} in the parent; a game must declare the same everywhere (a set of "
                "strings, such as possible_agents, has another order in every process: sort it)"
            )
        self.shards = [
            make_shard(made, plan, self.control, range(*span), start.worker) for span in start.groups
        ]
        self.slabs: dict[int, Slab] = {}
        self.seen = [int(self.control.done[start.worker, g]) for g in range(groups)]

    def ready(self) -> bytes:
        """Return the answer to the first message: the seats' agents, if the environment names them."""
        return READY + msgspec.json.encode(self.agents) if self.agents else b""

    def run(self) -> None:
        """Run until ``closing`` is set in the control block or the parent exits."""
        counters = self.control.counters[self.start.worker]
        clock = time.perf_counter_ns
        at = clock()
        while True:
            group = self._next()
            if group is None:
                if self.control.closing[0]:
                    return
                self.doorbell.wait()
                now = clock()
                counters[WAIT_NS] += now - at
                at = now
                continue
            self._carry_out(group)
            now = clock()
            counters[BUSY_NS] += now - at
            at = now

    def _next(self) -> int | None:
        """Return the group with the oldest pending command."""
        best, number = None, 0
        mine = self.control.command[self.start.worker]
        for group, seen in enumerate(self.seen):
            given = int(mine[group, NUMBER])
            if given > seen and (best is None or given < number):
                best, number = group, given
        return best

    def _carry_out(self, group: int) -> None:

        worker = self.start.worker
        number, slab, before, kind = (int(x) for x in self.control.command[worker, group])
        self.shards[group].play(self._slab(slab), before, kind == PLAY_AFTER_LOSS)
        self.seen[group] = number
        self.control.done[worker, group] = number
        self.group_bells[group].notify()

    def _slab(self, number: int) -> Slab:

        while number not in self.slabs:
            data, descriptors = receive_message(self.channel)
            new = from_json(data, NewSlab)
            self.slabs[new.number], segment = shared_slab(self.spec, new.steps, new.rows, descriptors[0])
            segment.close()
        return self.slabs[number]

    def close(self) -> None:
        """Release the games' resources."""
        for shard in self.shards:
            shard.close()


def main(channel_descriptor: int, lifeline: int) -> int:
    """Run a worker process from its first message to its end; return the exit code."""
    die_with_parent(lifeline)
    leave_to_parent()
    channel = socket.socket(fileno=channel_descriptor)
    try:
        data, descriptors = receive_message(channel)
        worker = ShardWorker(channel, from_json(data, WorkerStart), descriptors)
    except EOFError:
        return 0
    except Exception as error:
        with contextlib.suppress(OSError):
            send_message(channel, f"{type(error).__name__}: {error}".encode())
        return 1
    try:
        send_message(channel, worker.ready())
        worker.run()
    except BrokenPipeError:  # the parent gave up while the games were made
        return 0
    except ProcessUnusable as error:
        sys.stderr.write(f"worker {worker.start.worker} is replaced: {error}\n")
        sys.stderr.flush()
        os._exit(UNUSABLE)  # without the game's threads and what they hold
    finally:
        worker.close()
    return 0

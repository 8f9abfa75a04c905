"""Processes of this machine that host the members of a league."""

from __future__ import annotations

import os
import select
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ludus.flow.slab import Array
from ludus.pool.hosted.shared import wait_for
from ludus.pool.hosted.worker import receive_message, send_message
from ludus.presets.errors import RunFailed
from ludus.training.league.remote import messages as m
from ludus.training.league.remote.board import WeightsBoard
from ludus.training.league.remote.hosting import HostStart, SentAnswer, SentRequest
from ludus.training.league.remote.link import Coming, MemberHosts
from ludus.training.learner_processes.child import LOOK_S, STOPPED_S, Child, end_all
from ludus.training.learner_processes.memory import Bundle, Field, fields_of

_WORKER = "ludus.training.league.remote.hosting"


class ProcessHosts(MemberHosts):
    """Members in processes of this machine, which have about equal shares of the decisions."""

    def __init__(
        self,
        members: Mapping[str, float],
        count: int,
        fields: Sequence[Field],
        slots: int,
        *,
        stopped_s: float = STOPPED_S,
    ) -> None:
        """Start the processes.

        Args:
            members: Shares of all members of the league.
            count: Number of processes.
            fields: Layout of the weights that act.
            slots: Slots of a member on the board.
            stopped_s: Seconds after which a stopped process counts as lost.

        Raises:
            RunFailed: The system starts no process.
        """
        super().__init__(tuple(members), slots)
        self._homes = homes(members, count)
        self.stopped_s = stopped_s  #: after which a stopped process counts as lost
        self._children: list[Child] = []
        self._closer = weakref.finalize(self, end_all, self._children, os.getpid())
        self._poll = select.poll()
        self._coming: list[dict[int, Coming]] = [{} for _ in range(count)]
        self._numbers = 0
        board = WeightsBoard(self.members, fields, slots)
        start = msgspec.msgpack.encode(HostStart(self.members, tuple(fields), slots))
        for number in range(count):
            hosted = ", ".join(name for name in self.members if self._homes[name] == number)
            try:
                child = Child(f"league process {number + 1} ({hosted})", _WORKER)
            except OSError as error:
                self.close()
                raise RunFailed(f"league process {number + 1} cannot be started: {error}") from error
            self._children.append(child)
            self._poll.register(child.channel, select.POLLIN | select.POLLHUP)
            self._deliver(child, start, [board.descriptor])
        board.close()

    @property
    def pids(self) -> list[int]:
        """Process ids, in the order of the processes."""
        return [child.pid for child in self._children]

    def send(self, member: str, request: m.Request, arrays: Mapping[str, Array] | None = None) -> Coming:
        """See :meth:`MemberHosts.send`."""
        number = self._homes[member]
        coming = Coming(member)
        self._numbers += 1
        fields = fields_of(dict(arrays)) if arrays else ()
        data = msgspec.msgpack.encode(SentRequest(self._numbers, member, request, fields))
        if isinstance(request, m.ANSWERED):
            self._coming[number][self._numbers] = coming
        bundle = None
        if arrays:
            bundle = Bundle(fields)
            bundle.fill({name: array for name, array in arrays.items() if array.size})
        self._deliver(self._children[number], data, [] if bundle is None else [bundle.descriptor])
        if bundle is not None:
            bundle.close()
        return coming

    def _deliver(self, child: Child, data: bytes, descriptors: list[int]) -> None:
        try:
            send_message(child.channel, data, descriptors)
        except OSError as error:
            raise self.lost(f"{child.name} {child.exit_text()}") from error

    def look(self, seconds: float) -> None:
        """See :meth:`MemberHosts.look`."""
        news = {descriptor for descriptor, _ in wait_for(self._poll, min(seconds, LOOK_S))}
        for number, child in enumerate(self._children):
            if child.channel.fileno() in news:
                self._receive(number, child)
            elif why := child.why_stopped(self.stopped_s):
                raise self.lost(why)

    def _receive(self, number: int, child: Child) -> None:
        """Take in one answer."""
        try:
            data, descriptors = receive_message(child.channel)
        except (EOFError, OSError) as error:
            raise self.lost(f"{child.name} {child.exit_text()}") from error
        sent = msgspec.msgpack.decode(data, type=SentAnswer)
        arrays: dict[str, Any] = {}
        if sent.fields:
            bundle = Bundle(sent.fields, descriptors[0])
            arrays = dict(bundle.arrays)
            bundle.close()
        coming = self._coming[number].pop(sent.number, None)
        if coming is not None:  # else a request without an answer failed, and the next answer reports it
            coming.come(sent.answer, arrays)

    def close(self) -> None:
        """See :meth:`MemberHosts.close`."""
        self._closer()


def homes(shares: Mapping[str, float], count: int) -> dict[str, int]:
    """Return the process of each member: the largest shares first, each in the process with the least.

    Args:
        shares: Share of each member.
        count: Number of processes.
    """
    loads = [0.0] * count
    found: dict[str, int] = {}
    for name in sorted(shares, key=lambda name: -shares[name]):
        found[name] = min(range(count), key=lambda number: loads[number])
        loads[found[name]] += shares[name]
    return found

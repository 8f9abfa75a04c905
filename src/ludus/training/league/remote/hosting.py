"""Process that hosts members of a league and carries out requests in their order."""

from __future__ import annotations

import os
import queue
import socket
import sys
import threading
from collections.abc import Mapping, Sequence

import msgspec

from ludus.algorithms.group import RankLost
from ludus.flow.process.as_found import one_thread
from ludus.flow.process.interrupts import leave_to_parent
from ludus.flow.slab import Array
from ludus.pool import MatchError, PoolError
from ludus.pool.hosted.worker import die_with_parent, receive_message, send_message
from ludus.presets.errors import ConfigError, RunFailed
from ludus.storage import StorageError
from ludus.training.league.remote import messages as m
from ludus.training.league.remote.board import VersionBoard, WeightsBoard
from ludus.training.league.remote.session import MemberSession
from ludus.training.learner_processes.memory import Bundle, Field, fields_of
from ludus.training.machines import LOCAL, Machines

MAX_TEXT = 2000  # characters of an error


class HostStart(msgspec.Struct, frozen=True):
    """The first message to a process; the board's descriptor comes with it.

    Args:
        members: All members of the league.
        fields: Layout of the weights that act.
        slots: Slots of a member on the board.
    """

    members: tuple[str, ...]
    fields: tuple[Field, ...]
    slots: int


class SentRequest(msgspec.Struct, frozen=True):
    """A request to ``member``; ``fields``: layout of the arrays whose descriptor comes with it."""

    number: int
    member: str
    request: m.Request
    fields: tuple[Field, ...] = ()


class SentAnswer(msgspec.Struct, frozen=True):
    """The answer to request ``number``; ``fields`` as in a request."""

    number: int
    answer: m.Answer
    fields: tuple[Field, ...] = ()


class MemberHost:
    """The members of one process.

    A request after a failed one to the same member is not carried out, but for those that read its learner.
    """

    def __init__(self, board: VersionBoard, machines: Machines = LOCAL) -> None:
        """Start without members: one is made when it is spoken to."""
        self._board, self._machines = board, machines
        self._sessions: dict[str, MemberSession] = {}
        self._failed: dict[str, m.RequestFailed] = {}

    def carry_out(
        self, member: str, request: m.MemberRequest, arrays: Mapping[str, Array]
    ) -> tuple[m.MemberAnswer | None, Mapping[str, Array]]:
        """Carry out a request; an error is an answer."""
        failed = self._failed.get(member)
        if failed is not None and not isinstance(request, m.GiveWeights | m.GiveLearner):
            return failed, {}
        session = self._sessions.get(member)
        if session is None:
            session = self._sessions[member] = MemberSession(member, self._board, self._machines)
        try:
            return session.carry_out(request, arrays)
        except Exception as error:
            failed = m.RequestFailed(_kind_of(error), _text_of(error))
            if not isinstance(request, m.RestoreMember | m.BeginMember | m.MakeMatches):
                self._failed.setdefault(member, failed)
                self._board.fail(member)
            return failed, {}

    def close(self) -> None:
        """Stop all matches."""
        for session in self._sessions.values():
            session.close()


def _kind_of(error: Exception) -> str:
    if isinstance(error, RankLost):
        return "lost"
    if isinstance(error, MatchError | PoolError):
        return "play"
    if isinstance(error, ConfigError):
        return "settings"
    if isinstance(error, StorageError):
        return "file"
    return "other"


def _text_of(error: Exception) -> str:
    told = isinstance(error, RunFailed) or _kind_of(error) != "other"
    text = str(error) if told else f"{type(error).__name__}: {error}"
    return text[:MAX_TEXT]


def answer_of(
    host: MemberHost, data: bytes, descriptors: Sequence[int]
) -> tuple[SentAnswer | None, Bundle | None]:
    """Carry out the request in a message; return the answer, if it has one, and the arrays beside it."""
    sent = msgspec.msgpack.decode(data, type=SentRequest)
    given = Bundle(sent.fields, descriptors[0]) if sent.fields else None
    answer, arrays = host.carry_out(sent.member, sent.request, {} if given is None else given.arrays)
    if given is not None:
        given.close()
    if answer is None:
        return None, None
    assert isinstance(answer, m.Answer)
    if not arrays:
        return SentAnswer(sent.number, answer), None
    held = {name: array for name, array in arrays.items() if array.size}
    bundle = Bundle(fields_of(dict(arrays)))
    bundle.fill(held)
    return SentAnswer(sent.number, answer, bundle.fields), bundle


def main(channel_descriptor: int, lifeline: int) -> int:
    """Host members from the first message to the end of the run's process; return the exit code."""
    die_with_parent(lifeline)
    leave_to_parent()
    one_thread()
    channel = socket.socket(fileno=channel_descriptor)
    try:
        data, descriptors = receive_message(channel)
        start = msgspec.msgpack.decode(data, type=HostStart)
        host = MemberHost(WeightsBoard(start.members, start.fields, start.slots, descriptors[0]))
    except (EOFError, ConnectionError):
        return 0
    requests = queue.SimpleQueue[tuple[bytes, list[int]] | None]()
    threading.Thread(target=_receive, args=(channel, requests), daemon=True).start()
    while (got := requests.get()) is not None:
        answer, bundle = answer_of(host, *got)
        if answer is None:
            continue
        try:
            send_message(
                channel, msgspec.msgpack.encode(answer), [] if bundle is None else [bundle.descriptor]
            )
        except ConnectionError:
            break
        if bundle is not None:
            bundle.close()
    host.close()
    return 0


def _receive(channel: socket.socket, requests: queue.SimpleQueue[tuple[bytes, list[int]] | None]) -> None:
    """Take requests off the channel at any time, so that the run's process never waits to send one."""
    try:
        while True:
            requests.put(receive_message(channel))
    except (EOFError, OSError):
        requests.put(None)


def run(channel_descriptor: int, lifeline: int) -> None:
    """Call :func:`main` and exit, without the interpreter's own end."""
    code = main(channel_descriptor, lifeline)
    sys.stderr.flush()
    os._exit(code)

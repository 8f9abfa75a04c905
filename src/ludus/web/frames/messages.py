"""Messages between the process that plays a match and the one that shows it: length, then msgpack."""

from __future__ import annotations

import os
import select
import time
from typing import Literal

import msgspec

from ludus.web.frames.packing import Kind
from ludus.web.thoughts.thought import Opinion

MOST_BYTES = 64 << 20  # of a message
Place = Literal["making the game", "reset()", "step()", "render()", "thinking"]


class Decided(msgspec.Struct, frozen=True):
    """Recorded decision of a seat: one number a head."""

    tick: int
    seat: int
    action: tuple[int, ...]


class PlayAgain(msgspec.Struct, frozen=True, tag=True):
    """GameOrder: play a recorded match again and draw it.

    ``name``, ``version`` and ``seats`` come from the record; ``hashes``: its digests, every ``hash_every``
    ticks. ``think``: players whose thoughts are wanted.
    ``draw``: whether ``render`` is called; ``film``: whether there are moments at all; ``most_s``: seconds,
    after which the rest is left out.
    """

    name: str
    version: int
    seats: int
    seed: int
    match: int
    ticks: int
    hash_every: int
    hashes: list[int]
    decisions: list[Decided]
    think: tuple[str, ...] = ()
    draw: bool = True
    film: bool = True
    most_s: float = float("inf")


class PlayLive(msgspec.Struct, frozen=True, tag=True):
    """GameOrder: play a match of players and draw it, as far as its ticks and seconds reach.

    ``players``: a name a seat, as evaluations read them.
    """

    players: tuple[str, ...]
    seed: int
    match: int
    most_ticks: int
    most_s: float
    device: str = "auto"
    draw: bool = True


class GameOrder(msgspec.Struct, frozen=True):
    """The first message: the game. ``typed``: whether a person named it."""

    reference: str
    typed: bool
    params: dict[str, str]


class Begun(msgspec.Struct, frozen=True, tag=True):
    """Start of a match. ``spec``: JSON of the game's; ``players``: names as people read them."""

    spec: bytes
    ticks_per_s: float
    players: tuple[str, ...] = ()


class At(msgspec.Struct, frozen=True, tag=True):
    """Sign of life: what is called next."""

    tick: int
    place: Place


class Frame(msgspec.Struct, frozen=True, tag=True):
    """A moment of the match. ``stride``: ticks between two moments that are kept."""

    tick: int
    stride: int
    kind: Kind
    data: bytes
    returns: tuple[float, ...]


class MatchEnded(msgspec.Struct, frozen=True, tag=True):
    """End of a match, or of the part that can be played.

    Attributes:
        tick: Its last tick.
        over: Whether the game ended it.
        outcome: Outcome of each seat; zeros where it is truncated.
        returns: Return of each seat.
        difference: How a match that was played again differs from its record; empty if it does not.
        notes: Sentences for the page.
        decisions: Decisions of a match of players.
        thoughts: Opinions about it.
        replay: A match of players as a ``.ludus`` file; empty otherwise.
    """

    tick: int
    over: bool
    outcome: tuple[float, ...]
    returns: tuple[float, ...]
    difference: str = ""
    notes: tuple[str, ...] = ()
    decisions: tuple[Decided, ...] = ()
    thoughts: tuple[Opinion, ...] = ()
    replay: bytes = b""


class NoMatch(msgspec.Struct, frozen=True, tag=True):
    """No match can be shown."""

    why: str


Message = Begun | At | Frame | MatchEnded | NoMatch
Task = PlayAgain | PlayLive
_MESSAGES: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)
_TASKS: msgspec.msgpack.Decoder[Task] = msgspec.msgpack.Decoder(Task)


class Late(Exception):
    """No message came in time."""


def send(file: int, message: Message | Task | GameOrder) -> None:
    """Write a message whole. Raises ``OSError`` when no one reads."""
    body = msgspec.msgpack.encode(message)
    data = memoryview(len(body).to_bytes(4, "big") + body)
    while data:
        data = data[os.write(file, data) :]


def receive(file: int, seconds: float) -> Message | None:
    """Return the next message; None when the other process is gone. Raises :class:`Late`, ``ValueError``."""
    body = _body(file, seconds)
    return None if body is None else _MESSAGES.decode(body)


def next_task(file: int) -> Task | None:
    """Return the next task, however long it takes; None when no more will come."""
    body = _body(file, None)
    return None if body is None else _TASKS.decode(body)


def first_order(file: int) -> GameOrder:
    """Return the first message."""
    body = _body(file, None)
    if body is None:
        raise ValueError("no order")
    return msgspec.msgpack.decode(body, type=GameOrder)


def _body(file: int, seconds: float | None) -> bytes | None:
    end = None if seconds is None else time.monotonic() + seconds
    head = _exactly(file, 4, end)
    if head is None:
        return None
    length = int.from_bytes(head, "big")
    if length > MOST_BYTES:
        raise ValueError(f"a message of {length} bytes")
    return _exactly(file, length, end)


def _exactly(file: int, count: int, end: float | None) -> bytes | None:
    parts = bytearray()
    while len(parts) < count:
        left = None if end is None else max(0.0, end - time.monotonic())
        if not select.select([file], [], [], left)[0]:
            raise Late
        part = os.read(file, min(count - len(parts), 1 << 20))
        if not part:
            return None
        parts += part
    return bytes(parts)

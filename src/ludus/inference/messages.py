"""Requests of thin rollouts to an inference server, and its answers.

A message is small: names, numbers and the places of arrays, whose bytes lie in memory that both share, or
follow as separate arguments. What arrives is bounded here and checked before anything is computed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NamedTuple

import msgspec
import numpy as np

from ludus.flow.slab import Array
from ludus.pool.hosted.shared import ALIGN, room

MAX_MESSAGE = 128 << 10  # bytes of a request or an answer, without its arrays
MAX_ROWS = 1 << 20
MAX_MEMORY = 1 << 33  # bytes of the arrays of one request

Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_ROWS)]
Text = Annotated[str, msgspec.Meta(max_length=512)]
Kind = Literal["act", "value", "digest"]
Dtype = Literal["|u1", "|i1", "<i2", "<u2", "<i4", "<u4", "<i8", "<f2", "<f4", "<f8", "|b1"]


class ArrayPlace(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Place of an array in memory that two processes share."""

    name: Annotated[str, msgspec.Meta(max_length=256)]
    dtype: Dtype
    shape: Annotated[tuple[Count, ...], msgspec.Meta(max_length=8)]
    start: Annotated[int, msgspec.Meta(ge=0, le=MAX_MEMORY)]

    @property
    def end(self) -> int:
        """First byte behind the array."""
        return self.start + room(self.shape, self.dtype)


class ServedMind(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Weights and draws that decide for the rows of a policy id.

    Args:
        policy: The policy id in the pool of the rollout.
        name: Name of the network at the servers.
        stock: Number of its weights there; of a learner their version.
        version: Version of the weights, as slabs hold it.
        seed: Seed of the draws.
        greedy: Whether the most probable choice is taken.
    """

    policy: Annotated[int, msgspec.Meta(ge=-(1 << 15), lt=1 << 15)]
    name: Text
    stock: Annotated[int, msgspec.Meta(ge=-1, lt=1 << 62)]
    version: Annotated[int, msgspec.Meta(ge=-1, lt=1 << 31)]
    seed: int
    greedy: bool = False


class Ask(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A request. Its answer depends on nothing but this and the weights, so it may be asked again.

    Args:
        number: Number of the request among those of its client.
        kind: ``act`` decides, ``value`` values rows, ``digest`` describes the weights.
        minds: What decides: one, or all lanes of one architecture, by rising policy id.
        parts: Policy id and number of its rows, in the order of the rows.
        step: Time step of the matches.
        arrays: Places of the arrays: ``obs.NAME``, ``mask``, ``first``, ``rows``, ``memory``.
        size: Bytes of the shared memory, with room for the answer; 0: none is shared.
    """

    number: Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
    kind: Kind
    minds: Annotated[tuple[ServedMind, ...], msgspec.Meta(min_length=1, max_length=1024)]
    parts: Annotated[tuple[tuple[int, Count], ...], msgspec.Meta(max_length=1024)] = ()
    step: Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)] = 0
    arrays: Annotated[tuple[ArrayPlace, ...], msgspec.Meta(max_length=256)] = ()
    size: Annotated[int, msgspec.Meta(ge=0, le=MAX_MEMORY)] = 0


class Reply(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """An answer.

    Args:
        number: Number of the request.
        error: What was wrong; empty if nothing was.
        diverged: Whether the error is about numbers that are not finite.
        arrays: Places of ``actions``, ``log_prob``, ``value``, ``memory``, ``versions``.
        digest: Digest of the weights, for a request of this kind.
    """

    number: int
    error: Annotated[str, msgspec.Meta(max_length=4096)] = ""
    diverged: bool = False
    arrays: Annotated[tuple[ArrayPlace, ...], msgspec.Meta(max_length=16)] = ()
    digest: Annotated[str, msgspec.Meta(max_length=128)] = ""


class NetworkCard(msgspec.Struct, frozen=True):
    """Description of a network for a rollout that does not have it.

    Args:
        name: Name at the servers.
        stock: Number of the weights there.
        version: Version of the weights.
        architecture: Networks of equal ones decide together.
        inputs: Observations that it reads.
        memory_shape: Shape of a row's memory; None without one.
        greedy: Whether its most probable choice is taken.
    """

    name: Text
    stock: int
    version: int
    architecture: str
    inputs: tuple[str, ...]
    memory_shape: tuple[int, ...] | None
    greedy: bool = False


class ReplyArrays(NamedTuple):
    """An answer with its arrays, which are copies."""

    reply: Reply
    arrays: dict[str, Array]


_ask = msgspec.msgpack.Decoder(Ask)
_reply = msgspec.msgpack.Decoder(Reply)
encoded = msgspec.msgpack.Encoder().encode


def ask_of(data: bytes) -> Ask:
    """Return a request. Raises ``ValueError`` for one that is too large or malformed."""
    _check_size(data, "request")
    try:
        return _ask.decode(data)
    except msgspec.MsgspecError as error:
        raise ValueError(f"request to an inference server: {error}") from None


def reply_of(data: bytes) -> Reply:
    """Return an answer. Raises ``ValueError`` for one that is too large or malformed."""
    _check_size(data, "answer")
    try:
        return _reply.decode(data)
    except msgspec.MsgspecError as error:
        raise ValueError(f"answer of an inference server: {error}") from None


def _check_size(data: bytes, what: str) -> None:
    if len(data) > MAX_MESSAGE:
        raise ValueError(f"{what}: {len(data)} bytes, expected at most {MAX_MESSAGE}")


def places_of(arrays: Mapping[str, Array], start: int = 0) -> tuple[ArrayPlace, ...]:
    """Return places for ``arrays``, one after another from ``start`` on."""
    places: list[ArrayPlace] = []
    for name, array in arrays.items():
        places.append(ArrayPlace(name, array.dtype.str, array.shape, start))  # type: ignore[arg-type]
        start = places[-1].end
    return tuple(places)


def end_of(places: Sequence[ArrayPlace]) -> int:
    """Return the first byte behind all ``places``."""
    return max((place.end for place in places), default=0)


def check_places(places: Sequence[ArrayPlace], size: int) -> None:
    """Check places that another process named, in ``size`` bytes. Raises ``ValueError``."""
    for place in places:
        if place.start % ALIGN or place.end > size:
            raise ValueError(
                f"array {place.name}: bytes {place.start} to {place.end}, expected a start in multiples of "
                f"{ALIGN} and an end of at most {size}"
            )
    if len({place.name for place in places}) < len(places):
        raise ValueError("arrays: a name stands twice")


def view_of(place: ArrayPlace, memory: memoryview) -> Array:
    """Return the array at ``place`` of ``memory``, without a copy."""
    count = math.prod(place.shape)
    array: Array = np.frombuffer(memory, np.dtype(place.dtype), count, place.start).reshape(place.shape)
    return array


def check_arrays(ask: Ask, arrays: Mapping[str, Array]) -> int:
    """Return the number of rows of a request, one of each array. Raises ``ValueError``."""
    rows = sum(count for _, count in ask.parts)
    known = [mind.policy for mind in ask.minds]
    if known != sorted(set(known)):
        raise ValueError(f"minds: policy ids {known[:8]}, expected each once, rising")
    if ask.kind == "digest":
        return 0
    policies = [policy for policy, _ in ask.parts]
    if not set(policies) <= set(known) or policies != sorted(set(policies)) or not rows:
        raise ValueError(f"parts: {ask.parts[:8]}, expected rows of policy ids {known[:8]}, rising")
    needed = {"first"} | ({"mask", "rows"} if ask.kind == "act" else set())
    if lacking := sorted(needed - arrays.keys()):
        raise ValueError(f"arrays: {', '.join(lacking)} expected")
    for name, array in arrays.items():
        if not array.ndim or len(array) != rows:
            raise ValueError(f"array {name}: shape {array.shape}, expected {rows} rows")
    return rows

"""Clients against a server that is played by the test, and the checks of messages."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
import pytest

from ludus.flow.slab import Array
from ludus.inference.client import MAX_LOSSES, InferenceClient, ServedActor
from ludus.inference.deciding import Filling, InferenceRequest
from ludus.inference.link import ServerLost
from ludus.inference.messages import (
    MAX_MESSAGE,
    ArrayPlace,
    Ask,
    Reply,
    ReplyArrays,
    ServedMind,
    ask_of,
    check_arrays,
    check_places,
    encoded,
    places_of,
    reply_of,
)
from ludus.pool import PoolError
from tests.unit.inference.serving import batch, card

MIND = ServedMind(0, "a/learner/0", 1, 1, 7)


class PlayedLink:
    """A connection whose server does one thing after another: ``dies``, ``refuses`` or ``answers``."""

    def __init__(self, acts: list[str]) -> None:
        self.acts = acts
        self.asked: list[Ask] = []
        self.closed = False

    def ask(self, ask: Ask, arrays: Mapping[str, Array], seconds: float) -> ReplyArrays:
        """Do the next thing."""
        self.asked.append(ask)
        act = self.acts.pop(0)
        if act == "dies":
            raise ServerLost("it ended")
        if act == "refuses":
            return ReplyArrays(Reply(ask.number, "ValueError: odd"), {})
        rows = sum(count for _, count in ask.parts) - (act == "answers too little")
        value = np.arange(rows, dtype=np.float32)
        return ReplyArrays(Reply(ask.number), {"value": value})

    def close(self) -> None:
        """Note it."""
        self.closed = True


def valued(client: InferenceClient, rows: int = 3) -> list[float]:
    """Return the values of some rows."""
    given = batch(rows, 0)
    actor = ServedActor(client, card(1), {0: 7})
    return [float(v) for v in actor.value(given.obs, given.memory, given.is_first)]


def test_a_request_is_asked_again_until_a_server_answers() -> None:
    link, tries = PlayedLink(["dies", "dies", "answers"]), []

    def connect() -> PlayedLink:
        tries.append(1)
        if len(tries) % 2:
            raise ServerLost("not yet")
        return link

    pauses: list[float] = []
    client = InferenceClient(0, connect, 10.0, pauses.append)
    assert valued(client) == [0.0, 1.0, 2.0]
    assert len({encoded(ask) for ask in link.asked}) == 1, "the same request each time"
    assert (client.losses, len(pauses), link.closed) == (2, 3, True)


def test_servers_that_die_again_and_again_end_the_run() -> None:
    link = PlayedLink(["dies"] * MAX_LOSSES)
    with pytest.raises(
        PoolError, match=f"inference server 3 died {MAX_LOSSES} times at one request: it ended"
    ):
        valued(InferenceClient(3, lambda: link, 10.0))


def test_a_server_without_a_successor_ends_the_run() -> None:
    def connect() -> PlayedLink:
        raise ServerLost("not yet")

    with pytest.raises(PoolError, match=r"inference server 1 has no successor after 0\.05 s: not yet"):
        valued(InferenceClient(1, connect, 0.05))


def test_an_answer_with_an_error_or_too_few_rows_ends_the_run() -> None:
    with pytest.raises(PoolError, match="inference server 0: ValueError: odd"):
        valued(InferenceClient(0, lambda: PlayedLink(["refuses"])))
    with pytest.raises(PoolError, match=r"value: shape \(2,\), expected 3 rows"):
        valued(InferenceClient(0, lambda: PlayedLink(["answers too little"])))


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "odd"},
        {"minds": ()},
        {"number": -1},
        {"arrays": (ArrayPlace("a", "<O8", (1,), 0),)},  # type: ignore[arg-type]
        {"arrays": (ArrayPlace("a", "<f4", (-1,), 0),)},
        {"parts": ((0, 1 << 40),)},
        {"size": 1 << 60},
    ],
)
def test_messages_are_bounded(change: dict[str, object]) -> None:
    good = Ask(1, "act", (MIND,), ((0, 2),))
    assert ask_of(encoded(good)) == good
    with pytest.raises(ValueError, match="request to an inference server: "):
        ask_of(encoded(msgspec.structs.replace(good, **change)))


def test_large_messages_are_refused() -> None:
    for read in (ask_of, reply_of):
        with pytest.raises(ValueError, match=f"expected at most {MAX_MESSAGE}"):
            read(b"\0" * (MAX_MESSAGE + 1))
    with pytest.raises(ValueError, match="answer of an inference server: "):
        reply_of(b"\xc1")


def test_places_lie_in_the_memory_and_arrays_have_the_rows() -> None:
    arrays: dict[str, Array] = {"first": np.zeros(2, np.uint8), "mask": np.zeros((2, 3), np.uint8)}
    arrays["rows"] = np.zeros(2, np.int32)
    places = places_of(arrays)
    check_places(places, 192)
    for wrong, size in ((places, 128), ((ArrayPlace("a", "|u1", (1,), 3),), 128), ((places[0],) * 2, 192)):
        with pytest.raises(ValueError, match=r"^array"):
            check_places(wrong, size)
    ask = Ask(1, "act", (MIND,), ((0, 2),))
    assert check_arrays(ask, arrays) == 2
    for parts in (((1, 2),), ((0, 1),), ()):
        with pytest.raises(ValueError, match=r"parts|rows"):
            check_arrays(msgspec.structs.replace(ask, parts=parts), arrays)
    with pytest.raises(ValueError, match="arrays: mask expected"):
        check_arrays(ask, {"first": arrays["first"], "rows": arrays["rows"]})
    with pytest.raises(ValueError, match="minds: policy ids"):
        check_arrays(msgspec.structs.replace(ask, minds=(MIND, MIND)), arrays)


class Nobody:
    """A recipient that gets no answer."""

    def answer(self, reply: Reply, arrays: Mapping[str, Array]) -> None:
        """Do nothing."""


def request(since: float, rows: int, name: str = "a/learner/0", stock: int = 1) -> InferenceRequest:
    """Return a request that waits."""
    arrays: dict[str, Array] = {"first": np.zeros(rows, np.uint8)}
    mind = msgspec.structs.replace(MIND, name=name, stock=stock)
    return InferenceRequest(Ask(1, "value", (mind,), ((0, rows),)), arrays, Nobody(), since)


def test_batches_are_filled_by_rows_by_time_and_by_all_that_wait() -> None:
    filling = Filling(True, rows=10, seconds=1.0)
    one, two, three = request(0.0, 4), request(0.5, 4), request(0.6, 4)
    assert filling.ready([one], 0.2, 3) == ([], 0.8)
    assert filling.ready([one, two], 0.5, 3) == ([], 0.5)
    assert filling.ready([one, two], 1.0, 3) == ([[one, two]], None)
    assert filling.ready([one, two], 0.5, 2) == ([[one, two]], None)
    assert filling.ready([one, two, three], 0.6, 9) == ([[one, two], [three]], None)
    assert filling.ready([], 0.6, 9) == ([], None)


def test_only_requests_for_the_same_weights_are_joined() -> None:
    filling = Filling(True, rows=10, seconds=1.0)
    one, other, newer = request(0.0, 4), request(0.0, 4, name="b/learner/0"), request(0.0, 4, stock=2)
    assert filling.ready([one, other, newer], 1.0, 9) == ([[one], [other], [newer]], None)
    assert Filling(False).ready([one, request(0.0, 1)], 0.0, 9)[0][0] == [one]


def test_a_request_with_more_rows_than_a_batch_is_decided_alone() -> None:
    filling = Filling(True, rows=10, seconds=1.0)
    large, small = request(0.0, 40), request(0.0, 1)
    assert filling.ready([large, small], 0.0, 9) == ([[large], [small]], None)

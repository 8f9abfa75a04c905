"""Weights that processes share: a reader gets the version that it waits for, and slots are given again."""

from __future__ import annotations

import random
import threading

import numpy as np
import pytest

from ludus.training.league.remote.board import SlotBook, WeightsBoard, slot_count
from ludus.training.league.remote.messages import NEWEST, LiveWeights
from ludus.training.learner_processes.memory import Field

FIELDS = (Field("a", (3, 2), "<f4"), Field("b", (), "<i8"))


def weights(number: int) -> dict[str, np.ndarray]:
    """Return weights that hold ``number`` everywhere."""
    return {"a": np.full((3, 2), number, np.float32), "b": np.array(number, np.int64)}


def test_a_reader_waits_for_its_version() -> None:
    board = WeightsBoard(("x", "y"), FIELDS, 2)
    board.put("y", 1, 4, weights(4))
    read: list[tuple[int, float]] = []

    def wait() -> None:
        version, tensors = board.wait(LiveWeights("y", 1, 5))
        read.append((version, float(tensors["a"][2, 1])))

    thread = threading.Thread(target=wait)
    thread.start()
    board.put("x", 1, 5, weights(-1))  # of another member
    board.put("y", 0, 5, weights(-2))  # in another slot
    thread.join(0.05)
    assert thread.is_alive()
    board.put("y", 1, 5, weights(5))
    thread.join(5.0)
    assert read == [(5, 5.0)]
    board.close()


def test_the_newest_weights_are_a_copy() -> None:
    board = WeightsBoard(("x",), FIELDS, 2)
    board.put("x", 1, 7, weights(7))
    version, tensors = board.wait(LiveWeights("x", 0, NEWEST))
    board.put("x", 1, 8, weights(8))
    assert (version, int(tensors["b"])) == (7, 7)
    assert board.wait(LiveWeights("x", 0, NEWEST))[0] == 8
    board.close()


@pytest.mark.parametrize("seed", range(20))
def test_a_slot_that_is_read_is_not_given_again(seed: int) -> None:
    """At most as many readers as slabs are under way."""
    generator, under_way = random.Random(seed), 5
    book, reading, holds = SlotBook(slot_count(2, under_way)), list[tuple[int, int]](), dict[int, int]()
    for version in range(200):
        holds[book.turn()] = version
        while len(reading) < under_way and generator.random() < 0.6:
            reading.append((book.read(), version))
        while reading and generator.random() < 0.5:
            slot, wanted = reading.pop(generator.randrange(len(reading)))
            assert holds[slot] == wanted
            book.done(slot)
        assert all(holds[slot] == wanted for slot, wanted in reading)

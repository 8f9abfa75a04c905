"""Served decisions equal decisions of a network in the same process, whatever happens on the way."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from ludus.flow.errors import NotFinite
from ludus.inference.client import ServedActor
from ludus.inference.messages import Ask, encoded, reply_of
from ludus.inference.shelves import name_of
from ludus.pool import PoolError
from ludus.rollouts.actor import Decision
from ludus.rollouts.lane_actor import LaneActor
from ludus.rollouts.network_actor import NetworkActor
from tests.unit.inference.serving import (
    NAME,
    acting,
    batch,
    card,
    client_of,
    network,
    server,
    tensors,
    weights,
)


def assert_equal(one: Decision, other: Decision) -> None:
    """Check that two decisions are equal bit for bit."""
    for a, b in zip(one, other, strict=True):
        assert (a is None) == (b is None)
        assert a is None or b is None or np.array_equal(a, b)


def test_decisions_values_and_digests_are_those_of_the_network(tmp_path: Path) -> None:
    local = NetworkActor(network(3), 7, 5)
    with server(tmp_path) as (made, shelves, _):
        shelves.publish(NAME, 5, tensors(network(3)), ())
        actor = acting(client_of(made.path), 5)
        for step, rows in enumerate((4, 300, 1)):  # memory grows, and stays
            given = batch(rows, step)
            assert_equal(actor.act(given), local.act(given))
            value = actor.value(given.obs, given.memory, given.is_first)
            assert np.array_equal(value, local.value(given.obs, given.memory, given.is_first))
        assert actor.digest().startswith("digest of ")


def test_each_request_gets_the_version_that_it_names_and_waits_for_it(tmp_path: Path) -> None:
    with server(tmp_path) as (made, shelves, _):
        shelves.publish(NAME, 1, tensors(network(1)), ())
        actor = acting(client_of(made.path), 1)
        later = threading.Timer(0.2, shelves.publish, (NAME, 2, tensors(network(2)), (1,)))
        later.start()
        given = batch(8, 0)
        for version in (1, 2, 1, 2):
            actor.load(version)
            assert_equal(actor.act(given), NetworkActor(network(version), 7).act(given))
        shelves.publish(NAME, 3, tensors(network(3)), (2,))
        actor.load(3)
        assert_equal(actor.act(given), NetworkActor(network(3), 7).act(given))


def test_lanes_of_frozen_players_decide_together(tmp_path: Path) -> None:
    seeds = {1: 11, 2: 22, 4: 44}
    names = {lane: name_of("sampler", "frozen", f"player{lane}") for lane in seeds}
    local = LaneActor({lane: NetworkActor(network(lane), seeds[lane], lane) for lane in seeds})
    with server(tmp_path) as (made, shelves, _):
        for lane in seeds:
            shelves.add(names[lane], 100 + lane, weights(lane, lane))
        lanes = {lane: (card(lane, names[lane], 100 + lane), seeds[lane]) for lane in seeds}
        actor = ServedActor.of_lanes(client_of(made.path), lanes)
        for policies in (((1, 8), (2, 7), (4, 9)), ((2, 5),), ((1, 2), (4, 3))):
            given = batch(sum(count for _, count in policies), 3, policies)
            assert_equal(actor.act(given), local.act(given))


def test_requests_of_several_rollouts_are_joined_and_get_their_own_draws(tmp_path: Path) -> None:
    with server(tmp_path, joins=True) as (made, shelves, decider):
        shelves.publish(NAME, 1, tensors(network(1)), ())
        actors = [acting(client_of(made.path), 1, seed) for seed in (5, 6, 7)]
        given = [batch(20, step, seed=step) for step in range(3)]
        for actor in actors:  # all are connected
            actor.act(given[0])
        found: dict[int, Decision] = {}

        def decide(i: int) -> None:
            for _ in range(20):
                found[i] = actors[i].act(given[i])

        calls = decider.calls
        threads = [threading.Thread(target=decide, args=(i,)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert decider.calls - calls < 60
        for i, seed in enumerate((5, 6, 7)):
            alone = NetworkActor(network(1), seed).act(given[i])
            assert np.array_equal(found[i].actions, alone.actions)
            np.testing.assert_allclose(found[i].value, alone.value, rtol=1e-5, atol=1e-6)


def test_a_successor_is_asked_again_and_gives_the_same_decision(tmp_path: Path) -> None:
    given, local = batch(30, 4), NetworkActor(network(1), 7)
    with server(tmp_path) as (made, shelves, _):
        shelves.publish(NAME, 1, tensors(network(1)), ())
        client = client_of(made.path)
        actor = acting(client, 1)
        assert_equal(actor.act(given), local.act(given))
    found: list[Decision] = []
    asks = threading.Thread(target=lambda: found.append(actor.act(given)))
    asks.start()
    time.sleep(0.1)
    with server(tmp_path) as (made, shelves, _):
        shelves.publish(NAME, 1, tensors(network(1)), ())
        asks.join()
    assert client.losses == 1
    assert_equal(found[0], local.act(given))


def test_errors_of_a_network_reach_the_rollout(tmp_path: Path) -> None:
    nan = np.float32("nan")
    broken = {n: np.full_like(a, nan) if a.dtype == np.float32 else a for n, a in tensors(network(1)).items()}
    with server(tmp_path) as (made, shelves, _):
        shelves.publish(NAME, 1, broken, ())
        shelves.publish(NAME, 2, {"odd": np.zeros(1, np.float32)}, (1,))
        actor = acting(client_of(made.path), 1)
        with pytest.raises(NotFinite, match="version 1 of the weights gives log-probability nan"):
            actor.act(batch(4, 0))
        actor.load(2)
        with pytest.raises(
            PoolError, match=r"inference server 0: ValueError: weights of version 2 do not fit"
        ):
            actor.act(batch(4, 0))


@pytest.mark.parametrize("data", [b"\xc1", b"x" * 200_000, encoded((1, "act")), encoded(Ask(1, "act", ()))])
def test_a_malformed_message_ends_only_its_connection(data: bytes, tmp_path: Path) -> None:
    given = batch(4, 0)
    with server(tmp_path) as (made, shelves, _):
        shelves.publish(NAME, 1, tensors(network(1)), ())
        stranger = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        stranger.connect(made.path)
        stranger.send(data)
        stranger.settimeout(5.0)
        assert stranger.recv(100) == b""
        stranger.close()
        assert_equal(acting(client_of(made.path), 1).act(given), NetworkActor(network(1), 7).act(given))


def test_a_request_of_another_thread_is_answered_with_copies(tmp_path: Path) -> None:
    given = batch(4, 2)
    arrays = {f"obs.{name}": a for name, a in given.obs.items()}
    assert given.memory is not None
    arrays |= {"mask": given.mask, "first": given.is_first, "rows": given.rows, "memory": given.memory}
    with server(tmp_path) as (made, shelves, _):
        shelves.publish(NAME, 1, tensors(network(1)), ())
        asked = acting(client_of(made.path), 1)
        data = encoded(Ask(9, "act", asked.minds, ((0, 4),), 2))
        reply, answer = made.hand_over(data, arrays, 10.0)
        assert reply_of(reply).number == 9
        assert np.array_equal(answer["actions"], NetworkActor(network(1), 7).act(given).actions)
        with pytest.raises(ValueError, match="array mask: shape"):
            made.hand_over(data, arrays | {"mask": given.mask[:2]}, 10.0)
        missing = encoded(Ask(10, "act", acting(client_of(made.path), 77).minds, ((0, 4),), 2))
        with pytest.raises(TimeoutError, match=r"no weights, or no decision, for 0\.1 s"):
            made.hand_over(missing, arrays, 0.1)


def test_dropped_players_and_closed_samplers_are_forgotten(tmp_path: Path) -> None:
    name = name_of("sampler", "frozen", "player")
    with server(tmp_path) as (made, shelves, _):
        lanes = {1: (card(4, name, 1), 11)}
        ask = Ask(1, "act", ServedActor.of_lanes(client_of(made.path), lanes).minds)
        assert not shelves.has(ask)
        shelves.add(name, 1, weights(3, 4))
        assert shelves.has(ask)
        shelves.drop((name,))
        assert not shelves.has(ask)
        for stock in range(1, 7):  # replaced again and again
            shelves.add(name, stock, weights(stock, stock))
        assert not shelves.has(ask)
        newest = ServedActor.of_lanes(client_of(made.path), {1: (card(6, name, 6), 11)})
        assert_equal(newest.act(batch(3, 0)), NetworkActor(network(6), 11, 6).act(batch(3, 0)))
        assert newest.version == 6
        shelves.forget("sampler")
        assert not shelves.has(Ask(1, "act", newest.minds))

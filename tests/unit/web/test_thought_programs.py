"""Thoughts on an accelerator are programs: taped answers are the function's, and close to the processor's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import pytest
import torch

from ludus.flow import GameSpec, HeadSpec
from ludus.games import spec as spec_of
from ludus.games.match import Match
from ludus.games.python_game import declare
from ludus.games.python_game import tensor as declared
from ludus.policies.accelerator import Executor, Plain
from ludus.policies.actions.heads import heads_of
from ludus.policies.config import EncoderConfig, PolicyConfig, ResnetConfig
from ludus.policies.factory import build_network
from ludus.policies.protocol import Network
from ludus.rollouts.actor import ActInput
from ludus.rollouts.network_actor import RandomActor
from ludus.web.thoughts.mind import Moment, Observed
from ludus.web.thoughts.network import NetworkMind
from ludus.web.thoughts.thought import Thought
from tests.taped import Counting, Taped

torch.set_num_threads(1)
SMALL = EncoderConfig(channels=(4,), strides=(2,), dense=(8,), hidden=(16,), memory_size=8, context=8)
UNITS = {"commands": "units"}
TEAM = {"mode": "team"}
SIZES = (1, 3, 20, 1, 40)  # of the batches of moments, over and over


def small(**changes: object) -> EncoderConfig:
    return msgspec.structs.replace(SMALL, **changes)


def network_of(config: PolicyConfig, spec: GameSpec) -> Network:
    """Return a network whose choices are far from even and whose values have units."""
    network = build_network(config, spec, 3)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
        for name, statistic in network.state_dict().items():
            if name.startswith("values."):
                statistic.add_(2.0)
    return network


def moments_of(match: Match, ticks: int, skip: int) -> list[Moment]:
    """Return the moments of a match of random decisions; some decisions are unknown, some not kept."""
    actor = RandomActor(heads_of(match.spec), 7)
    latest: dict[int, Observed] = {}
    found: list[Moment] = []
    while match.tick < ticks and not match.over:
        tick, acting = match.tick, sorted(match.to_act)
        made: dict[int, tuple[int, ...]] = {}
        for seat in acting:
            obs = {name: array.copy() for name, array in match.observe(seat).items()}
            latest[seat] = obs
            mask = match.legal(seat).copy()
            rows = np.full(1, seat, np.int32)
            some = ActInput(obs, mask[None], None, np.ones(1, np.uint8), tick, rows)
            made[seat] = tuple(int(a) for a in actor.act(some).actions[0])
        if tick % skip == 0:
            number = tick // skip
            for seat in acting:
                others = {s: o for s, o in latest.items() if s != seat and (s + number) % 3}
                action = made[seat] if (number + seat) % 3 else ()
                kept = number % 4 != 3
                found.append(
                    Moment(tick, seat, latest[seat], match.legal(seat).copy(), action, b"", others, kept)
                )
        for seat, action in made.items():
            match.act(seat, *action)
        match.advance()
    return found


def thoughts(mind: NetworkMind, moments: Sequence[Moment]) -> list[Thought]:
    """Think in batches of several sizes."""
    found: list[Thought] = []
    for k in range(len(moments)):
        size = SIZES[k % len(SIZES)]
        found += mind.think(moments[len(found) : len(found) + size])
    return found


def assert_close(ours: Sequence[Thought], theirs: Sequence[Thought]) -> None:
    assert len(ours) == len(theirs) > 5
    for one, other in zip(ours, theirs, strict=True):
        assert (one.tick, one.seat, one.action) == (other.tick, other.seat, other.action)
        assert one.value == pytest.approx(other.value, abs=1e-5)
        assert one.chance == pytest.approx(other.chance, abs=1e-5)
        for head, its in zip(one.heads, other.heads, strict=True):
            assert sorted(head.choices) == sorted(its.choices)
            for mine, numbers in ((head.p, its.p), (head.q, its.q)):
                known = dict(zip(its.choices, numbers, strict=False))
                found = dict(zip(head.choices, mine, strict=False))
                assert found == pytest.approx(known, abs=1e-5)
            assert head.number == pytest.approx(its.number, abs=1e-5)


def check(config: PolicyConfig, spec: GameSpec, moments: Sequence[Moment], some: int = 9) -> Counting:
    """Compare thoughts taped, plain in static forms, and plain in compact forms; ``some`` taped late."""
    network = network_of(config, spec)

    def mind(network: Network, executor: Executor | None) -> NetworkMind:
        return NetworkMind(network, "w", 1, executor=executor)

    taped = Counting()
    known = thoughts(mind(network, Plain(static=True)), moments)
    assert thoughts(mind(network, taped), moments) == known
    assert thoughts(mind(network, Taped(7)), moments[:some]) == known[:some]
    assert_close(known, thoughts(mind(network_of(config, spec), None), moments))
    values = [thought.value for thought in known if thought.value is not None]
    assert len(values) == len(known)
    assert np.ptp(values) > 1e-3
    return taped


@pytest.mark.parametrize(
    ("game", "params", "config"),
    [
        ("minirts", {}, small()),
        ("minirts", {}, small(value_heads=3)),
        ("minirts", UNITS, small()),
        ("connect_four", {}, small(output="q", duelling=True)),
        ("connect_four", {}, ResnetConfig(blocks=1, filters=4)),
        ("pommerman", TEAM, small(critic="own", critic_sees="team")),
        ("pommerman", TEAM, small(critic="own", critic_sees="all")),
    ],
    ids=["plain", "value heads", "heads in turn", "q", "board", "team critic", "critic of all"],
)
def test_thoughts_are_programs(game: str, params: Mapping[str, str], config: PolicyConfig) -> None:
    spec = spec_of(game, params)
    skip = 1 if spec.turn_based or game == "pommerman" else 50
    moments = moments_of(Match(game, params, seed=2), 30 * skip, skip)
    programs = check(config, spec, moments)
    assert 1 < programs.prepared <= 3  # of 16, 32 and 64 moments


@pytest.mark.parametrize(
    ("params", "config"),
    [
        ({}, small(memory="gru")),
        ({}, small(memory="lstm", value_heads=2)),
        ({}, small(memory="recall")),
        (UNITS, small(memory="gru")),
    ],
    ids=["gru", "lstm", "recall", "heads in turn"],
)
def test_thoughts_with_a_memory_are_one_program(params: Mapping[str, str], config: PolicyConfig) -> None:
    spec = spec_of("minirts", params)
    moments = moments_of(Match("minirts", params, seed=2), 1000, 50)
    assert {moment.kept for moment in moments} == {False, True}
    assert check(config, spec, moments).prepared == 1


def test_a_critic_of_a_team_joins_memories_in_one_program() -> None:
    spec = spec_of("pommerman", TEAM)
    moments = moments_of(Match("pommerman", TEAM, seed=2), 30, 1)
    config = small(memory="lstm", critic="own", critic_sees="team")
    assert check(config, spec, moments, some=3 * spec.seats).prepared == 1  # whole ticks


def test_another_match_starts_with_an_empty_memory() -> None:
    moments = moments_of(Match("minirts", {}, seed=2), 600, 50)
    mind = NetworkMind(network_of(small(memory="gru"), spec_of("minirts")), "w", 1, executor=Taped())
    first = mind.think(moments)
    assert mind.think(moments) != first
    mind.forget()
    assert mind.think(moments) == first


def test_thoughts_of_continuous_heads_are_programs() -> None:
    heads = (
        HeadSpec("push", 2, kind="continuous", low=-2.0, high=2.0),
        HeadSpec("gear", 3),
        HeadSpec("free", 2, kind="continuous"),
    )
    spec = declare("car", observation=[declared("speed", (3,))], heads=heads)
    random = np.random.default_rng(1)
    mask = np.ones(7, np.uint8)
    mask[3] = 0
    moments = [
        Moment(tick, 0, {"speed": random.normal(size=3).astype(np.float32)}, mask, (5, tick % 3, 9))
        for tick in range(20)
    ]
    check(EncoderConfig(dense=(), hidden=(16,)), spec, moments)

"""Lanes decided in one call decide as their networks do one by one."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
import torch

from ludus.flow import GameSpec, HeadSpec
from ludus.games.python_game import declare
from ludus.games.python_game import tensor as declared
from ludus.policies import lane_rows
from ludus.policies.config import EncoderConfig, ResnetConfig
from ludus.policies.factory import build_network
from ludus.policies.layers.batch_norm import batch_norms
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network
from ludus.rollouts.actor import ActInput, Decision
from ludus.rollouts.lane_actor import LaneActor
from ludus.rollouts.network_actor import NetworkActor
from tests.taped import Taped
from tests.unit.synthetic import cells_spec, make_spec, pointing_spec, random_slab, tensor

TOLERANCE = 2e-5  # of float32 sums in another order, relative to numbers near 1
LANES = (2, 3, 5, 9)

PLAIN = make_spec((tensor("numbers", "f32", (6,)), tensor("others", "u8", (4,), scale=0.01)), (5, 3))
PICTURES = make_spec((tensor("map", "u8", (2, 6, 5), scale=0.01), tensor("numbers", "f32", (3,))), (7,))
GAUSSIAN = declare(
    "car",
    observation=[declared("speed", (3,))],
    heads=(
        HeadSpec("push", 2, kind="continuous", low=-2.0, high=2.0),
        HeadSpec("gear", 3),
        HeadSpec("free", 2, kind="continuous"),
    ),
)
SMALL = EncoderConfig(channels=(4, 6), strides=(1, 2), dense=(12,), hidden=(16, 10), context=8, memory_size=6)


def config(**changes: object) -> EncoderConfig:
    return EncoderConfig(**{**{f: getattr(SMALL, f) for f in SMALL.__struct_fields__}, **changes})


CASES: dict[str, tuple[GameSpec, EncoderConfig]] = {
    "none": (PLAIN, SMALL),
    "bare": (PLAIN, config(norm="none", normalise_observations=False, normalise_values=False)),
    "recall": (PLAIN, config(memory="recall")),
    "gru": (PLAIN, config(memory="gru")),
    "lstm": (PLAIN, config(memory="lstm", activation="tanh")),
    "gaussian": (GAUSSIAN, config(memory="gru")),
    "free deviation": (GAUSSIAN, config(deviation="free", critic="own")),
    "own critic": (PICTURES, config(critic="own", memory="recall", activation="elu")),
    "pointing": (pointing_spec(), config(memory="lstm")),
    "pointing recall": (pointing_spec(), config(memory="recall")),
    "cells": (cells_spec(), config(memory="gru")),
    "cells residual": (cells_spec(), config(convolution="residual")),
    "cells own critic": (cells_spec(), config(critic="own", leaky_slope=0.2)),
    "value heads": (PLAIN, config(value_heads=3)),
    "centralised critic": (
        msgspec.structs.replace(PLAIN, seats=2),
        config(critic="own", critic_sees="all"),
    ),
    "critic with memory": (PICTURES, config(critic="own", memory="gru")),
    "team memories": (
        msgspec.structs.replace(PICTURES, seats=2, teams=(0, 0)),
        config(critic="own", critic_sees="team", memory="lstm", gather="middle"),
    ),
    "batch norm": (PICTURES, config(norm="batch", critic="own")),
    "pictures": (PICTURES, config(norm="group")),
}


def networks(spec: GameSpec, policy: EncoderConfig | ResnetConfig, count: int) -> list[Network]:
    """Far from uniform and from each other in all numbers: weights, norms, statistics."""
    made = []
    for seed in range(count):
        network = build_network(policy, spec, seed)
        generator = torch.Generator().manual_seed(seed + 50)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
            if isinstance(network, PolicyNetwork):
                for k, normaliser in enumerate((network.normaliser, network.values)):
                    if normaliser is not None:
                        normaliser.mean.add_(0.5 * (seed + k + 1))
                for norm in batch_norms(network):
                    norm.mean.add_(0.2 * torch.randn(norm.mean.shape, generator=generator))
                    norm.variance.mul_(seed + 0.5)
                if network.normaliser is not None:
                    network.normaliser.variance.mul_(seed + 2.0)
                if network.values is not None:
                    network.values.square.fill_(9.0 + 20.0 * seed)
        network.eval()
        made.append(network)
    return made


def lanes_of(made: list[Network]) -> dict[int, NetworkActor]:
    return {
        lane: NetworkActor(network, 100 + lane, 7 * lane) for lane, network in zip(LANES, made, strict=False)
    }


def inputs(
    spec: GameSpec, counts: tuple[int, ...], shape: tuple[int, ...] | None, step: int
) -> list[ActInput]:
    """Draw rows of each lane with separate numbers, some of them new in their match."""
    slab = random_slab(spec, 1, sum(counts), step + 3)
    random = np.random.default_rng(step)
    numbers = random.permutation(100)[: sum(counts)].astype(np.int32)
    memory = None if shape is None else random.normal(size=(sum(counts), *shape)).astype(np.float32)
    first = (random.random(sum(counts)) < 0.3).astype(np.uint8)
    parts, end = [], 0
    for lane, count in zip(LANES, counts, strict=True):
        rows = slice(end, end + count)
        end += count
        obs = {name: a[0, rows] for name, a in slab.obs.items()}
        some = None if memory is None else memory[rows]
        parts.append(
            ActInput(obs, slab.mask[0, rows], some, first[rows], step, numbers[rows], ((lane, count),))
        )
    return [part for part in parts if len(part.rows)]


def joined(parts: list[ActInput]) -> ActInput:
    memories = [p.memory for p in parts if p.memory is not None]
    return ActInput(
        {name: np.concatenate([p.obs[name] for p in parts]) for name in parts[0].obs},
        np.concatenate([p.mask for p in parts]),
        np.concatenate(memories) if memories else None,
        np.concatenate([p.is_first for p in parts]),
        parts[0].step,
        np.concatenate([p.rows for p in parts]),
        tuple(p.policies[0] for p in parts),
    )


def check(spec: GameSpec, decision: Decision, alone: list[Decision], versions: list[int]) -> None:
    for k, head in enumerate(spec.heads):
        mine = np.ascontiguousarray(decision.actions[:, k])
        expected = np.concatenate([d.actions[:, k] for d in alone])
        if head.kind == "continuous":  # the bits of a number
            np.testing.assert_allclose(mine.view(np.float32), expected.view(np.float32), TOLERANCE, TOLERANCE)
        else:
            np.testing.assert_array_equal(mine, expected)
    assert decision.versions is not None
    assert decision.versions.tolist() == versions
    for name in ("log_prob", "value", "memory"):
        parts = [getattr(d, name) for d in alone]
        if parts[0] is None:
            assert getattr(decision, name) is None
            continue
        whole = np.concatenate(parts)
        np.testing.assert_allclose(getattr(decision, name), whole, TOLERANCE, TOLERANCE, err_msg=name)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("counts", [(6, 6, 6, 6), (9, 4, 7, 1), (24, 0, 1, 3)])
def test_one_call_decides_as_the_networks_alone(
    name: str, counts: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, policy = CASES[name]
    lanes = lanes_of(networks(spec, policy, 4))
    actor = LaneActor(lanes)
    monkeypatch.setattr(NetworkActor, "act", None)  # one by one would be an answer too
    together = [actor.act(joined(inputs(spec, counts, actor.memory_shape, step))) for step in range(4)]
    monkeypatch.undo()
    versions = [7 * lane for lane, n in zip(LANES, counts, strict=True) for _ in range(n)]
    for step, decision in enumerate(together):
        parts = inputs(spec, counts, actor.memory_shape, step)
        check(spec, decision, [lanes[p.policies[0][0]].act(p) for p in parts], versions)


@pytest.mark.parametrize("name", CASES)
def test_a_taped_program_decides_as_the_networks_alone(name: str) -> None:
    """Static forms of all lanes are one program; how many rows a lane has changes from call to call."""
    spec, policy = CASES[name]
    made, alone = (lanes_of(networks(spec, policy, 4)) for _ in range(2))
    for lane in made.values():
        assert isinstance(lane.network, PolicyNetwork)
        lane.network.static = True
    actor = LaneActor(made, Taped())
    for step, counts in enumerate([(6, 6, 6, 6), (9, 4, 7, 1), (16, 0, 1, 3), (0, 0, 5, 2), (20, 3, 0, 3)]):
        versions = [7 * lane for lane, n in zip(LANES, counts, strict=True) for _ in range(n)]
        parts = inputs(spec, counts, actor.memory_shape, step)
        expected = [alone[p.policies[0][0]].act(p) for p in parts]
        check(spec, actor.act(joined(parts)), expected, versions)


@pytest.mark.parametrize("name", ["cells", "lstm", "q", "batch norm"])
def test_other_networks_are_loaded_into_the_programs(name: str) -> None:
    spec, policy = CASES[name] if name != "q" else (PLAIN, config(output="q", duelling=True))
    every = networks(spec, policy, 8)
    for network in every:
        assert isinstance(network, PolicyNetwork)
        network.static = True
    actor, counts = LaneActor(lanes_of(every[:4]), Taped()), (6, 2, 0, 5)
    before = [{n: x.clone() for n, x in network.state_dict().items()} for network in every]
    assert not actor.reload(lanes_of(every[4:]))  # there is no program yet
    actor.act(joined(inputs(spec, counts, actor.memory_shape, 0)))
    programs = dict(actor._programs)
    later = lanes_of(every[4:])
    assert actor.reload(later)
    parts = inputs(spec, counts, actor.memory_shape, 1)
    versions = [7 * lane for lane, n in zip(LANES, counts, strict=True) for _ in range(n)]
    check(spec, actor.act(joined(parts)), [later[p.policies[0][0]].act(p) for p in parts], versions)
    assert actor._programs == programs
    for network, state in zip(every, before, strict=True):
        assert all(torch.equal(x, state[n]) for n, x in network.state_dict().items())


@pytest.mark.parametrize("why", ["tower", "uneven"])
def test_lanes_that_cannot_be_joined_decide_one_by_one(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_rows.StackedLinear, "__call__", None)
    if why == "tower":
        board = make_spec((tensor("board", "u8", (2, 4, 4), scale=0.01),), (16,))
        spec, made = board, networks(board, ResnetConfig(blocks=1, filters=4, value_hidden=4), 4)
        counts = (5, 5, 5, 5)
    else:
        large = config(memory="gru", hidden=(900, 400))
        spec, made, counts = PLAIN, networks(PLAIN, large, 4), (30, 1, 2, 1)
    lanes = lanes_of(made)
    actor = LaneActor(lanes)
    parts = inputs(spec, counts, actor.memory_shape, 0)
    versions = [7 * lane for lane, n in zip(LANES, counts, strict=True) for _ in range(n)]
    check(spec, actor.act(joined(parts)), [lanes[p.policies[0][0]].act(p) for p in parts], versions)


def test_rows_of_one_lane_are_decided_by_its_own_network() -> None:
    spec, policy = CASES["lstm"]
    lanes = lanes_of(networks(spec, policy, 4))
    actor = LaneActor(lanes)
    (part,) = inputs(spec, (0, 0, 20, 0), actor.memory_shape, 0)
    alone = lanes[5].act(part)
    decision = actor.act(part)
    check(spec, decision, [alone], [35] * 20)
    assert np.array_equal(decision.value, alone.value)


def test_networks_of_two_architectures_are_not_stacked() -> None:
    made = networks(PLAIN, SMALL, 1) + networks(PLAIN, config(hidden=(9,)), 1)
    with pytest.raises(ValueError, match="one architecture"):
        LaneActor(lanes_of(made))


@pytest.mark.parametrize("greedy", [{3}, {2}, {9}, {2, 5}, set(LANES)])
@pytest.mark.parametrize("name", ["none", "gru", "gaussian"])
def test_a_greedy_lane_takes_its_likeliest_choice_beside_others(name: str, greedy: set[int]) -> None:
    spec, policy = CASES[name]
    made = networks(spec, policy, 4)
    lanes = {
        lane: NetworkActor(network, 100 + lane, 7 * lane, greedy=lane in greedy)
        for lane, network in zip(LANES, made, strict=True)
    }
    actor = LaneActor(lanes)
    counts = (25, 25, 25, 25)
    parts = inputs(spec, counts, actor.memory_shape, 1)
    alone = [lanes[p.policies[0][0]].act(p) for p in parts]
    versions = [7 * lane for lane in LANES for _ in range(25)]
    decision = actor.act(joined(parts))
    check(spec, decision, alone, versions)
    sampled = [NetworkActor(n, 100 + lane).act(p) for n, lane, p in zip(made, LANES, parts, strict=True)]
    for lane, own, drawn in zip(LANES, alone, sampled, strict=True):
        assert np.array_equal(own.actions, drawn.actions) == (lane not in greedy)

"""Specs and slabs without a game, for tests of policies and learners."""

from __future__ import annotations

import msgspec
import numpy as np
import torch

from ludus.algorithms.actor_critic.learner import ActorCriticLearner
from ludus.algorithms.appo import make_learner
from ludus.algorithms.config import AppoConfig
from ludus.algorithms.learner import LearnerContext
from ludus.flow import GameSpec, HeadSpec, Slab, TensorSpec
from ludus.policies.actions.distribution import uniforms
from ludus.policies.config import EncoderConfig, ResnetConfig
from ludus.policies.layers.residual import ResidualNetwork
from ludus.policies.network import PolicyNetwork

AppoLearner = ActorCriticLearner[AppoConfig]

torch.set_num_threads(1)  # threads are the learner's business, and small tensors gain nothing


def tensor(
    name: str, dtype: str, shape: tuple[int, ...], codec: str = "identity", scale: float = 1.0
) -> TensorSpec:
    """Return a tensor spec with a wide range."""
    return TensorSpec(name, dtype, shape, -255.0, 255.0, codec, scale, "synthetic")  # type: ignore[arg-type]


def make_spec(observation: tuple[TensorSpec, ...], heads: tuple[int, ...]) -> GameSpec:
    """Return the spec of a game without its rules."""
    return GameSpec(
        name="synthetic",
        title="Synthetic",
        version=1,
        seats=1,
        turn_based=False,
        perfect_information=True,
        default_frame_skip=1,
        max_ticks=0,
        observation=observation,
        heads=tuple(HeadSpec(f"h{i}", n) for i, n in enumerate(heads)),
        params=(),
        bots=(),
    )


def pointing_spec() -> GameSpec:
    """Return a spec with a unit of three or none, an order and a target: heads that depend on each other."""
    spec = make_spec((tensor("units", "u8", (5, 8), scale=0.01), tensor("numbers", "f32", (6,))), ())
    heads = (
        HeadSpec("unit", 4, points_at="units", rows=3),
        HeadSpec("order", 3, depends_on=(0,)),
        HeadSpec("target", 6, depends_on=(0, 1), points_at="units", rows=5),
    )
    return msgspec.structs.replace(spec, heads=heads)


def cells_spec() -> GameSpec:
    """Return a spec with a unit of three or none, a cell to go to (by columns) and one to leave (by rows)."""
    planes = tensor("map", "u8", (2, 4, 3), scale=0.01)
    spec = make_spec((planes, tensor("units", "u8", (3, 8), scale=0.01), tensor("numbers", "f32", (6,))), ())
    heads = (
        HeadSpec("unit", 4, points_at="units", rows=3),
        HeadSpec("to", 13, depends_on=(0,), points_at="map", rows=12, by_columns=True),
        HeadSpec("from", 12, depends_on=(1,), points_at="map", rows=12),
    )
    return msgspec.structs.replace(spec, heads=heads)


def act(network: PolicyNetwork, slab: Slab, seed: int, version: int = 0) -> None:
    """Play the behaviour policy over a slab whose observations, masks and flags are filled."""
    memory = network.initial_memory(slab.rows)
    if memory is not None:
        slab.memory[0] = memory.numpy().copy()
    for t in range(slab.steps + 1):
        rows = np.flatnonzero((slab.active[t] != 0) & (slab.policy[t] == 0))
        if len(rows) == 0:
            continue
        obs = {n: torch.from_numpy(x[t, rows]) for n, x in slab.obs.items()}
        first = torch.from_numpy(slab.is_first[t, rows]) != 0
        out = network.step(obs, memory[rows] if memory is not None else None, first)
        slab.value[t, rows] = out.value.numpy()
        if t == slab.steps:
            break
        if memory is not None and out.memory is not None:
            memory[rows] = out.memory
        draw = torch.from_numpy(uniforms(seed, t, rows, len(network.heads.sizes)))
        drawn = out.distribution.sample(torch.from_numpy(slab.mask[t, rows]), draw)
        slab.actions[t, rows] = drawn.actions.numpy()
        slab.log_prob[t, rows] = drawn.log_prob.numpy()
        slab.version[t, rows] = version


def random_slab(
    spec: GameSpec, steps: int, rows: int, seed: int, idle: float = 0.0, end: float = 0.1
) -> Slab:
    """Return a slab of random observations, rewards, ends and idle steps, with legal independent actions."""
    rng = np.random.default_rng(seed)
    slab = Slab(spec, steps, rows)
    for name, array in slab.obs.items():
        if array.dtype == np.float32:
            slab.obs[name][:] = rng.normal(size=array.shape)
        else:
            slab.obs[name][:] = rng.integers(0, 100, array.shape)
    offset = 0
    for head in spec.heads:
        size = head.size * (sum(spec.heads[d].size for d in head.depends_on) if head.depends_on else 1)
        legal = rng.random((steps + 1, rows, size)) < 0.6
        if not head.depends_on:
            sure = rng.integers(0, head.size, (steps + 1, rows))
            np.put_along_axis(legal, sure[..., None], True, axis=2)
        slab.mask[..., offset : offset + size] = legal
        offset += size
    slab.reward[:] = rng.normal(size=slab.reward.shape)
    slab.terminated[:] = rng.random(slab.terminated.shape) < end
    slab.truncated[:] = (rng.random(slab.truncated.shape) < end) & (slab.terminated == 0)
    slab.final_value[:] = rng.normal(size=slab.final_value.shape)
    slab.active[:] = rng.random(slab.active.shape) >= idle
    slab.policy[:] = np.where(slab.active != 0, 0, -1)
    pending = np.ones(rows, bool)
    for t in range(steps + 1):
        act_now = slab.active[t] != 0
        slab.is_first[t] = pending & act_now
        pending &= ~act_now
        if t < steps:
            pending |= (slab.terminated[t] | slab.truncated[t]) != 0
    return slab


def appo_learner(
    config: AppoConfig,
    policy: EncoderConfig,
    spec: GameSpec,
    *,
    seed: int,
    workers: int = 1,
    precision: str = "float32",
) -> AppoLearner:
    """Return a learner with a network, as a run builds it."""
    return make_learner(
        config, PolicyNetwork(policy, spec, seed, precision), LearnerContext(seed, workers=workers)
    )


def tower(policy: ResnetConfig, spec: GameSpec) -> ResidualNetwork:
    """Return AlphaZero's network with initial weights."""
    return ResidualNetwork(policy, spec, 1)

"""Rollouts that a policy played on the processor, and learners on any device that learn from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import msgspec
import numpy as np
import torch
from torch import Tensor

from benchmarks.gpu.stage import Context
from ludus.algorithms.appo import make_learner
from ludus.algorithms.config import AppoConfig
from ludus.algorithms.learner import LearnerContext, SlabLearner
from ludus.algorithms.updates.parameters import FlatParameters
from ludus.bench.training import seat_first
from ludus.flow import GameSpec, HeadSpec, Slab, TensorSpec
from ludus.flow.slab import Array
from ludus.policies.accelerator import Executor
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from ludus.presets.config import Preset
from ludus.presets.file import load_preset
from ludus.presets.hardware import fix_order
from ludus.rollouts.actor import ActInput
from ludus.training.actor_learner.build import build, build_learner
from ludus.training.actor_learner.sampler import local_sampler

#: Presets by name, with changes of settings: each method of slabs, then each further kind of network.
METHODS = (
    "minirts",
    "minirts-dqn algorithm.learning_starts=1 algorithm.updates=2",
    "minirts-trpo",
    "minirts-imitation",
    "minirts-impala",
    "minirts-a2c",
    "minirts-policy-gradient",
)
NETWORKS = (
    "minirts-units",
    "pommerman-team",
    "minirts-cells",
    "minirts-mixture",
    "capture-the-flag",
    "tower-defense",
    "pommerman-team-critic",
    "pommerman-team-league",
    "minirts policy.value_heads=2",
)
PICTURES = "pictures"  # no preset: rollouts of random bytes in the shape of Breakout's pictures
SIDE, STACK, MOVES = 84, 4, 4

Learning = SlabLearner[Any]


@dataclass(slots=True)
class Recording:
    """A slab, and the learner's state as it was before it learned from it."""

    preset: Preset
    slab: Slab
    arrays: dict[str, Array]
    counters: dict[str, int]
    spec: GameSpec | None = None  # of a slab that no game filled

    def learner(self, device: str, precision: str = "float32", executor: Executor | None = None) -> Learning:
        """Return a learner on a device in the recorded state; ``executor``: of its programs."""
        learner = self.made(device, precision, executor)
        learner.load_state(self.arrays, dict(self.counters))
        return learner

    def made(self, device: str, precision: str, executor: Executor | None = None) -> Learning:
        """Return a new learner on a device."""
        if self.spec is None:
            return cast(Learning, build_learner(on(self.preset, device, precision), executor=executor))
        if device == "cuda":
            fix_order()
        torch.set_num_threads(1)
        config, policy = self.preset.algorithm, self.preset.policy
        assert isinstance(config, AppoConfig)
        assert isinstance(policy, EncoderConfig)
        network = PolicyNetwork(policy, self.spec, 1, precision).to(device)
        return make_learner(config, network, LearnerContext(1, workers=2, executor=executor))


def on(preset: Preset, device: str, precision: str = "float32") -> Preset:
    """Return ``preset`` with a device and a precision."""
    run = msgspec.structs.replace(
        preset.run,
        device=cast(Literal["cpu", "cuda"], device),
        precision=cast(Literal["float32", "bfloat16"], precision),
    )
    return msgspec.structs.replace(preset, run=run)


def load(case: str, context: Context, changes: Mapping[str, str] | None = None) -> Preset:
    """Return the preset of a case, ``NAME [PATH=VALUE ...]``, with rollouts that are quickly played."""
    name, *more = case.split()
    settings = {
        "pool.slots": "16" if context.small else "128",
        "pool.groups": "2",
        "pool.rollout_length": "8" if context.small else "16",
        "pool.threads": "1",
        "run.threads": "2",
        "run.lag": "sync",
        **(changes or {}),
    }
    settings.update((path, value) for path, _, value in (change.partition("=") for change in more))
    return load_preset(name, settings).preset


def record(preset: Preset, learns: bool = True) -> Recording:
    """Play a slab on the processor, learn from it, then play another: the recording.

    The old weights play both, so that decisions are older than the learner, as in most runs: then their
    ratios pi / mu are not all 1, at which some methods clip. Without ``learns`` it is the first slab.
    """
    components = build(on(preset, "cpu"), 1)
    try:
        seat_first(components, preset)
        sampler, learner = local_sampler(components.sampler), components.learner
        (slab,) = sampler.facts.slabs
        sampler.play(slab)
        if learns:
            cast(Learning, learner).update(slab)
            sampler.play(slab)
        arrays, counters = learner.state()
        return Recording(preset, copied(slab), arrays, counters)
    finally:
        components.close()


def record_pictures(context: Context) -> Recording:
    """Return a slab of random bytes for the network and the method of the preset ``breakout``."""
    preset = load("breakout", context, {"pool.slots": "4" if context.small else "64"})
    spec = GameSpec(
        name=PICTURES,
        title="Random pictures",
        version=1,
        seats=1,
        turn_based=False,
        perfect_information=False,
        default_frame_skip=1,
        max_ticks=0,
        observation=(
            TensorSpec("picture", "u8", (STACK, SIDE, SIDE), 0, 255, "identity", 1 / 255, "random bytes"),
        ),
        heads=(HeadSpec("action", MOVES),),
        params=(),
        bots=(),
    )
    random = np.random.default_rng(1)
    slab = Slab(spec, preset.pool.rollout_length, preset.pool.slots)
    slab.obs["picture"][:] = random.integers(0, 256, slab.obs["picture"].shape, np.uint8)
    slab.mask[:], slab.active[:], slab.policy[:] = 1, 1, 0
    slab.reward[:] = random.random(slab.reward.shape) < 0.05
    slab.terminated[:] = random.random(slab.reward.shape) < 0.02
    slab.actions[:] = random.integers(0, MOVES, slab.actions.shape)
    slab.log_prob[:] = -np.log(MOVES)
    recording = Recording(preset, slab, {}, {}, spec)
    arrays, counters = recording.made("cpu", "float32").state()
    return Recording(preset, slab, arrays, counters, spec)


def copied(slab: Slab) -> Slab:
    """Return a slab that no pool writes."""
    fields = {name: array.copy() for name, array in slab.fields().items()}
    return Slab.of(fields, slab.row_slot.copy(), slab.row_seat.copy())


def first_input(slab: Slab, learner: Learning) -> ActInput:
    """Return the rows of a slab that the learned policy decides at its first time step with some.

    Their memory is the memory at t = 0.
    """
    ours = (slab.active[:-1] != 0) & (slab.policy[:-1] == learner.policy)
    t = int(ours.any(axis=1).argmax())
    rows = np.flatnonzero(ours[t]).astype(np.int32)
    memory = slab.memory.get(learner.policy)
    return ActInput(
        {tensor.name: slab.obs[tensor.name][t, rows] for tensor in learner.network.inputs},
        slab.mask[t, rows],
        None if memory is None else memory[rows],
        slab.is_first[t, rows],
        t,
        rows,
    )


def without_gaps(parameters: FlatParameters, vector: Tensor) -> Tensor:
    """Return a copy of a vector of parameters on the processor, in the layout that all devices share."""
    return torch.cat(parameters.cut(vector.detach())).cpu()

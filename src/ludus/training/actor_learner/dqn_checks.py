"""What DQN asks of a preset and its game."""

from __future__ import annotations

from collections.abc import Iterator

from ludus.algorithms.config import DqnConfig
from ludus.algorithms.dqn.size import slab_shapes, too_large
from ludus.flow.spec import GameSpec
from ludus.policies.outputs import unfit_heads
from ludus.presets.config import Preset
from ludus.presets.schema import Problem


def problems(preset: Preset, declared: GameSpec) -> Iterator[Problem]:
    """Heads that have no Q-values, and a ring that needs more memory than it may have."""
    if unfit := unfit_heads(declared):
        yield Problem("policy.output", f'policy.output = "q": {unfit}')
    if not isinstance(preset.algorithm, DqnConfig):
        return
    config, pool = preset.algorithm, preset.pool
    names = preset.policy.inputs
    inputs = tuple(t for t in declared.observation if not names or t.name in names)
    shapes = slab_shapes(declared, inputs, pool.rollout_length, pool.slots * declared.seats)
    if large := too_large(shapes, config.ring, config.buffer_mib):
        yield Problem("algorithm.ring", f"algorithm.ring = {config.ring}: {large}")

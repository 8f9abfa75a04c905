"""Settings of DQN that do not fit a game or its memory. Without torch."""

from __future__ import annotations

from collections.abc import Iterator

from ludus.algorithms.config import DqnConfig
from ludus.algorithms.dqn.size import slab_shapes, too_large
from ludus.algorithms.registry import CheckInput
from ludus.policies.actions.outputs import unfit_heads


def problems(config: DqnConfig, around: CheckInput) -> Iterator[tuple[str, str]]:
    """Yield heads that have no Q-values, and a replay buffer that needs more memory than it may have."""
    if unfit := unfit_heads(around.spec):
        yield "policy.output", f'policy.output = "q": {unfit}'
    names = around.policy.inputs
    inputs = tuple(t for t in around.spec.observation if not names or t.name in names)
    shapes = slab_shapes(around.spec, inputs, around.steps, around.rows)
    if large := too_large(shapes, config.buffer_slabs, config.buffer_mib):
        yield "algorithm.buffer_slabs", f"algorithm.buffer_slabs = {config.buffer_slabs}: {large}"

"""Every method learns: a remembered colour in seconds, tic-tac-toe and CartPole in a minute."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from ludus.algorithms.registry import find, resolve
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from tests.unit.algorithms.test_appo import corridor_spec, play_corridor

METHODS = ["a2c", "impala", "policy_gradient"]


@pytest.mark.parametrize(
    ("method", "memory", "low", "high"),
    [*((method, "lstm", 0.9, 1.0) for method in METHODS), ("a2c", "none", 0.35, 0.65)],
)
def test_a_remembered_colour(method: str, memory: str, low: float, high: float) -> None:
    """The colour is seen at a match's first decision alone: without memory none does better than guess."""
    known = find(method)
    assert known is not None
    policy = EncoderConfig(dense=(16,), hidden=(16,), memory=memory, memory_size=16)  # type: ignore[arg-type]
    settings = {"learning_rate": 1e-2, "minibatches": 4, "micro_batch": 4096, "normalise_advantages": True}
    config = msgspec.convert(settings, known.config)
    learner: Any = resolve(known.learner)(config, PolicyNetwork(policy, corridor_spec(), 1), seed=1)
    place, goal = np.zeros(64, np.int64), np.zeros(64, np.int64)
    scores = []
    for update in range(18):
        slab, score = play_corridor(learner, 16, 64, update, place, goal)
        learner.update(slab)
        scores.append(score)
    assert low <= np.mean(scores[-5:]) <= high

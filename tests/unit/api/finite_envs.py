"""Environments with one space each, whose observations a test writes itself."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from tests.unit.games.hosted_envs import Mixed

OPEN = (-np.inf, np.inf)
SPACES: dict[str, spaces.Space[Any]] = {
    "vector": spaces.Box(*OPEN, (4,), np.float32),
    "table": spaces.Box(-1.0, 1.0, (3, 2), np.float64),
    "half": spaces.Box(*OPEN, (3,), np.float16),
    "picture": spaces.Box(0, 255, (16, 12, 3), np.uint8),
    "parts": spaces.Dict({"a": spaces.Discrete(3), "b": spaces.Box(*OPEN, (2,), np.float32)}),
    "pair": spaces.Tuple((spaces.Box(*OPEN, (2,), np.float32), spaces.Box(0.0, np.inf, (2,), np.float32))),
}


class Given(gymnasium.Env[Any, Any]):
    """Three steps of ``SPACES[space]``."""

    def __init__(self, space: str = "vector") -> None:
        self.observation_space = SPACES[space]
        self.action_space = spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: object = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.tick = 0
        self.observation_space.seed(0)
        return self.observation_space.sample(), {}

    def step(self, action: object) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.tick += 1
        return self.observation_space.sample(), 1.0, self.tick == 3, False, {}


gymnasium.register("ludus-tests/Given-v0", entry_point=Given)  # type: ignore[arg-type]
gymnasium.register("ludus-tests/Mixed-v0", entry_point=Mixed)  # type: ignore[arg-type]

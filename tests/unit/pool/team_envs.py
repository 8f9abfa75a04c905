"""An environment of PettingZoo's parallel API whose agents' names say which of them belong together."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

NAMES = ("red_0", "blue_0", "red_1", "blue_1")


class parallel_env:  # noqa: N801 - the name that PettingZoo's modules use
    """Three steps; the agent at place i earns i + 1 at each, but ``red_1`` is gone after the first."""

    def __init__(self, names: str = "teams") -> None:
        self.possible_agents = list(NAMES) if names == "teams" else [f"red_{i}" for i in range(4)]

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        return gymnasium.spaces.Box(0.0, 9.0, (1,), np.float32)

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        return gymnasium.spaces.Discrete(2)

    def reset(self, seed: int | None = None, options: object = None) -> tuple[dict[str, Any], dict[str, Any]]:
        self.agents, self.tick = list(self.possible_agents), 0
        return self._seen(), {a: {} for a in self.agents}

    def _seen(self) -> dict[str, Any]:
        return {a: np.full(1, self.tick, np.float32) for a in self.agents}

    def step(self, actions: dict[str, int]) -> tuple[dict[str, Any], ...]:
        self.tick += 1
        present, seen = list(self.agents), self._seen()
        pay = {a: float(self.possible_agents.index(a) + 1) for a in present}
        ends = {a: self.tick == 3 or a == "red_1" for a in present}
        self.agents = [a for a in present if not ends[a]]
        return seen, pay, ends, dict.fromkeys(present, False), {a: {} for a in present}

    def close(self) -> None:
        pass

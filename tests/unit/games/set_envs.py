"""PettingZoo environment whose agents come from a set, a list of one, or are sorted."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

NAMES = ("red", "blue", "green", "yellow", "white", "black")


class Auction(ParallelEnv):  # type: ignore[misc]
    """The agent called ``winner`` is paid; an observation has the place of its agent's name."""

    metadata = {"name": "auction_v0"}  # noqa: RUF012

    def __init__(self, winner: str = "green", listed: str = "list") -> None:
        given = {f"{name}_{i}" for i, name in enumerate(NAMES)} if listed == "teams" else set(NAMES)
        made: Any = set(given) if listed == "set" else list(given)
        self.possible_agents = made if listed != "sorted" else sorted(given)
        self.winner, self.render_mode = winner, None
        if print_to := os.environ.get("LUDUS_TEST_AGENTS"):
            with open(print_to, "a", encoding="utf-8") as file:
                file.write(" ".join(map(str, self.possible_agents)) + "\n")

    def observation_space(self, agent: str) -> Any:  # noqa: ANN401
        return spaces.Box(0.0, 10.0, (1,), np.float32)

    def action_space(self, agent: str) -> Any:  # noqa: ANN401
        return spaces.Discrete(2)

    def _see(self) -> dict[str, Any]:
        return {a: np.full(1, sorted(self.possible_agents).index(a), np.float32) for a in self.agents}

    def reset(self, seed: int | None = None, options: object = None) -> tuple[Any, Any]:
        self.agents = list(self.possible_agents)
        self.tick = 0
        return self._see(), {a: {} for a in self.agents}

    def step(self, actions: dict[str, int]) -> tuple[Any, ...]:
        self.tick += 1
        seen, here, over = self._see(), list(self.agents), self.tick == 3
        rewards = {a: float(a == self.winner) for a in here}
        self.agents = [] if over else here
        return seen, rewards, dict.fromkeys(here, over), dict.fromkeys(here, False), {a: {} for a in here}


parallel_env = Auction

"""Environments of PettingZoo whose agents end at different ticks, which ``plan`` lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv, ParallelEnv

#: name -> agent -> ticks at which it is: terminated (t), truncated (c), gone without a flag (g), both (b),
#: back (r). ``late`` agents are not there at the start.
PLANS: dict[str, dict[str, str]] = {
    "mix": {"a": "2t", "b": "6c", "c": "6c"},
    "mix2": {"a": "6t", "b": "6c", "c": "6c"},
    "mix3": {"a": "2c", "b": "6t", "c": "6t"},
    "both": {"a": "3b", "b": "4c", "c": "2g"},
    "back": {"a": "2t 4r 6c", "b": "6t", "c": "3c 5r 6t"},
    "absent": {"a": "6t", "b": "2r 6c", "c": ""},
    "empty": {"a": "", "b": "", "c": ""},
}


def _events(plan: dict[str, str]) -> dict[int, list[tuple[str, str]]]:
    out: dict[int, list[tuple[str, str]]] = {}
    for agent, text in plan.items():
        for word in text.split():
            out.setdefault(int(word[:-1]), []).append((agent, word[-1]))
    return out


def _starts(plan: dict[str, str]) -> list[str]:
    return [a for a, text in plan.items() if text and not text.split()[0].endswith("r")]


class Parallel(ParallelEnv):  # type: ignore[misc]
    metadata = {"name": "ending_v0"}  # noqa: RUF012

    def __init__(self, plan: str = "mix") -> None:
        self.plan = PLANS[plan]
        self.possible_agents = list(self.plan)
        self.render_mode = None

    def observation_space(self, agent: str) -> object:
        return spaces.Box(0.0, 10.0, (1,), np.float32)

    def action_space(self, agent: str) -> object:
        return spaces.Discrete(2)

    def _see(self) -> dict[str, Any]:
        return {a: np.full(1, self.tick, np.float32) for a in self.agents}

    def reset(self, seed: int | None = None, options: object = None) -> tuple[Any, Any]:
        self.agents, self.tick = _starts(self.plan), 0
        return self._see(), {a: {} for a in self.agents}

    def step(self, actions: dict[str, int]) -> tuple[Any, ...]:
        assert set(actions) == set(self.agents)
        self.tick += 1
        seen, rewards = self._see(), dict.fromkeys(self.agents, 1.0)
        terminated, truncated = dict.fromkeys(self.agents, False), dict.fromkeys(self.agents, False)
        for agent, what in _events(self.plan).get(self.tick, []):
            if what == "r":
                self.agents.append(agent)
                seen[agent] = np.full(1, self.tick, np.float32)
                continue
            self.agents.remove(agent)
            if what == "g":
                del terminated[agent], truncated[agent]
                continue
            terminated[agent], truncated[agent] = what in "tb", what in "cb"
        return seen, rewards, terminated, truncated, {a: {} for a in seen}


class Turns(AECEnv):  # type: ignore[misc]
    """An AEC environment of the first plan, agent after agent."""

    metadata = {"name": "ending_turns_v0", "is_parallelizable": False}  # noqa: RUF012

    def __init__(self, plan: str = "mix") -> None:
        super().__init__()
        self.plan = PLANS[plan]
        self.possible_agents = list(self.plan)
        self.render_mode = None

    observation_space = Parallel.observation_space
    action_space = Parallel.action_space

    def observe(self, agent: str) -> object:
        return np.full(1, self.tick, np.float32)

    def reset(self, seed: int | None = None, options: object = None) -> None:
        self.agents, self.tick = _starts(self.plan), 0
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, Any] = {a: {} for a in self.agents}
        self.agent_selection = self.agents[0] if self.agents else ""

    def step(self, action: object) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0
        order = [a for a in self.agents if not (self.terminations[a] or self.truncations[a])]
        if agent == order[-1]:
            self.tick += 1
            for a, what in _events(self.plan).get(self.tick, []):
                if a in self.agents:
                    self.terminations[a], self.truncations[a] = what in "tb", what in "cb"
        at = order.index(agent) + 1
        alive = [a for a in order[at:] + order[:at] if not (self.terminations[a] or self.truncations[a])]
        self.agent_selection = alive[0] if alive else agent
        self._deads_step_first()


parallel_env = Parallel
env = Turns

"""Small environments of other people's interfaces, for the adapters' tests."""

from __future__ import annotations

from typing import Any

import dm_env
import gymnasium
import numpy as np
from dm_env import specs
from gymnasium import spaces
from pettingzoo import ParallelEnv


class Mixed(gymnasium.Env[Any, Any]):
    """An environment with every kind of space. The observation contains the action."""

    def __init__(self, size: int = 3, flip: bool = False) -> None:
        self.observation_space = spaces.Dict(
            {
                "number": spaces.Box(-1.0, 1.0, (size,), np.float64),
                "picture": spaces.Box(0, 255, (16, 12, 3), np.uint8),
                "card": spaces.Discrete(5, start=2),
                "pair": spaces.Tuple((spaces.MultiDiscrete([2, 3]), spaces.MultiBinary(9))),
            }
        )
        self.action_space = spaces.Tuple(
            (
                spaces.Discrete(4, start=-1),
                spaces.Dict({"jump": spaces.MultiBinary(2), "turn": spaces.MultiDiscrete([3, 5])}),
                spaces.Box(np.array([-1.0, 0.0], np.float32), np.array([1.0, 10.0], np.float32)),
            )
        )
        self.flip = flip
        self.actions: list[Any] = []

    def _see(self) -> dict[str, Any]:
        picture = np.arange(16 * 12 * 3).reshape(16, 12, 3).astype(np.uint8)
        return {
            "number": np.linspace(-1, 1, self.observation_space["number"].shape[0]),  # type: ignore[index]
            "picture": picture,
            "card": 4,
            "pair": (np.array([1, 2]), np.array([1, 0, 0, 0, 0, 0, 0, 0, 1], np.int8)),
        }

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.tick = 0
        return self._see(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), action
        self.actions.append(action)
        self.tick += 1
        return self._see(), 1.0, False, self.tick == 4, {}


class Leaving(ParallelEnv):  # type: ignore[misc]
    """Agents with different sizes of actions and observations; one leaves at every step."""

    metadata = {"name": "leaving_v0"}  # noqa: RUF012

    def __init__(self, seats: int = 3) -> None:
        self.possible_agents = [f"a{i}" for i in range(seats)]
        self.render_mode = None

    def observation_space(self, agent: str) -> Any:
        return spaces.Box(0.0, 10.0, (1 + int(agent[1]),), np.float32)

    def action_space(self, agent: str) -> Any:
        return spaces.Discrete(2 + int(agent[1]))

    def _see(self) -> dict[str, Any]:
        return {a: np.full(1 + int(a[1]), self.tick, np.float32) for a in self.agents}

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        self.agents = list(self.possible_agents)
        self.tick = 0
        return self._see(), {a: {} for a in self.agents}

    def step(self, actions: dict[str, int]) -> tuple[Any, ...]:
        assert set(actions) == set(self.agents)
        assert all(0 <= x < 2 + int(a[1]) for a, x in actions.items())
        self.tick += 1
        gone = self.agents[0]
        seen = self._see()
        done = {a: a == gone for a in self.agents}
        rewards = dict.fromkeys(self.agents, 1.0)
        infos: dict[str, Any] = {a: {} for a in self.agents}
        never = dict.fromkeys(self.agents, False)
        self.agents = self.agents[1:]
        return seen, rewards, done, never, infos


parallel_env = Leaving


class Countdown(dm_env.Environment):  # type: ignore[misc]
    """An environment that ends after ``length`` steps, terminated or truncated."""

    def __init__(self, length: int = 3, cut: bool = False, seed: int = 0) -> None:
        self.length, self.cut, self.seed = length, cut, seed

    def reset(self) -> Any:
        self.left = self.length
        self.noise = float(np.random.default_rng(self.seed).random())
        return dm_env.restart(self._see())

    def step(self, action: Any) -> Any:
        self.left -= 1
        if self.left:
            return dm_env.transition(float(action), self._see())
        if self.cut:
            return dm_env.truncation(float(action), self._see())
        return dm_env.termination(float(action), self._see())

    def _see(self) -> dict[str, Any]:
        return {"left": np.array([self.left], np.int64), "noise": np.array([self.noise])}

    def observation_spec(self) -> Any:
        return {
            "left": specs.BoundedArray((1,), np.int64, 0, 100, "left"),
            "noise": specs.Array((1,), np.float64, "noise"),
        }

    def action_spec(self) -> Any:
        return specs.DiscreteArray(3, name="action")


class Typed(dm_env.Environment):  # type: ignore[misc]
    """An environment with nested actions of several types, which their specs validate."""

    def reset(self) -> Any:
        self.tick = 0
        return dm_env.restart(np.zeros(1))

    def step(self, action: Any) -> Any:
        asked = self.action_spec()
        for name in ("whole", "flag", "constant"):
            asked[name].validate(action[name])
        assert isinstance(action["list"], list)
        for part, spec in zip(action["list"], asked["list"], strict=True):
            spec.validate(part)
        self.tick += 1
        end = dm_env.termination if self.tick == 20 else dm_env.transition
        return end(float(action["whole"][0]), np.zeros(1))

    def observation_spec(self) -> Any:
        return specs.Array((1,), np.float64, "nothing")

    def action_spec(self) -> Any:
        return {
            "whole": specs.BoundedArray((1,), np.int64, -1, 2, "whole"),
            "flag": specs.BoundedArray((), bool, False, True, "flag"),
            "constant": specs.BoundedArray((2,), np.float64, [0.1, 2.0], [0.3, 2.0], "constant"),
            "list": [specs.DiscreteArray(3, name="choice"), specs.Array((1,), np.float64, "any")],
        }

# ruff: noqa: ANN401
"""Environments and a game with rewards and flags of any form. ``WORDS`` names the values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from ludus.flow import HeadSpec
from ludus.flow.slab import Array
from ludus.games.python_game import Floats, Ints, declare, tensor

WORDS: dict[str, Any] = {
    "one": 1.0,
    "array": np.array([1.0]),
    "square": np.array([[1.0]]),
    "scalar": np.array(1.0),
    "list": [1.0],
    "int": np.int64(1),
    "two": np.array([1.0, 2.0]),
    "word": "1",
    "none": None,
    "huge": 1e40,
    "large": 1e30,
    "inf": np.inf,
    "nan": np.nan,
    "yes": np.array([True]),
    "both": np.array([True, False]),
    "half": 0.5,
}


class Pays(gymnasium.Env[Any, Any]):
    """An environment of three steps."""

    observation_space = spaces.Box(-1, 1, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, reward: str = "one", end: str = "yes") -> None:
        self.reward, self.end = WORDS[reward], WORDS[end]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        super().reset(seed=seed)
        self.tick = 0
        return np.zeros(2, np.float32), {}

    def step(self, action: object) -> tuple[Any, ...]:
        self.tick += 1
        return np.zeros(2, np.float32), self.reward, self.end if self.tick == 3 else False, False, {}


gymnasium.register("Pays-v0", f"{__name__}:Pays")


class Parallel:
    """An environment of PettingZoo's parallel API with two agents."""

    possible_agents = ("a", "b")
    metadata: dict[str, Any] = {}  # noqa: RUF012

    def __init__(self, reward: str = "one", end: str = "yes") -> None:
        self.reward, self.end = WORDS[reward], WORDS[end]

    def observation_space(self, agent: str) -> Any:
        return spaces.Box(-1, 1, (2,), np.float32)

    def action_space(self, agent: str) -> Any:
        return spaces.Discrete(2)

    def _all(self, value: Any) -> dict[str, Any]:
        return dict.fromkeys(self.agents, value)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.agents, self.tick = list(self.possible_agents), 0
        return self._all(np.zeros(2, np.float32)), self._all({})

    def step(self, actions: dict[str, int]) -> Any:
        self.tick += 1
        end = self.end if self.tick == 3 else False
        out = (self._all(np.zeros(2, np.float32)), self._all(self.reward), self._all(end), self._all(False))
        infos = self._all({})
        if self.tick == 3:
            self.agents = []
        return (*out, infos)

    def close(self) -> None:
        pass


parallel_env = Parallel


def dm(reward: str = "one") -> Any:
    """An environment of dm_env."""
    import dm_env
    from dm_env import specs

    class Dm(dm_env.Environment):  # type: ignore[misc]
        def reset(self) -> Any:
            self.tick = 0
            return dm_env.restart(np.zeros(2, np.float32))

        def step(self, action: Any) -> Any:
            self.tick += 1
            make = dm_env.termination if self.tick == 3 else dm_env.transition
            return make(WORDS[reward], np.zeros(2, np.float32))

        def observation_spec(self) -> Any:
            return specs.BoundedArray((2,), np.float32, -1, 1)

        def action_spec(self) -> Any:
            return specs.DiscreteArray(2)

    return Dm()


class Own:
    """A game of two seats."""

    def __init__(self, reward: str = "one", end: str = "yes", whole: bool = False) -> None:
        self.reward, self.end, self.whole, self.truncated = WORDS[reward], WORDS[end], whole, False
        self.spec = declare("own-pays", observation=[tensor("x", (1,))], heads=[HeadSpec("move", 2)], seats=2)

    def reset(self, seed: int) -> None:
        self.tick = 0

    def to_act(self) -> Sequence[int]:
        return (0, 1)

    def step(self, actions: Ints) -> Any:
        self.tick += 1
        return self.end if self.tick == 3 else False

    def rewards(self, out: Floats) -> None:
        if self.whole:
            out[:] = self.reward
        else:
            out[0] = self.reward
            out[1] = 0.0

    def outcome(self, out: Floats) -> None:
        out[...] = 0.0

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        out["x"][...] = 0.0

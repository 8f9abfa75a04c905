"""Environments whose vectorised form is another game than their single one, and games without an end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv

from ludus.flow import GameSpec, HeadSpec
from ludus.flow.slab import Array
from ludus.games.python_game import Floats, Ints, declare, tensor

LIMIT = 20


class Count(gymnasium.Env[Any, Any]):
    """Counts; reward 1 a step. Ends at ``end``, never for 0."""

    observation_space = spaces.Box(0.0, 1e6, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, end: int = 0) -> None:
        self.end = end

    def reset(self, *, seed: int | None = None, options: object = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(2, np.float32), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.t += 1
        return np.array([self.t, action], np.float32), 1.0, self.t == self.end, False, {}


class CountVec(VectorEnv[Any, Any, Any]):
    """:class:`Count` of many matches: ``cut`` steps to a match (0: none), ``reward`` a step."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self, num_envs: int = 1, end: int = 0, cut: int = 0, reward: float = 1.0, **_: object
    ) -> None:
        self.num_envs, self.end, self.cut, self.reward = num_envs, end, cut, reward
        self.single_observation_space, self.single_action_space = Count.observation_space, Count.action_space
        self.observation_space = spaces.Box(0.0, 1e6, (num_envs, 2), np.float32)
        self.action_space = spaces.MultiDiscrete([2] * num_envs)

    def reset(self, *, seed: object = None, options: object = None) -> tuple[Any, dict[str, Any]]:
        self.t = np.zeros(self.num_envs, np.int64)
        self.over = np.zeros(self.num_envs, np.bool_)
        return np.zeros((self.num_envs, 2), np.float32), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:  # noqa: ANN401
        self.t = np.where(self.over, 0, self.t + 1)
        reward = np.where(self.over, 0.0, self.reward)
        terminated = (self.t == self.end) & ~self.over & (self.end > 0)
        truncated = (self.t == self.cut) & ~self.over & (self.cut > 0)
        self.over = terminated | truncated
        seen = np.stack([self.t, np.where(self.t == 0, 0, actions)], axis=1).astype(np.float32)
        return seen, reward, terminated, truncated, {}


def _registered(name: str, **vector: float) -> None:
    gymnasium.register(
        f"ludus-tests/{name}-v0",
        entry_point=Count,  # type: ignore[arg-type]
        vector_entry_point=lambda num_envs=1, end=0, **kw: CountVec(num_envs, end, **vector),  # type: ignore[arg-type]
        max_episode_steps=LIMIT,
    )


_registered("VLimit")
_registered("VShort", cut=7)
_registered("VGood", cut=LIMIT)
_registered("VOther", cut=LIMIT, reward=2.0)


class Endless:
    """A game that declares ``max_ticks`` and never ends, for ``seats`` seats."""

    def __init__(self, seats: int = 1, limit: int = 9, broken: int = 0) -> None:
        self.seats, self.limit, self.broken, self.truncated = seats, limit, broken, False

    @property
    def spec(self) -> GameSpec:
        return declare(
            "endless",
            seats=self.seats,
            observation=[tensor("tick", (1,))],
            heads=[HeadSpec("move", 2)],
            max_ticks=self.limit,
        )

    def reset(self, seed: int) -> None:
        self.tick = 0

    def to_act(self) -> Sequence[int]:
        return range(self.seats)

    def step(self, actions: Ints) -> bool:
        self.tick += 1
        return bool(self.broken) and self.tick == self.broken

    def rewards(self, out: Floats) -> None:
        out[...] = 1.0

    def outcome(self, out: Floats) -> None:
        out[...] = 0.0

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        out["tick"][...] = np.nan if self.broken and self.tick == self.broken else self.tick

"""Environments made in a test, with the spaces and values that the test gives."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from ludus.games.names import typed

_NUMBERS = itertools.count()


class OneOf(gymnasium.Env[Any, Any]):
    """An environment of ``steps`` steps with reward 1. Every action must be a member of the action space.

    ``values[t]`` is what the environment returns at tick t (the last one from there on), ``infos`` likewise.
    A function is called with the environment.
    """

    def __init__(
        self,
        observation: Any = None,
        action: Any = None,
        values: Sequence[Any] = (),
        infos: Sequence[Any] = ({},),
        steps: int = 5,
    ) -> None:
        self.observation_space = observation or spaces.Box(-1.0, 1.0, (3,), np.float32)
        self.action_space = action or spaces.Discrete(4)
        self.values, self.infos, self.steps = values, infos, steps
        self.actions: list[Any] = []

    def _at(self, given: Sequence[Any]) -> Any:
        value = given[min(self.tick, len(given) - 1)]
        return value(self) if callable(value) else value

    def _see(self) -> tuple[Any, Any]:
        seen = self._at(self.values) if self.values else self.observation_space.sample()
        return seen, self._at(self.infos)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        self.tick = 0
        return self._see()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), f"{action!r} is not in {self.action_space}"
        self.actions.append(action)
        self.tick += 1
        seen, info = self._see()
        return seen, 1.0, self.tick >= self.steps, False, info


def registered(make: Callable[[], gymnasium.Env[Any, Any]]) -> str:
    """Register ``make`` in this process and return the game's name."""
    name = f"ludus-tests/Own{next(_NUMBERS)}-v0"
    gymnasium.register(name, entry_point=make)  # type: ignore[arg-type]
    return typed(f"gymnasium/{name}")

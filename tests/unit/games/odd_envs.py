# ruff: noqa: ANN401
"""Environments with methods of another form than their library's. Each is one word of ``does``."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

SEEN = np.zeros(2, np.float32)


class Odd(gymnasium.Env[Any, Any]):
    observation_space = spaces.Box(-1, 1, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, does: str = "") -> None:
        self.does = does
        if does == "missing":
            import no_such_module_of_mine  # type: ignore[import-not-found] # noqa: F401
        if does == "part":
            import gymnasium.no_such_part  # type: ignore[import-not-found] # noqa: F401
        if does == "paragraph":
            raise ImportError("this environment has moved\n\n   to another package")
        if does == "library":
            raise ModuleNotFoundError("No module named 'vizdoom'", name="vizdoom")
        if does == "key":
            raise KeyError("speed")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        if self.does == "type":
            return len(3)  # type: ignore[arg-type]
        return SEEN if self.does == "alone" else (SEEN, {}, 3) if self.does == "three" else (SEEN, {})

    def step(self, action: Any) -> Any:
        return (SEEN, 1.0, True, {}) if self.does == "four" else (SEEN, 1.0, True, False, {})


class NoSeed(Odd):
    def reset(self) -> Any:  # type: ignore[override]
        return SEEN, {}


class OnlySeed(Odd):
    def reset(self, seed: int | None = None) -> Any:  # type: ignore[override]
        return SEEN, {}


class OnlyOptions(Odd):
    def reset(self, options: Any = None) -> Any:  # type: ignore[override]
        return SEEN, {}


class Takes(Odd):
    def reset(self, **settings: Any) -> Any:
        return SEEN, {}


for _class in (Odd, NoSeed, OnlySeed, OnlyOptions, Takes):
    gymnasium.register(f"{_class.__name__}-v0", f"{__name__}:{_class.__name__}", max_episode_steps=9)
    gymnasium.register(f"{_class.__name__}Free-v0", f"{__name__}:{_class.__name__}")

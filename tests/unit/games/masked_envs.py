"""Environments of PettingZoo, dm_env and Ludus with masks, for the tests of one rule for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dm_env
import numpy as np
from dm_env import specs
from gymnasium import spaces
from pettingzoo import ParallelEnv

from ludus.flow import HeadSpec
from ludus.flow.slab import Array
from ludus.games.python_game import Floats, Ints, declare, tensor

#: Mask of each step, by name: step 0 is ``reset``.
CASES: dict[str, tuple[list[int] | None, ...]] = {
    "one": ([0, 1, 0, 0],) * 4,
    "gone": ([0, 1, 0, 0], None, None, [0, 0, 0, 1]),
    "late": (None, [0, 1, 0, 0], None, [0, 0, 1, 0]),
    "none": ([0, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1]),
}


class Pair(ParallelEnv):  # type: ignore[misc]
    """An environment of two agents with 4 and 6 actions.

    ``case`` masks the first four of each, in ``where``: info or observation.
    """

    metadata = {"name": "pair_v0"}  # noqa: RUF012

    def __init__(self, case: str = "one", where: str = "info") -> None:
        self.possible_agents = ["a", "b"]
        self.render_mode = None
        self.case, self.where = case, where

    def observation_space(self, agent: str) -> Any:
        seen = spaces.Box(0, 9, (1,), np.float32)
        size = 4 if agent == "a" else 6
        both = spaces.Dict(observation=seen, action_mask=spaces.Box(0, 1, (size,), np.int8))
        return seen if self.where == "info" else both

    def action_space(self, agent: str) -> Any:
        return spaces.Discrete(4 if agent == "a" else 6)

    def _see(self) -> tuple[dict[str, Any], dict[str, Any]]:
        mask, seen = CASES[self.case][min(self.tick, 3)], np.full(1, self.tick, np.float32)
        values: dict[str, Any] = dict.fromkeys(self.agents, seen)
        infos: dict[str, Any] = {a: {} for a in self.agents}
        if self.where == "observation":
            values = {a: {"observation": seen} for a in self.agents}
        for agent in self.agents if mask is not None else ():
            wide = np.array([*(mask or ()), *([0, 0] if agent == "b" else [])], np.int8)
            (infos if self.where == "info" else values)[agent]["action_mask"] = wide
        return values, infos

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        self.agents, self.tick = list(self.possible_agents), 0
        return self._see()

    def step(self, actions: dict[str, int]) -> tuple[Any, ...]:
        mask = CASES[self.case][min(self.tick, 3)]
        for x in actions.values():
            assert mask is None or (x < 4 and mask[x]), f"{x} is illegal at tick {self.tick}"
        self.tick += 1
        seen, infos = self._see()
        over = dict.fromkeys(self.agents, self.tick == 4)
        out = (seen, dict.fromkeys(self.agents, 1.0), over, dict.fromkeys(self.agents, False), infos)
        if self.tick == 4:
            self.agents = []
        return out


parallel_env = Pair


class Door(dm_env.Environment):  # type: ignore[misc]
    """An environment of one agent with 4 actions."""

    def __init__(self, case: str = "one") -> None:
        self.case = case

    def reset(self) -> Any:
        self.tick = 0
        return dm_env.restart(self._see())

    def step(self, action: Any) -> Any:
        mask = CASES[self.case][min(self.tick, 3)]
        assert mask is None or mask[int(action)], f"{action} is illegal at tick {self.tick}"
        self.tick += 1
        end = dm_env.termination if self.tick == 4 else dm_env.transition
        return end(1.0, self._see())

    def _see(self) -> dict[str, Any]:
        mask = CASES[self.case][min(self.tick, 3)]
        out: dict[str, Any] = {"tick": np.array([self.tick], np.int64)}
        if mask is not None:
            out["action_mask"] = np.array(mask, np.int8)
        return out

    def observation_spec(self) -> Any:
        mask = specs.BoundedArray((4,), np.int8, 0, 1, "action_mask")
        return {"tick": specs.BoundedArray((1,), np.int64, 0, 9, "tick"), "action_mask": mask}

    def action_spec(self) -> Any:
        return specs.DiscreteArray(4, name="action")


class Own:
    """A Python game of ``seats`` that act at once. Each has a head of 4 choices, and one without a mask."""

    truncated = False

    def __init__(self, case: str = "one", seats: int = 1) -> None:
        self.case, self.seats = case, seats
        self.spec = declare(
            "own",
            seats=seats,
            observation=[tensor("tick", (1,))],
            heads=[HeadSpec("move", 4), HeadSpec("speed", 2)],
        )

    def reset(self, seed: int) -> None:
        self.tick = 0

    def to_act(self) -> Sequence[int]:
        return range(self.seats)

    def step(self, actions: Ints) -> bool:
        mask = CASES[self.case][min(self.tick, 3)]
        for x in actions[:, 0].tolist():
            assert mask is None or mask[x], f"{x} is illegal at tick {self.tick}"
        self.tick += 1
        return self.tick == 4

    def rewards(self, out: Floats) -> None:
        out[...] = 1.0

    def outcome(self, out: Floats) -> None:
        out[...] = 0.0

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        out["tick"][...] = self.tick

    def legal(self, seat: int, out: Array) -> None:
        out[...] = 1
        mask = CASES[self.case][min(self.tick, 3)]
        if mask is not None:
            out[:4] = mask

"""Games in teams, written in Python, for tests of rewards that a team shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ludus.flow import GameSpec, HeadSpec
from ludus.flow.slab import Array
from ludus.games.python_game import Floats, Ints, declare, tensor


class Squads:
    """``teams``: a digit for each seat. Matches last 1 to 6 ticks; after each, a seat leaves with chance 1/4.

    Every seat earns a random number at every tick, also after it has left.
    """

    def __init__(self, teams: str = "0101") -> None:
        self.teams, self.truncated = tuple(map(int, teams)), False

    @property
    def spec(self) -> GameSpec:
        return declare(
            "squads",
            observation=[tensor("tick", (1,))],
            heads=[HeadSpec("move", 2)],
            seats=len(self.teams),
            teams=self.teams,
        )

    def reset(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.left = int(self.rng.integers(1, 7))
        self.here = list(range(len(self.teams)))

    def to_act(self) -> Sequence[int]:
        return tuple(self.here)

    def step(self, actions: Ints) -> bool:
        self.left -= 1
        self.earned = self.rng.normal(size=len(self.teams)).astype(np.float32)
        if len(self.here) > 1 and self.rng.random() < 0.25:
            self.here.pop(int(self.rng.integers(len(self.here))))
        return self.left == 0

    def rewards(self, out: Floats) -> None:
        out[...] = self.earned

    def outcome(self, out: Floats) -> None:
        out[...] = 0.0

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        out["tick"][...] = self.left

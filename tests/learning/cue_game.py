"""A Python game that needs memory: a cue is shown once, and must be named some decisions later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ludus.flow import HeadSpec
from ludus.flow.slab import Array
from ludus.games.python_game import Floats, Ints, declare, tensor


class Cue:
    """Game with one of ``cues`` visible at tick 0; naming it at the last of ``length`` ticks pays 1."""

    truncated = False

    def __init__(self, length: int = 6, cues: int = 3) -> None:
        self.length, self.cues = length, cues
        numbers = tensor(
            "numbers", (cues + 1,), low=0, high=1, meaning="the cue, and whether it is asked for"
        )
        self.spec = declare("cue", observation=[numbers], heads=[HeadSpec("name", cues)])

    def reset(self, seed: int) -> None:
        self.cue, self.tick, self.right = int(np.random.default_rng(seed).integers(self.cues)), 0, False

    def to_act(self) -> Sequence[int]:
        return (0,)

    def step(self, actions: Ints) -> bool:
        self.tick += 1
        self.right = self.tick == self.length and int(actions[0, 0]) == self.cue
        return self.tick == self.length

    def rewards(self, out: Floats) -> None:
        out[0] = float(self.right)

    def outcome(self, out: Floats) -> None:
        out[0] = 0.0

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        out["numbers"][...] = 0.0
        if self.tick == 0:
            out["numbers"][self.cue] = 1.0
        out["numbers"][self.cues] = float(self.tick == self.length - 1)


GAME = Cue

"""A game of two seats, written in Python, that a setting breaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ludus.flow import GameSpec, HeadSpec
from ludus.flow.slab import Array
from ludus.games.python_game import Floats, Ints, declare, tensor


class Breaking:
    """The higher of two cards that are dealt may be raised; four ticks a match.

    ``broken``: 1 raises an error in matches from the tick ``at`` on, 0 never.
    """

    def __init__(self, broken: float = 0.0, at: int = 2) -> None:
        self.broken, self.at = broken > 0.5, at
        self.truncated = False

    @property
    def spec(self) -> GameSpec:
        return declare(
            "breaking",
            observation=[tensor("cards", (2,))],
            heads=[HeadSpec("move", 3)],
            seats=2,
            teams=(0, 1),
        )

    def reset(self, seed: int) -> None:
        self.cards = np.random.default_rng(seed).random(2).astype(np.float32)
        self.tick, self.sums = 0, np.zeros(2)

    def to_act(self) -> Sequence[int]:
        return (0, 1)

    def step(self, actions: Ints) -> bool:
        self.tick += 1
        if self.broken and self.tick >= self.at:
            raise RuntimeError("the table broke")
        self.sums += actions[:, 0] * self.cards
        return self.tick == 4

    def rewards(self, out: Floats) -> None:
        out[...] = self.sums - self.sums[::-1]

    def outcome(self, out: Floats) -> None:
        out[...] = np.sign(self.sums - self.sums[::-1])

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        out["cards"][...] = self.cards


GAME = Breaking

"""The source of a small game in Python that can be searched: nine stones, who takes the last one wins."""

from __future__ import annotations

SOURCE = """
from ludus.flow import HeadSpec
from ludus.games.python_game import declare, tensor


class Nim:
    spec = declare(
        "nim",
        seats=2,
        turn_based=True,
        perfect_information=True,
        deterministic=True,
        observation=[tensor("left", (1,), "u8", low=0, high=9, meaning="stones")],
        heads=[HeadSpec("take", 3, labels=("take1", "take2", "take3"))],
    )
    truncated = False

    def reset(self, seed):
        self.left, self.seat, self.won = 9, 0, -1

    def to_act(self):
        return [self.seat]

    def legal(self, seat, out):
        out[:] = [n <= self.left for n in (1, 2, 3)]

    def step(self, actions):
        self.left -= int(actions[self.seat, 0]) + 1
        if self.left == 0:
            self.won = self.seat
        self.seat = 1 - self.seat
        return self.left == 0

    def rewards(self, out):
        out[:] = 0.0
        if self.won >= 0:
            out[self.won], out[1 - self.won] = 1.0, -1.0

    def outcome(self, out):
        self.rewards(out)

    def observe(self, seat, out):
        out["left"][:] = self.left

    def clone(self):
        other = Nim()
        other.left, other.seat, other.won = self.left, self.seat, self.won
        return other

    def render(self):
        return f"{self.left} left"


GAME = Nim
"""

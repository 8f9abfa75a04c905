"""Python games for the tests of ends and returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ludus.flow import GameSpec, HeadSpec
from ludus.flow.slab import Array
from ludus.games.python_game import PLAYING, TERMINATED, Bytes, Floats, Ints, declare, tensor


def spec(seats: int) -> GameSpec:
    return declare("stages", observation=[tensor("tick", (1,))], heads=[HeadSpec("move", 2)], seats=seats)


class Stages:
    """Four ticks. Seat 0 is out after the first; the match is then cut off. ``trouble``: its tick.

    Every ``empty``-th seed gives a match in which no seat decides.
    """

    truncated = True

    def __init__(self, trouble: int = -1, empty: int = 0) -> None:
        self.spec, self.trouble, self.empty = spec(2), trouble, empty

    def reset(self, seed: int) -> None:
        self.tick, self.over = 0, bool(self.empty) and seed % self.empty == 0

    def to_act(self) -> Sequence[int]:
        return () if self.over else (0, 1) if self.tick < 1 else (1,)

    def step(self, actions: Ints) -> bool:
        self.tick += 1
        if self.tick == self.trouble:
            raise ValueError("the rules broke")
        return self.over or self.tick >= 4

    def rewards(self, out: Floats) -> None:
        out[...] = 0

    def outcome(self, out: Floats) -> None:
        out[...] = 0

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        out["tick"][...] = self.tick

    def ends(self, out: Bytes) -> None:
        out[...] = [TERMINATED if self.tick else PLAYING, PLAYING]


class Wages:
    """400 ticks: a reward of ``first``, then ``small`` ones."""

    truncated = False

    def __init__(self, first: float = 0.0, small: float = 1.0) -> None:
        self.spec, self.first, self.small = spec(1), first, small

    def reset(self, seed: int) -> None:
        self.tick = 0

    def to_act(self) -> Sequence[int]:
        return (0,)

    def step(self, actions: Ints) -> bool:
        self.tick += 1
        return self.tick >= 400

    def rewards(self, out: Floats) -> None:
        out[0] = self.first if self.tick == 1 else self.small

    def outcome(self, out: Floats) -> None:
        out[...] = 0

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        out["tick"][...] = self.tick

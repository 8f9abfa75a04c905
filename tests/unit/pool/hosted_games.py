"""Games for the tests of the process pool."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ludus.flow import GameSpec, HeadSpec
from ludus.flow.slab import Array
from ludus.games.python_game import Floats, Ints, ProcessUnusable, declare, tensor


def from_outside(number: int) -> None:
    """Let another process send this one a signal: what a game does to its own process is contained."""
    subprocess.run(["kill", f"-{int(number)}", str(os.getpid())], check=False)


class Walk:
    """Over after ``length`` ticks; earns the sum of its actions at every step.

    ``trouble`` happens at tick ``at``, only in the match with that ``seed`` unless it is -1. A process other
    than ``parent`` that makes a game takes one file from the folder ``crashes`` and gets the signal ``by``;
    without a file it gets none.
    """

    def __init__(
        self,
        length: int = 5,
        trouble: str = "",
        at: int = 2,
        seed: int = -1,
        late: bool = False,
        crashes: str = "",
        parent: int = 0,
        by: int = signal.SIGSEGV,
    ) -> None:
        self.length, self.trouble, self.at, self.only, self.late = length, trouble, at, seed, late
        self.truncated = False
        if trouble == "start":
            raise RuntimeError("no such level")
        for left in sorted(Path(crashes).iterdir()) if crashes and os.getpid() != parent else []:
            with contextlib.suppress(FileNotFoundError):  # another worker's by now
                left.unlink()
                from_outside(by)

    @property
    def spec(self) -> GameSpec:
        return declare(
            "walk",
            observation=[tensor("numbers", (3,)), tensor("flags", (11,), "bits", low=0, high=1)],
            heads=[HeadSpec("move", 3)],
        )

    def reset(self, seed: int) -> None:
        self.seed, self.tick, self.total = seed, 0, 0
        self.rng = np.random.default_rng(seed)
        self.noise = float(self.rng.random())
        self._maybe("reset", 0)

    def to_act(self) -> Sequence[int]:
        return (3,) if self._now("seat") else (0,)

    def step(self, actions: Ints) -> bool:
        self.tick += 1
        self.total += int(actions[0, 0])
        self._maybe("step", self.at)
        self.truncated = self.late
        return self.tick >= self.length

    def rewards(self, out: Floats) -> None:
        out[0] = np.nan if self._now("reward") else self.total

    def outcome(self, out: Floats) -> None:
        out[0] = 0.0

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        shape = 4 if self._now("shape") else 3
        values = np.zeros(shape, np.float32)
        values[:3] = self.noise, self.tick, self.total
        if self._now("nan"):
            values[1] = np.nan
        out["numbers"][...] = values
        out["flags"][...] = self.tick

    def _now(self, what: str) -> bool:
        return self.trouble == what and self.tick == self.at and self.only in (-1, self.seed)

    def _maybe(self, where: str, at: int) -> None:
        if self.tick != at or self.only not in (-1, self.seed):
            return
        if self.trouble == f"{where}-raise":
            raise ValueError("the rules broke")
        if self.trouble == f"{where}-hang":
            os.write(2, b"hangs\n")
            time.sleep(1000)
        if self.trouble == f"{where}-stop":
            from_outside(signal.SIGSTOP)
        if self.trouble == f"{where}-exit":
            os._exit(7)
        if self.trouble == f"{where}-unusable":
            raise ProcessUnusable("a thread of the library is stuck")


class Duel:
    """Two seats, turn by turn: whoever adds up to ten first wins. Choice 0 is illegal after a choice 2.

    In the match with seed ``astray`` a seat that does not exist must act once a player has more than 4.
    """

    def __init__(self, astray: int = -1) -> None:
        self.truncated, self.astray = False, astray

    @property
    def spec(self) -> GameSpec:
        return declare(
            "duel",
            observation=[tensor("sums", (2,), "u8", low=0, high=20)],
            heads=[HeadSpec("add", 3)],
            seats=2,
            turn_based=True,
        )

    def reset(self, seed: int) -> None:
        self.sums = [0, 0]
        self.seed = seed
        self.turn = seed & 1
        self.last = 0
        self.won = -1

    def to_act(self) -> Sequence[int]:
        return (7,) if self.seed == self.astray and max(self.sums) > 4 else (self.turn,)

    def step(self, actions: Ints) -> bool:
        move = int(actions[self.turn, 0])
        if move == 0 and self.last == 2:
            raise ValueError("choice 0 is illegal after a 2")
        self.sums[self.turn] += move
        self.last = move
        if self.sums[self.turn] >= 10:
            self.won = self.turn
        self.turn = 1 - self.turn
        return self.won >= 0

    def rewards(self, out: Floats) -> None:
        out[...] = 0.0
        if self.won >= 0:
            self.outcome(out)

    def outcome(self, out: Floats) -> None:
        out[...] = -1.0
        out[self.won] = 1.0

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        out["sums"][...] = self.sums[seat], self.sums[1 - seat]

    def legal(self, seat: int, out: Array) -> None:
        out[...] = 1
        if self.last == 2:
            out[0] = 0


class Wages:
    """Two seats, four ticks. Seat 0 acts at each; seat 1 only at the last two. Every tick pays 1 and 10."""

    def __init__(self) -> None:
        self.truncated, self.tick = False, 0

    @property
    def spec(self) -> GameSpec:
        return declare("wages", observation=[tensor("tick", (1,))], heads=[HeadSpec("move", 2)], seats=2)

    def reset(self, seed: int) -> None:
        self.tick = 0

    def to_act(self) -> Sequence[int]:
        return (0, 1) if self.tick >= 2 else (0,)

    def step(self, actions: Ints) -> bool:
        self.tick += 1
        return self.tick == 4

    def rewards(self, out: Floats) -> None:
        out[...] = 1.0, 10.0

    def outcome(self, out: Floats) -> None:
        out[...] = 0.0

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        out["tick"][...] = self.tick


GAME = Walk

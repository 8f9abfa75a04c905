"""Games whose matches have named scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ludus.flow import GameSpec, HeadSpec
from ludus.flow.slab import Array
from ludus.games.python_game import Floats, Ints, declare, tensor


class Arena:
    """Every ``shoot`` is a frag; the seat with most frags wins. Bots have the frags that the seed gives them.

    ``wide`` observes one number more: weights of the other width do not fit. ``wrong`` is a fault of
    ``scores``, in the match with the seed ``only`` unless it is -1.
    """

    def __init__(
        self,
        players: int = 2,
        bots: int = 0,
        ticks: int = 4,
        wide: bool = False,
        wrong: str = "",
        only: int = -1,
    ) -> None:
        self.players, self.bots, self.ticks, self.wide = players, bots, ticks, wide
        self.wrong, self.only = wrong, only
        self.truncated = False

    @property
    def spec(self) -> GameSpec:
        return declare(
            "arena",
            seats=self.players,
            observation=[tensor("seen", (3 if self.wide else 2,), "u8", low=0, high=255, scale=0.01)],
            heads=[HeadSpec("shoot", 2, labels=("no", "yes"))],
            max_ticks=200,
            scores=("frags", "place", *(("best_bot",) if self.bots else ())),
        )

    def reset(self, seed: int) -> None:
        self.seed, self.tick = seed, 0
        self.frags = np.zeros(self.players, np.float32)
        self.shot = np.zeros(self.players, np.float32)
        rng = np.random.default_rng(seed)
        self.of_bots = rng.integers(0, self.ticks + 1, self.bots).astype(np.float32)

    def to_act(self) -> Sequence[int]:
        return range(self.players)

    def step(self, actions: Ints) -> bool:
        self.shot = actions[:, 0].astype(np.float32)
        self.frags += self.shot
        self.tick += 1
        return self.tick >= self.ticks

    def rewards(self, out: Floats) -> None:
        out[:] = self.shot

    def outcome(self, out: Floats) -> None:
        everyone = np.concatenate([self.frags, self.of_bots])
        top = everyone.max()
        for seat, own in enumerate(self.frags):
            out[seat] = -1.0 if own < top else 1.0 if (everyone == top).sum() == 1 else 0.0

    def scores(self, out: Floats) -> None:
        if self.wrong and self.only in (-1, self.seed):
            if self.wrong == "raise":
                raise RuntimeError("the scoreboard is gone")
            if self.wrong == "shape":
                out[...] = np.zeros((self.players, 7))
            if self.wrong == "short":
                out[:, 0] = self.frags
            if self.wrong == "infinite":
                out[...] = np.inf
            return
        everyone = np.concatenate([self.frags, self.of_bots])
        out[:, 0] = self.frags
        out[:, 1] = [1 + (everyone > own).sum() for own in self.frags]
        if self.bots:
            out[:, 2] = self.of_bots.max()

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        out["seen"][:] = 0
        out["seen"][:2] = (self.tick, int(self.frags[seat]))


class Unscored(Arena):
    """Names scores and does not write them."""

    scores = None  # type: ignore[assignment]


GAME = Arena

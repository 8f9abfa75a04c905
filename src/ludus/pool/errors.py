"""What goes wrong inside a match."""

from __future__ import annotations


class PoolError(RuntimeError):
    """A pool cannot go on: its workers do not start, or one is lost again and again."""


class MatchError(RuntimeError):
    """A game threw. The match has ended truncated; the pool itself goes on and can be received again.

    ``game``, ``slot``, ``seed``, ``match``, ``tick`` say which one (``MatchSeed(seed, match)`` replays it),
    ``message`` what the game said.
    """

    def __init__(self, game: str, slot: int, seed: int, match: int, tick: int, message: str) -> None:
        self.game, self.slot, self.seed = game, slot, seed
        self.match, self.tick, self.message = match, tick, message
        super().__init__(f"{game}: match {match} (slot {slot}, seed {seed}) failed at tick {tick}: {message}")

    def __reduce__(self) -> tuple[type[MatchError], tuple[str, int, int, int, int, str]]:
        return type(self), (self.game, self.slot, self.seed, self.match, self.tick, self.message)

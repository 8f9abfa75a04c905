"""Errors of matches and pools."""

from __future__ import annotations

from ludus.flow.problem import HasProblems


class PoolError(HasProblems, RuntimeError):
    """A pool cannot continue: its workers do not start, or one is lost repeatedly."""


class MatchError(RuntimeError):
    """A game raised an error. The match has ended truncated; the pool continues and can be received again.

    ``MatchSeed(seed, match)`` replays it.
    """

    def __init__(self, game: str, slot: int, seed: int, match: int, tick: int, message: str) -> None:
        """Identify the match and its tick; ``message`` is the game's own."""
        self.game, self.slot, self.seed = game, slot, seed
        self.match, self.tick, self.message = match, tick, message
        super().__init__(f"{game}: match {match} (slot {slot}, seed {seed}) failed at tick {tick}: {message}")

    def __reduce__(self) -> tuple[type[MatchError], tuple[str, int, int, int, int, str]]:
        """Return the constructor's arguments, for pickle."""
        return type(self), (self.game, self.slot, self.seed, self.match, self.tick, self.message)

"""Frags of a match: what each player has scored, and the scoreboard with the bots."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ludus.games.adapters.vizdoom.engine import MAX_PLAYERS

#: Scores of a scenario that one player plays, and of a match of several players or bots.
ALONE = ("reward", "kills")
FRAGS = ("frags", "kills", "deaths", "suicides", "place")
BEST_BOT = "best_bot"


class FragTally:
    """Frags, deaths and reward of one player in a match, read at every decision.

    A frag that is lost between two decisions is a suicide: rockets hurt who fires them. So
    ``frags == kills - suicides``. A kill and a suicide of one decision cancel each other.
    """

    def __init__(self) -> None:
        """Count nothing yet."""
        self.frags = self.suicides = 0.0
        self.deaths = self.killed = self.reward = 0.0
        self._before = (0.0, 0.0, 0.0)

    def start(self, game: Any) -> None:
        """Start a match of a running engine, whose counters may still have the last match in them."""
        self.reward = self.deaths = self.killed = 0.0
        self._before = self._read(game)
        self.frags = self._before[0]  # of the time in which the bots joined
        self.suicides = max(0.0, -self.frags)

    def update(self, game: Any, reward: float) -> float:
        """Read the counters after a decision that earned ``reward``. Returns the change of frags."""
        frags, deaths, kills = self._read(game)
        gained = frags - self._before[0]
        self.suicides += max(0.0, -gained)
        self.deaths += max(0.0, deaths - self._before[1])
        self.killed += max(0.0, kills - self._before[2])
        self._before = (frags, deaths, kills)
        self.frags = frags
        self.reward += reward
        return gained

    @property
    def kills(self) -> float:
        """Other players that this one has killed."""
        return self.frags + self.suicides

    @staticmethod
    def _read(game: Any) -> tuple[float, float, float]:
        import vizdoom

        names = vizdoom.GameVariable
        return (
            game.get_game_variable(names.FRAGCOUNT),
            game.get_game_variable(names.DEATHCOUNT),
            game.get_game_variable(names.KILLCOUNT),
        )


def scoreboard(host: Any) -> dict[int, int]:
    """Return the frags of all players and bots in a match, by the engine's number of each."""
    state = host.get_server_state()
    there = zip(state.players_frags, state.players_in_game, strict=True)
    return {n: int(frags) for n, (frags, playing) in enumerate(there) if playing and n < MAX_PLAYERS}


def best_of_bots(board: Mapping[int, int], players: Collection[int]) -> float:
    """Return the most frags of a bot: of those on ``board`` whose number is none of ``players``."""
    return float(max((frags for number, frags in board.items() if number not in players), default=0))


def places(frags: Sequence[float], board: Mapping[int, int]) -> list[float]:
    """Return the place of each of ``frags`` on ``board``: 1 + those with more."""
    return [1.0 + sum(other > own for other in board.values()) for own in frags]


def outcomes(frags: Sequence[float], board: Mapping[int, int]) -> list[float]:
    """Return +1 for the most frags on ``board``, -1 for fewer, and 0 for all if all have equally many."""
    best = max(board.values(), default=0)
    if all(other == best for other in board.values()):
        return [0.0] * len(frags)
    return [1.0 if own >= best else -1.0 for own in frags]

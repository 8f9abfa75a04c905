"""How far a round of self-play is, in words."""

from __future__ import annotations

import time

from ludus.algorithms.config import AlphaZeroConfig
from ludus.mcts import Matches

RATE_S = 2.0  # of self-play, after which its speed is known


class SelfPlayProgress:
    """Positions of a round so far. The training thread counts; any thread may read :meth:`text`.

    Positions count once their match is over. Before, their number is estimated: the moves of matches in play,
    times the share of moves whose search is learned.
    """

    def __init__(self, config: AlphaZeroConfig) -> None:
        """Start before the first round."""
        self._config = config
        self.moves = 0  # of the session
        self.plies = 0.0  # mean of the matches of the last part of a round; 0 before the first
        self._ended = 0  # moves of matches that are over
        self._kept = 0  # positions of the round's matches that are over
        self._later = False  # whether the round is not the first
        self._before = 0.0  # positions at the start of the round
        self._started = time.monotonic()

    def start(self, moves: int) -> None:
        """Start a round; ``moves``: of the session."""
        self._later = self._kept > 0
        self.moves, self._kept = moves, 0
        self._before, self._started = self._positions(), time.monotonic()

    def take(self, matches: Matches, positions: int) -> None:
        """Count matches that are over; ``positions``: of the round."""
        self._ended += len(matches.action)
        self._kept = positions
        if len(matches):
            self.plies = float(matches.plies.mean())

    def _positions(self) -> float:
        share = self._config.self_play.full_share
        return self._kept + share * max(0, self.moves - self._ended)

    def share(self, matches: int, trained: bool) -> float:
        """Return the share of the round's self-play that is done, 0..1; arguments as in :meth:`text`."""
        made, more = self._positions() - self._before, max(0.0, self._more(matches, trained))
        return made / (made + more) if made > 0.0 else 0.0

    def _more(self, matches: int, trained: bool) -> float:
        """Return the number of positions that are still to be played."""
        positions, config = self._positions(), self._config
        more = config.round_positions - positions
        if not trained and matches < config.window_matches_min:  # longer, once their length is known
            few = config.window_matches_min - matches
            more = max(more, few * self.plies * config.self_play.full_share - positions)
        return more

    def text(self, matches: int, trained: bool) -> str:
        """Return ``self-play: 904 of 4,096 positions and 12 of 100 matches until the first update, ...``.

        Args:
            matches: Matches of the run that are over.
            trained: Whether an update has been made.
        """
        wanted, positions = self._config.round_positions, self._positions()
        fewest = self._config.window_matches_min
        waits = not trained and matches < fewest
        text = f"self-play: {min(wanted, int(positions)):,} of {wanted:,} positions"
        if waits:
            text += f"{' of this round' if self._later else ''} and {matches:,} of {fewest:,} matches"
        text += f" until the {'next' if trained else 'first'} update"
        if not waits:
            text += f", {matches:,} matches are over"
        text += f", {self.moves:,} moves in this session"
        if positions >= wanted and not waits:
            return f"{text}; their matches are being finished"
        left = self._left_s(self._more(matches, trained), positions - self._before)
        if left is None:
            return text
        whose = " for these positions" if waits and not self.plies else ""
        return f"{text}, about {int(left) // 60}:{int(left) % 60:02d} min left{whose}"

    def _left_s(self, more: float, made: float) -> float | None:
        passed = time.monotonic() - self._started
        if passed < RATE_S or made <= 0.0:
            return None
        return max(0.0, more) * passed / made

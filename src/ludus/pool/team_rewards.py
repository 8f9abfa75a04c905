"""Rewards that a team shares, in a pool of Python games (``cpp/pool/team_rewards.hpp`` for compiled ones).

OpenAI Five (Berner et al. 2019). A seat that earns ``r`` has a share ``a = r - mean of r over all seats of
other teams`` with ``zero_sum``, else ``a = r``; its row is paid ``(1 - spirit) * a + spirit * mean of a over
its team``. Every seat counts, also one that has left the match.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec
from ludus.pool.hosted.control_block import Floats

Doubles = npt.NDArray[np.float64]


def team_rewards_problem(spec: GameSpec, spirit: float, zero_sum: bool) -> str:
    """Return why the game cannot share rewards this way; empty if it can."""
    if not 0.0 <= spirit <= 1.0:
        return f"spirit={spirit}, expected 0..1"
    if spirit == 0.0 and not zero_sum:
        return ""
    teams = len(set(spec.teams))
    if teams == len(spec.teams):
        return f"rewards are shared by teams, and {spec.name} has none"
    if zero_sum and teams == 1:
        return f"zero_sum: {spec.name} has one team, expected at least two"
    return ""


def check_team_rewards(spec: GameSpec, spirit: float, zero_sum: bool) -> None:
    """Raise ``ValueError`` where the game cannot share rewards this way."""
    if problem := team_rewards_problem(spec, spirit, zero_sum):
        raise ValueError(problem)


class TeamRewards:
    """Payments of rows for the rewards of the seats of their matches."""

    def __init__(self, spec: GameSpec, zero_sum: bool) -> None:
        """Share among the teams of ``spec``."""
        self.zero_sum = zero_sum
        teams = np.array(spec.teams, np.int64)
        mates = (teams[:, None] == teams[None, :]).astype(np.float64)  # [S, S]
        self._mean = mates / np.maximum(1.0, mates.sum(axis=0))  # column s: the team of s
        others = 1.0 - mates
        self._others = others / np.maximum(1.0, others.sum(axis=0))

    def shares(self, spirit: Doubles) -> bool:
        """Return whether some match with its ``spirit: [n]`` pays otherwise than the game rewards."""
        return self.zero_sum or bool(spirit.any())

    def share(self, earned: Floats, spirit: Doubles) -> Floats:
        """Return what rows are paid for ``earned: [n, S]`` with ``spirit: [n]``."""
        own = earned.astype(np.float64)
        if self.zero_sum:
            own -= own @ self._others
        paid = (1.0 - spirit[:, None]) * own + spirit[:, None] * (own @ self._mean)
        rows: Floats = paid.astype(np.float32)
        return rows

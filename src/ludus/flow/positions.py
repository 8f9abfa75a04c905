"""Recorded matches as arrays, and positions asked of them. A compiled module reads these fields by name.

``M`` is the number of matches, ``L`` of their moves together, ``Q`` of the positions asked for.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt


class MatchMoves(NamedTuple):
    """Moves of ``M`` matches, one match after the other."""

    match: npt.NDArray[np.uint64]  # [M] numbers of the matches
    actions: npt.NDArray[np.uint16]  # [L]
    offset: npt.NDArray[np.int64]  # [M + 1]: match i has the moves offset[i] .. offset[i + 1] - 1


class PositionQuery(NamedTuple):
    """Positions of recorded matches: observations and masks are wanted at these plies."""

    moves: MatchMoves
    first: npt.NDArray[np.int64]  # [M + 1]: match i has the plies first[i] .. first[i + 1] - 1 of ``wanted``
    wanted: npt.NDArray[np.int32]  # [Q] plies, rising within a match
    rows: npt.NDArray[np.int32]  # [Q] row of the answer to each ply


class EndArrays(Protocol):
    """Arrays that receive how ``M`` matches ended for seat 0; a match that was not counted has zeros."""

    @property
    def ownership(self) -> npt.NDArray[np.int8]:
        """``int8[M, cells]``: +1 own, -1 the opponent's, 0 neither's."""
        ...

    @property
    def score(self) -> npt.NDArray[np.float32]:
        """``float32[M]``: own points less the opponent's."""
        ...

    @property
    def counted(self) -> npt.NDArray[np.uint8]:
        """``uint8[M]``: 1 where the match was counted."""
        ...

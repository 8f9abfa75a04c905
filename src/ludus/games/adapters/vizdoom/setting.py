"""A scenario under parameters, as its matches see it."""

from __future__ import annotations

from typing import Any, Protocol

from ludus.flow.spec import GameSpec
from ludus.games.adapters.vizdoom.bots import Bots
from ludus.games.adapters.vizdoom.buttons import ActionSet
from ludus.games.adapters.vizdoom.seat import VizdoomSeat
from ludus.games.adapters.vizdoom.shaping import Shaping


class MatchSetting(Protocol):
    """Settings of a match, and what makes its engines and seats."""

    spec: GameSpec
    actions: ActionSet
    bots: Bots
    shaping: Shaping
    players: int
    match: bool
    match_tics: int
    frame_skip: int
    respawn_s: int
    tic_s: float

    def engine(self) -> Any:
        """Create a DoomGame that is not started yet."""
        ...

    def seat(self) -> VizdoomSeat:
        """Create the observation of one player."""
        ...

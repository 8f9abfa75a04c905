"""Games by name: the list of games, their specs, and checks of the contract."""

from __future__ import annotations

from ludus.games.checks.conformance import Finding, GameReport, SeatShare, check_game
from ludus.games.names import typed
from ludus.games.registry import GameRef, find, list_games, spec, text_params

__all__ = [
    "Finding",
    "GameRef",
    "GameReport",
    "SeatShare",
    "check_game",
    "find",
    "list_games",
    "spec",
    "text_params",
    "typed",
]

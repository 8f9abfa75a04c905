"""Data that travels between a league and its journal: results by pair, and one row an event.

A *player* has a row in the league's payoff: the live weights of a member (``main``), a frozen copy of them
(``main:1200``, the member and the version) or a bot of the game (``simple``).
"""

from __future__ import annotations

import msgspec


class Tally(msgspec.Struct, frozen=True, order=True):
    """Matches of ``player`` from ``seat`` against ``opponent``, counted by outcome.

    ``tag``: why they were played, the name of the rule that drew the opponent or ``rating``. A match of more
    than two players makes one tally for each opponent; a match is reported by one of its two sides only.
    """

    player: str
    opponent: str
    seat: int
    tag: str
    wins: int
    draws: int
    losses: int


class JournalRow(msgspec.Struct, frozen=True):
    """One event of a league as the journal keeps it.

    ``number`` counts all events from 1 without a gap. ``body``: the event as JSON, its tallies apart.
    ``time``: seconds since 1970, for people; nothing is decided by it.
    """

    number: int
    kind: str
    member: str
    body: bytes
    tallies: tuple[Tally, ...] = ()
    time: float = 0.0

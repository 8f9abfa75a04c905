"""Replay of a match of a game written in Python, as the core encodes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec


class HostedReplay(msgspec.Struct, frozen=True, kw_only=True):
    """Content of a replay file. The core reads these fields by name.

    Attributes:
        game: Name of the game.
        version: Version of its spec.
        params: Parameters of the rules.
        seed: Seed of the pool.
        match: Number of the match.
        players: Name of the player at each seat.
        heads: Number of heads of a decision.
        ticks: Tick of each decision, rising.
        seats: Seat of each decision.
        actions: The heads of every decision in turn.
        length: Ticks of the match.
        hash_every: Ticks between two hashes.
        hashes: State hashes at tick 0, ``hash_every``, ...
        final_hash: State hash after the last tick.
        over: False where the match was truncated.
        outcome: +1, 0 or -1 for each seat.
        returns: Sum of rewards of each seat.
        reproduced: Index into :data:`ludus.games.records.match_record.REPRODUCED`.
    """

    game: str
    version: int
    params: Mapping[str, str]
    seed: int
    match: int
    players: Sequence[str]
    heads: int
    ticks: Sequence[int]
    seats: Sequence[int]
    actions: Sequence[int]
    length: int
    hash_every: int
    hashes: Sequence[int]
    final_hash: int
    over: bool
    outcome: Sequence[float]
    returns: Sequence[float]
    reproduced: int

"""Recorded matches: what is in a ``.ludus`` file, whether it plays out the same again, its moments.

The bytes are checked by the core (checksum, bounds, the rules themselves); all functions raise
``ReplayError`` (a ``ValueError``) that says what is wrong with them and where.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from ludus.games.registry import find, text_params
from ludus.native import core


class ReplayInfo(msgspec.Struct, frozen=True):
    """What a replay holds, decisions and hashes apart.

    ``players`` names who held each seat; ``outcome`` is +1 won, 0 drawn, -1 lost, a seat each.
    ``hash_every`` is in ticks. ``over`` is false if the match was cut off from outside.
    """

    format: int
    game: str
    version: int
    params: dict[str, str]
    seed: int
    match: int
    players: tuple[str, ...]
    ticks: int
    decisions: int
    hash_every: int
    final_hash: str
    over: bool
    outcome: tuple[float, ...]


def short_params(params: Mapping[str, str]) -> dict[str, str]:
    """Parameters as a person reads them in one line each: a rulebook is its title and its length."""
    out = {}
    for name, value in params.items():
        lines = value.splitlines()
        title = next((t.removeprefix("title=") for t in lines if t.startswith("title=")), "")
        out[name] = value if len(lines) < 2 else f"{title} ({len(lines)} lines)".strip()
    return out


class ReplayDecision(NamedTuple):
    """One decision before the advance from ``tick``: ``bot`` is an index of the spec's bots with an empty
    ``action``, or -1 with one choice a head in ``action``."""

    tick: int
    seat: int
    bot: int
    action: tuple[int, ...]


class _Decisions(msgspec.Struct):
    heads: int
    ticks: list[int]
    seats: list[int]
    bots: list[int]
    actions: list[int]


class ReplayCheck(msgspec.Struct, frozen=True):
    """What playing a replay again showed. ``last_same``: the last tick whose recorded hash agreed."""

    same: bool
    ticks: int
    last_same: int
    difference: str


def info(data: bytes) -> ReplayInfo:
    """Reads a replay. Needs no game: it also tells about matches of games that are not installed."""
    return msgspec.json.decode(core.replay_info(data), type=ReplayInfo)


def decisions(data: bytes) -> list[ReplayDecision]:
    """Who decided what, in the order in which it was decided. Needs no game, as ``info``."""
    columns = msgspec.json.decode(core.replay_decisions(data), type=_Decisions)
    heads, at = columns.heads, 0
    made = []
    for tick, seat, bot in zip(columns.ticks, columns.seats, columns.bots, strict=True):
        took = heads if bot < 0 else 0
        made.append(ReplayDecision(tick, seat, bot, tuple(columns.actions[at : at + took])))
        at += took
    return made


def verify(data: bytes) -> ReplayCheck:
    """Plays the match again and compares every recorded hash and the outcome."""
    return msgspec.json.decode(find(info(data).game).native.replay_verify(data), type=ReplayCheck)


def frames(data: bytes, every_ticks: int = 1) -> list[str]:
    """The game's view (a JSON object, as text) at the start, after every ``every_ticks`` and at the end."""
    if every_ticks < 1:
        raise ValueError(f"every_ticks is {every_ticks}, expected 1 or more")
    return find(info(data).game).native.replay_frames(data, every_ticks)


def record(
    game: str,
    params: Mapping[str, object] | None = None,
    *,
    seed: int = 1,
    match: int = 0,
    bots: Sequence[str] = ("uniform",),
    frame_skip: Sequence[int] = (),
    hash_every: int = 100,
) -> bytes:
    """Plays one match of bots inside the core and gives its replay.

    One bot or frame skip stands for all seats; ``uniform`` draws random legal actions; no frame skip
    means the game's own. Raises ``ParamError`` on unknown names.
    """
    ref = find(game)
    return ref.native.replay_record(
        ref.name, text_params(params or {}), seed, match, list(bots), list(frame_skip), hash_every
    )

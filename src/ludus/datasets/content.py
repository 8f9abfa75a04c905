"""The content of a match: the hash by which data sets order, compare and divide matches."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.datasets.shards import StoredMatch
from ludus.flow.inputs.shown import visible
from ludus.games.replays import DecisionColumns, ReplayInfo

MOST_NAME = 200  # characters of a player's name
DIGEST = 32  # bytes
KEY = 16  # bytes
_RESULT = re.compile(r"(?:[BW]\+(?:[RTF]|[0-9]{1,4}(?:\.[0-9]{1,2})?)?|0|Void|)\Z")


class ReadMatch(NamedTuple):
    """A match as a reader has made it of a record.

    ``content``: hash of what the record holds; ``key``: equal for two records of one match.
    """

    stored: StoredMatch
    params: Mapping[str, str]
    content: bytes
    key: bytes
    shortened: str = ""  # why the rest is left out


def players_of(about: ReplayInfo) -> tuple[str, ...]:
    """Return the names of the players, bounded, on one line each."""
    return tuple(player_name(name) for name in about.players)


def player_name(text: str) -> str:
    """Return a name of at most 200 characters without control characters; a second call changes nothing."""
    return visible(text.strip()[:MOST_NAME])[:MOST_NAME].strip()


def digest_of(
    about: ReplayInfo,
    decisions: DecisionColumns,
    outcome: tuple[float, ...] | None,
    result: str,
    date: int,
) -> bytes:
    """Return the hash of a match's content: rules, players, decisions, result and date."""
    head = msgspec.json.encode(
        [
            about.game,
            about.version,
            sorted(about.params.items()),
            about.seed,
            about.match,
            players_of(about),
            about.ticks,
            about.final_hash,
            outcome,
            result,
            date,
        ]
    )
    made = hashlib.sha256(head)
    made.update(_numbers(decisions).tobytes())
    return made.digest()


def _numbers(decisions: DecisionColumns) -> npt.NDArray[np.int64]:
    """Return tick, seat, bot and the chosen action of each decision, one after another."""
    rows = np.zeros((len(decisions.ticks), 3 + decisions.heads), np.int64)
    for place, column in enumerate((decisions.ticks, decisions.seats, decisions.bots)):
        rows[:, place] = column
    chosen = rows[:, 2] < 0
    rows[chosen, 3:] = np.array(decisions.actions, np.int64).reshape(int(chosen.sum()), decisions.heads)
    if chosen.all():
        return rows
    there = np.ones(rows.shape, bool)
    there[~chosen, 3:] = False
    return rows[there]


def counted(decisions: DecisionColumns, seats: int) -> tuple[int, ...]:
    """Return the number of decisions of each seat; a second one in a tick takes the place of the first."""
    found = [0] * seats
    for _, seat in set(zip(decisions.ticks, decisions.seats, strict=True)):
        if seat < seats:
            found[seat] += 1
    return tuple(found)


def key_of(about: ReplayInfo) -> bytes:
    """Return what two records of one match have in common: the final state and the length."""
    parts = (about.game, about.final_hash, str(about.ticks), str(about.decisions))
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=KEY).digest()


def board_key(cells: npt.NDArray[np.int8], moves: int) -> bytes:
    """Return a key of the final board (``int8[size, size]``) and length, equal under its 8 symmetries."""
    turned = cells.reshape(-1)[_turns(len(cells))]
    made = hashlib.blake2b(min(row.tobytes() for row in turned), digest_size=KEY)
    made.update(f"{len(cells)} {moves}".encode())
    return made.digest()


@lru_cache(maxsize=64)
def _turns(size: int) -> npt.NDArray[np.int64]:
    """Return the points of a board under its 8 symmetries (``int64[8, size * size]``)."""
    points = np.arange(size * size).reshape(size, size)
    return np.array([np.rot90(b, turns).reshape(-1) for b in (points, points.T) for turns in range(4)])


def set_hash(game: str, version: int, digests: Iterable[bytes]) -> str:
    """Return the hash of a data set, from the hashes of its matches in order."""
    made = hashlib.sha256(msgspec.json.encode(["ludus data set 1", game, version]))
    for digest in digests:
        made.update(digest)
    return made.hexdigest()


def held_out_by_hash(digests: npt.NDArray[np.uint64], share: float) -> npt.NDArray[np.bool_]:
    """Return which matches are held out, from their hashes alone (``uint64[M, 4]``)."""
    return (digests[:, -1].astype(np.uint64) >> np.uint64(11)).astype(np.float64) / float(1 << 53) < share


def check_result(text: str) -> bool:
    """Return whether ``text`` has the form of a stored result."""
    return _RESULT.match(text) is not None

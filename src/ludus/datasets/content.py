"""The content of a match: the hash by which data sets order, compare and divide matches."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.datasets.shards import StoredMatch
from ludus.flow.inputs.shown import visible
from ludus.games.replays import ReplayDecision, ReplayInfo

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
    decisions: Sequence[ReplayDecision],
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
    rows = [(d.tick, d.seat, d.bot, *(d.action if d.bot < 0 else ())) for d in decisions]
    made.update(np.fromiter((v for row in rows for v in row), np.int64).tobytes())
    return made.digest()


def counted(decisions: Sequence[ReplayDecision], seats: int) -> tuple[int, ...]:
    """Return the number of decisions of each seat; a second one in a tick takes the place of the first."""
    found = [0] * seats
    for _, seat in {(d.tick, d.seat) for d in decisions}:
        if seat < seats:
            found[seat] += 1
    return tuple(found)


def key_of(about: ReplayInfo) -> bytes:
    """Return what two records of one match have in common: the final state and the length."""
    parts = (about.game, about.final_hash, str(about.ticks), str(about.decisions))
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=KEY).digest()


def board_key(cells: npt.NDArray[np.int8], moves: int) -> bytes:
    """Return a key of the final board (``int8[size, size]``) and length, equal under its 8 symmetries."""
    turned = [np.rot90(board, turns).tobytes() for board in (cells, cells.T) for turns in range(4)]
    made = hashlib.blake2b(min(turned), digest_size=KEY)
    made.update(f"{len(cells)} {moves}".encode())
    return made.digest()


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

"""The match of a file that someone wants to be analysed: a replay, or a game of Go in SGF."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ludus.games import replays
from ludus.games.records import go_match, go_record
from ludus.games.records.sgf import SgfError

SGF = ".sgf"


class AnalysisSource(NamedTuple):
    """A match.

    Attributes:
        replay: The bytes of a ``.ludus`` file.
        notes: What a record has that the match has not. One sentence each.
        result: The result by the record's header, or empty.
    """

    replay: bytes
    notes: tuple[str, ...] = ()
    result: str = ""


def is_replay(data: bytes) -> bool:
    """Return whether the bytes of a file are a replay; anything else is read as SGF."""
    return data.startswith(replays.MAGIC)


def source_of(data: bytes, params: Mapping[str, str] | None = None) -> AnalysisSource:
    """Return the match of a file.

    Args:
        data: The bytes of the file.
        params: Further parameters of the game of a record, which weights need.

    Raises:
        SgfError: The file is neither a replay nor SGF, or a record without a move.
    """
    if is_replay(data):
        return AnalysisSource(data)
    record = go_record.load(data)
    made = go_match.replay_of(record, params)
    if not made.moves:
        raise SgfError(f"SGF: {made.notes[-1]}" if record.moves else "SGF: a record without moves")
    return AnalysisSource(made.replay, made.notes, record.result)

"""Matches from self-play of runs (``RUN/self_play/*.safetensors``): played again, move by move."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ludus.datasets import content
from ludus.datasets.content import ReadMatch
from ludus.datasets.errors import BadRecord
from ludus.datasets.from_replay import GO, ReadingRules, Told, go_key, made_match
from ludus.flow.inputs.decode import from_json
from ludus.flow.inputs.shown import shown
from ludus.flow.slab import Array
from ludus.games import registry, replays
from ludus.games.match import GameError, Match, ParamError
from ludus.games.records import go_match
from ludus.storage.errors import CorruptFile
from ludus.storage.matches import KEY, MatchesMeta
from ludus.storage.tensors import decode_file

MAX_BYTES = 512 << 20  # of a file, which is read whole
_COLUMNS = {"match": "u8", "plies": "i4", "outcome": "f4", "resigned": "u1", "action": "u2", "seat": "u1"}


def matches(path: Path, rules: ReadingRules) -> Iterator[tuple[str, Callable[[], ReadMatch]]]:
    """Yield the place of each match of a file, and how to read it.

    Raises:
        CorruptFile: The file is no self-play, or damaged.
        RunNotFound: It cannot be read.
    """
    if path.stat().st_size > MAX_BYTES:
        raise CorruptFile(f"{path.name}: more than {MAX_BYTES:,} bytes, expected at most that")
    columns, header = decode_file(path)
    try:
        meta = from_json(header.get(KEY, ""), MatchesMeta)
    except msgspec.DecodeError as error:
        raise CorruptFile(f"{path.name}: the header does not describe matches ({error})") from error
    for name, kind in _COLUMNS.items():
        if name not in columns or columns[name].dtype != np.dtype(kind) or columns[name].ndim != 1:
            raise CorruptFile(f"{path.name}: column {name}: expected one axis of {np.dtype(kind)}")
    count, plies = len(columns["match"]), columns["plies"].astype(np.int64)
    if {len(columns[n]) for n in ("plies", "outcome", "resigned")} - {count} or bool(np.any(plies < 0)):
        raise CorruptFile(f"{path.name}: columns of other lengths than {count}")
    ends = np.cumsum(plies, dtype=np.int64)
    if (int(ends[-1]) if count else 0) != len(columns["action"]) or len(columns["seat"]) != len(
        columns["action"]
    ):
        raise CorruptFile(f"{path.name}: the matches have other plies than the file")
    for index in range(count):
        rows = slice(int(ends[index]) - int(plies[index]), int(ends[index]))
        yield f", match {index + 1}", partial(_read, columns, index, rows, meta, rules)


def _read(
    columns: dict[str, Array], index: int, rows: slice, meta: MatchesMeta, rules: ReadingRules
) -> ReadMatch:
    number = int(columns["match"][index])
    params: dict[str, str] = dict(meta.params)
    if meta.game == GO:
        params = go_match.without_defaults({**params, **rules.params})
    try:
        if registry.is_python(meta.game):
            raise BadRecord(
                "another game", f"{shown(meta.game)} is written in Python; its self-play has no replays"
            )
        match = Match(meta.game, params, seed=meta.seed, match=number, record=True)
        if meta.game != GO and match.spec.spec_hash != meta.spec_hash:
            raise BadRecord("other rules", f"{shown(meta.game)} has other observations or actions here")
        for ply, (seat, action) in enumerate(
            zip(columns["seat"][rows], columns["action"][rows], strict=True), 1
        ):
            if match.to_act != (int(seat),):
                raise BadRecord("illegal move", f"ply {ply}: not the turn of seat {int(seat)}")
            match.play(int(action))
    except GameError as error:
        raise BadRecord("illegal move", f"match number {number}: {error}") from error
    except (ParamError, OverflowError, TypeError) as error:
        raise BadRecord("not readable", str(error)) from error
    told = _told(match, float(columns["outcome"][index]), bool(columns["resigned"][index]))
    replay = match.replay(["self-play"] * match.spec.seats)
    key = go_key(match) if meta.game == GO else content.key_of(replays.info(replay))
    return made_match(replay, told, key)


def _told(match: Match, first: float, resigned: bool) -> Told:
    """Return outcome and result, of which the file has the outcome for seat 0."""
    if not match.over and not resigned:
        return Told(None)
    if first not in (-1.0, 0.0, 1.0) or match.spec.seats > 2:
        raise BadRecord("not readable", f"an outcome of {first:g}")
    outcome: tuple[Any, ...] = (first, -first)[: match.spec.seats]
    if match.over and tuple(match.outcome) != outcome:
        raise BadRecord(
            "does not follow its rules", f"the outcome is {match.outcome}, the file has {outcome}"
        )
    winner = "BW"[first < 0] if first else ""
    result = "" if match.game != GO else f"{winner}+R" if resigned else f"{winner}+" if winner else "0"
    return Told(tuple(map(float, outcome)), result)

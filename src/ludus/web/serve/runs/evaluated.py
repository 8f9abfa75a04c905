"""Matches of a run's evaluations, from its own list of them."""

from __future__ import annotations

from itertools import islice

import msgspec

from ludus.flow.inputs.shown import visible
from ludus.storage import CorruptFile
from ludus.storage.jsonl import Row
from ludus.web.serve.library import Run, UnknownId
from ludus.web.serve.runs.lines import view_at

MOST_MATCHES = 200
MAX_BYTES = 1 << 20  # of the end of the list
MAX_TEXT = 200
MAX_SEATS = 64
_PLACES = {"initial": "initial weights", "playoff": "play-off", "uniform": "uniform play"}


class EvaluatedMatch(msgspec.Struct, frozen=True):
    """One match. ``evaluation``: in words; ``why``: why it was given up, or empty; ``over``: not cut off."""

    evaluation: str
    players: tuple[str, ...]
    outcome: tuple[float, ...]
    ticks: int
    seed: str  # digits: a page's numbers are not exact
    over: bool
    why: str = ""


class EvaluatedMatches(msgspec.Struct, frozen=True):
    """The newest matches first. ``left_off``: whether there are older ones."""

    matches: tuple[EvaluatedMatch, ...]
    left_off: bool


class _EvaluatedRow(msgspec.Struct):
    """A row of ``matches.jsonl``, of what pages show."""

    evaluation: int | str
    players: tuple[str, ...]
    outcome: tuple[float, ...]
    ticks: int
    seed: int
    version: int | None = None
    truncated: bool = False
    error: str = ""


def matches_of(run: Run) -> EvaluatedMatches:
    """Return the newest matches of a run's evaluations; rows of another form are left out.

    Raises:
        UnknownId: The run has been removed, or a file of it is a link.
    """
    view = view_at(run.path)
    if not view.directory.info_path.is_file():
        raise UnknownId("the run has been removed")
    try:
        rows = (line for row in view.newest_matches(MAX_BYTES) if (line := _line(row)))
    except CorruptFile as error:
        raise UnknownId(str(error)) from None
    found = tuple(islice(rows, MOST_MATCHES + 1))
    return EvaluatedMatches(found[:MOST_MATCHES], len(found) > MOST_MATCHES)


def _line(row: Row) -> EvaluatedMatch | None:
    try:
        match = msgspec.convert(row, _EvaluatedRow)
    except msgspec.ValidationError:
        return None
    if len(match.players) > MAX_SEATS or len(match.outcome) > MAX_SEATS:
        return None
    return EvaluatedMatch(
        _evaluation(match),
        tuple(_text(name) for name in match.players),
        match.outcome,
        match.ticks,
        str(match.seed),
        not match.truncated and not match.error,
        _text(match.error),
    )


def _evaluation(match: _EvaluatedRow) -> str:
    if isinstance(match.evaluation, int):
        return f"evaluation of version {match.version}" if match.version is not None else "evaluation"
    return _PLACES.get(match.evaluation) or _text(match.evaluation)


def _text(text: str) -> str:
    return visible(text[:MAX_TEXT])

"""Matches from replays: verified by re-simulation, and matches of Go as plain moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ludus.datasets import content
from ludus.datasets.content import ReadMatch
from ludus.datasets.errors import BadRecord
from ludus.datasets.shards import MAX_REPLAY, StoredMatch
from ludus.flow.inputs.shown import shown
from ludus.games import go, replays
from ludus.games.match import GameError, Match, ParamError
from ludus.games.records import go_match
from ludus.games.replays import ReplayDecision, ReplayInfo

GO = "go"


class ReadingRules(NamedTuple):
    """Settings of a reader of records.

    Attributes:
        game: Reference of the game; empty = as the first record names it.
        params: For records of Go, :data:`ludus.games.replays.READING_PARAMS`; for others what they must have.
        allow_partial: Whether a record is taken up to a move that cannot be played.
    """

    game: str = ""
    params: Mapping[str, str] = {}
    allow_partial: bool = False


class Told(NamedTuple):
    """Result and date of a record: all but its moves."""

    outcome: tuple[float, ...] | None
    result: str = ""
    date: int = 0


def read_replay(data: bytes, rules: ReadingRules) -> ReadMatch:
    """Return the match of a ``.ludus`` file. Raises :class:`BadRecord`."""
    if len(data) > MAX_REPLAY:
        raise BadRecord("too large", f"{len(data):,} bytes, expected at most {MAX_REPLAY:,}")
    try:
        about = replays.info(data)
    except ValueError as error:
        raise BadRecord("not readable", str(error)) from error
    if rules.game and about.format == 1 and about.game != rules.game and "/" not in rules.game:
        raise BadRecord("another game", f"a match of {shown(about.game)}, expected {shown(rules.game)}")
    try:
        check = replays.verify(data, rules.game if rules.game != about.game else "")
    except ValueError as error:
        other = "version" in str(error)
        raise BadRecord("other rules" if other else "not readable", str(error)) from error
    if not check.same:
        raise BadRecord("does not follow its rules", check.difference)
    if about.game == GO:
        return go_match_of(data, about, rules)
    if about.format != 1 and about.reproduced == "no":
        raise BadRecord("does not follow its rules", "recorded as a match that cannot be played again")
    differing = _differing(about.params, rules.params)
    if differing:
        raise BadRecord("other parameters", f"{differing}; only records of Go are given other parameters")
    outcome = tuple(map(float, about.outcome)) if about.over else None
    return made_match(data, Told(outcome), content.key_of(about))


def _differing(params: Mapping[str, str], wanted: Mapping[str, str]) -> str:
    for name, value in wanted.items():
        if params.get(name) != value:
            return f"{name} = {shown(params.get(name, 'its default'))}, expected {shown(value)}"
    return ""


def made_match(data: bytes, told: Told, key: bytes, shortened: str = "") -> ReadMatch:
    """Return a verified replay as a match of a data set. Raises :class:`BadRecord` without decisions."""
    about, made = replays.info(data), replays.decision_columns(data)
    if not made.ticks:
        raise BadRecord("no moves", "it has no decisions")
    counted = content.counted(made, len(about.players))
    stored = StoredMatch(data, counted, told.outcome, told.result, told.date, 0, 0)
    digest = content.digest_of(about, made, told.outcome, told.result, told.date)
    return ReadMatch(stored, about.params, digest, key, shortened)


def go_key(match: Match) -> bytes:
    """Return the key of a match of Go in its present position."""
    view = match.view()
    size = int(view["width"])
    cells = np.array(view["cells"], np.int8).reshape(size, size)
    return content.board_key(cells, match.tick)


def key_of_stored(replay: bytes) -> bytes:
    """Return the key of a match from its verified replay."""
    about = replays.info(replay)
    if about.game != GO:
        return content.key_of(about)
    match = Match(GO, about.params, seed=about.seed, match=about.match)
    for decision in replays.decisions(replay):
        match.play(*decision.action)
    return go_key(match)


def may_resign(params: Mapping[str, str]) -> bool:
    """Return whether to resign is a choice in a match of Go; elsewhere a resignation is a result."""
    return params.get("resignation") == "on"


def go_match_of(data: bytes, about: ReplayInfo, rules: ReadingRules) -> ReadMatch:
    """Return a match of Go whose decisions are points, also where a bot decided.

    Where ``rules`` give no choice to resign, a resigned match keeps its moves and its result.
    """
    params = go_match.without_defaults({**about.params, **rules.params})
    try:
        there = Match(GO, about.params, seed=about.seed, match=about.match)  # as it was recorded
        match = Match(GO, params, seed=about.seed, match=about.match, record=True)
        resign = int(there.view()["width"]) ** 2 + 1
        for decision in replays.decisions(data):
            made = _played(there, decision)
            if made[0] != resign or may_resign(params):
                match.play(*made)
    except (GameError, ParamError, ValueError) as error:
        raise BadRecord("other parameters", str(error)) from error
    view = there.view()
    resigned = view["resigned"] >= 0
    if match.view()["cells"] != view["cells"] or (match.over != there.over and not resigned):
        raise BadRecord("other parameters", "under them the match has another end")
    told = Told(*_outcome(there, view)) if resigned else Told(*_outcome(match, match.view()))
    replay = match.replay([content.player_name(name) for name in about.players])
    return made_match(replay, told, go_key(match))


def _played(match: Match, decision: ReplayDecision) -> tuple[int, ...]:
    """Play a recorded decision of Go; return it as the number of a point, also where a bot decided.

    A bot draws from the state of the match, so it can decide only where it has decided before.
    """
    if decision.bot < 0:
        match.play(*decision.action)
        return decision.action
    before = match.view()
    match.bot(decision.seat, match.spec.bots[decision.bot].name)
    match.advance()
    after: dict[str, Any] = match.view()
    points = int(after["width"]) ** 2
    if after["resigned"] >= 0:
        return (points + 1,)
    return (points if after["passes"] > before["passes"] else int(after["last"]),)


def _outcome(match: Match, view: Mapping[str, Any]) -> tuple[tuple[float, ...] | None, str]:
    """Return outcome and result of a match of Go by its own rules; None before its end."""
    if not match.over:
        return None, ""
    outcome = tuple(map(float, match.outcome))
    winner = "" if outcome[0] == 0 else "BW"[outcome[0] < 0]
    if view["resigned"] >= 0:
        return outcome, f"{winner}+R"
    if match.params.get("scoring") == "chinese":
        return outcome, f"{winner}+" if winner else "0"
    return outcome, go.score_text(go.margin(match))

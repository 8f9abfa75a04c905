"""Matches from the middle of a recorded one, to be played on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Annotated, NamedTuple

import msgspec

from ludus.games import replays
from ludus.games.match import GameError, Match
from ludus.games.replays import ReplayDecision
from ludus.web.from_replay import recording_of

Natural = Annotated[int, msgspec.Meta(ge=0, lt=1 << 53)]


class ReplayPoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A moment of a recorded match: the id of the replay, and the ticks that were played before."""

    replay: Annotated[str, msgspec.Meta(max_length=64)]
    tick: Natural


class MatchStart(NamedTuple):
    """A match that has been played up to a moment, and its decisions: tick after each, seat, text."""

    match: Match
    moves: tuple[tuple[int, int, str], ...]


def start_at(replay: bytes, tick: int) -> MatchStart:
    """Return the match of a replay after ``tick`` ticks, which records itself.

    Raises:
        ValueError: The replay differs from its rules, or the match is over then.
    """
    info = replays.info(replay)
    check = replays.verify(replay)
    if not check.same:
        raise ValueError(f"the replay does not follow its rules: {check.difference}")
    if tick > info.ticks:
        raise ValueError(f"tick {tick:,}: the match has {info.ticks:,} ticks")
    match = Match(info.game, info.params, seed=info.seed, match=info.match, record=True)
    try:
        play_on(match, replays.decisions(replay), tick)
    except GameError as error:
        raise ValueError(f"the replay does not follow its rules: {error}") from None
    if match.over:
        raise ValueError(f"the match is over at tick {tick:,}; choose an earlier one")
    made = recording_of(replay).decisions if match.spec.turn_based else ()
    return MatchStart(match, tuple((d.tick + 1, d.seat, d.text) for d in made if d.tick < tick))


def play_on(match: Match, decisions: Iterable[ReplayDecision], ticks: int) -> None:
    """Play the recorded decisions of the first ``ticks`` ticks. Raises ``GameError`` if the rules refuse."""
    at: defaultdict[int, list[ReplayDecision]] = defaultdict(list)
    for decision in decisions:
        at[decision.tick].append(decision)
    for now in range(ticks):
        for decision in at[now]:
            if decision.bot < 0:
                match.act(decision.seat, *decision.action)
            else:
                match.bot(decision.seat, match.spec.bots[decision.bot].name)
        match.advance()

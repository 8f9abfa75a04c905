"""One recorded match as plain data: the input of the replay page.

A ``Recording`` is made from a replay by :mod:`ludus.web.replay_page`, or by hand from any source of view
documents. A view document is the JSON that a game's ``view()`` writes at one moment (UTF-8).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from ludus.web.thoughts.thought import Opinion

MOST_OPINIONS = 2


class SeatDecision(msgspec.Struct, frozen=True):
    """Choice of one seat before the advance from ``tick``: ``"BUILD_WORKER"``, ``"b2"``, or a bot's name."""

    tick: int
    seat: int
    text: str


class ViewError(ValueError):
    """A view document cannot be drawn. The message names it and the reason."""


class Recording(msgspec.Struct, frozen=True):
    """One match, ready to be drawn.

    ``renderer`` is one of :data:`ludus.games.views.RENDERERS`; any other word shows the documents themselves.
    ``views`` are view documents in rising tick order, read once.
    ``seats`` names who played each seat. ``outcome`` is +1, 0 or -1 a seat, empty when the match did not end.
    ``teams`` is the team of each seat, empty where every seat plays for itself.
    ``facts`` are shown beside the title in their order (seed, ruleset, versions).
    ``ticks_per_s`` is what speed 1 means. ``lines``, ``coordinates`` and ``labels`` come from
    the game's :class:`ludus.games.views.View`; ``labels``  name the choices where the view has none.
    ``resumable``: whether a match of these rules can be played from any of its moments.
    ``record`` is the match in the game's own file format (SGF), ``record_suffix`` the ending of such files.
    ``start`` is the tick at which the page opens; -1: the first one.
    ``words`` are terms of the game and its bots with their meaning.
    ``thoughts`` are opinions about the decisions, at most :data:`MOST_OPINIONS`.
    """

    game: str
    title: str
    renderer: str
    seats: tuple[str, ...]
    views: Iterable[bytes | str]
    outcome: tuple[float, ...] = ()
    teams: tuple[int, ...] = ()
    truncated: bool = False
    decisions: tuple[SeatDecision, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    ticks_per_s: float = 50.0
    lines: str = "cells"
    coordinates: str = ""
    labels: tuple[str, ...] = ()
    thoughts: tuple[Opinion, ...] = ()
    resumable: bool = False
    record: str = ""
    record_suffix: str = ""
    words: Mapping[str, str] = {}
    start: int = -1

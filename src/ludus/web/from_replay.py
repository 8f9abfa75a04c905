"""A recording for the page, made from the bytes of a ``.ludus`` file by playing the match again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ludus.flow.inputs.decode import from_json
from ludus.flow.spec import GameSpec
from ludus.games import find, replays, spec
from ludus.games.guides.lookup import guide_of
from ludus.games.replays import ReplayInfo
from ludus.games.views import View, function_of, view_of
from ludus.web.moves import Document, choice_name, labels_of, move_name, names_moves
from ludus.web.recording import Recording, SeatDecision
from ludus.web.renderers import renderer_of

FRAMES = 2500  # about as many view documents a match; the page moves things smoothly between two of them
NAMED_TICKS = 20_000  # the longest match whose bots' moves are read from its documents
TICKS_PER_S = {"turns": 1.0, "ticks": 50.0}  # speed 1 where a game declares none (ELF draws a tick in 20 ms)


def recording_of(replay: bytes, every_ticks: int = 0, game: str = "") -> Recording:
    """Play ``replay`` again and view it every ``every_ticks`` (0: as often as suits its length).

    ``game``: the reference of a compiled game that is neither built in nor installed, from a person.
    Raises ``ReplayError`` (a ``ValueError``) when the bytes are no replay or do not fit the rules,
    ``ParamError`` (a ``ValueError``) when its game is not installed, ``ViewError`` or ``ExtensionError``
    (each a ``ValueError``) when its view cannot be used.
    """
    info = replays.info(replay)
    replays.load_game(info, game)
    find(info.game)  # a missing game is reported first
    declared = spec(info.game, info.params)
    every = every_ticks or max(1, -(-info.ticks // FRAMES))
    views, view = replays.frames(replay, every), view_of(info.game)
    pace = view.ticks_per_s if view is not None else 0.0
    return Recording(
        game=info.game,
        title=f"{declared.title}: {sides_of(info.players, declared)}",
        renderer=renderer_of(info.game, view, views[0]),
        seats=info.players,
        views=views,
        outcome=info.outcome if info.over else (),
        teams=declared.teams,
        truncated=not info.over,
        decisions=_decisions(replay, declared, view, info, views, every),
        facts=facts_of(info),
        ticks_per_s=pace or TICKS_PER_S["turns" if declared.turn_based else "ticks"],
        lines=view.lines if view is not None else "cells",
        coordinates=view.coordinates if view is not None else "",
        labels=labels_of(view, declared),
        resumable=True,
        record=record_text(replay, view),
        record_suffix=view.record_suffix if view is not None else "",
        words=words_of(info.game, info.params),
    )


def words_of(game: str, params: Mapping[str, str]) -> dict[str, str]:
    """Return the terms of a game and its bots with their meaning; empty for a game that has none."""
    try:
        guide = guide_of(game, params)
    except ValueError:
        return {}
    return {**guide.words, **guide.bots}


def record_text(replay: bytes, view: View | None) -> str:
    """Return a replay in its game's own file format; empty where it has none."""
    return "" if view is None or not view.record else str(function_of(view.record)(replay))


def sides_of(players: tuple[str, ...], game: GameSpec) -> str:
    """Return ``version 7 and version 7 against simple and simple``; more than two equal ones are counted."""
    teams: list[str] = []
    for seat in range(len(players)):
        if any(game.together(seat, earlier) for earlier in range(seat)):
            continue
        teams.append(" and ".join(p for s, p in enumerate(players) if s == seat or game.together(seat, s)))
    if len(teams) < 3:
        return " against ".join(teams)
    counts = {name: teams.count(name) for name in teams}
    return " against ".join(name if n == 1 else f"{n} times {name}" for name, n in counts.items())


def _decisions(
    replay: bytes, game: GameSpec, view: View | None, about: ReplayInfo, views: list[str], every: int
) -> tuple[SeatDecision, ...]:
    """Return the decisions by name. A bot's is read from the documents, where the game has turns or steps."""
    made = replays.decisions(replay)
    first: Document = from_json(views[0])
    documents: dict[int, Document] = {}
    if names_moves(view) and about.ticks <= NAMED_TICKS and any(d.bot >= 0 for d in made):
        each = views if every == 1 else replays.frames(replay, 1)
        documents = dict(_by_tick(each))
    named = []
    for d in made:
        name = ""
        if d.bot < 0:
            name = choice_name(d.action, game, view, first)
        elif view is not None and d.tick in documents and d.tick + 1 in documents:
            name = move_name(view, game, documents[d.tick], documents[d.tick + 1], d.seat)
        named.append(SeatDecision(d.tick, d.seat, name or game.bots[d.bot].name))
    return tuple(named)


def _by_tick(views: list[str]) -> Iterator[tuple[int, Document]]:
    for text in views:
        document = from_json(text)
        if isinstance(document, dict) and isinstance(tick := document.get("tick"), int):
            yield tick, document


def facts_of(info: ReplayInfo) -> tuple[tuple[str, str], ...]:
    """Return what is shown beside the title of a match."""
    facts = [("seed", str(info.seed)), ("match", str(info.match)), ("rules", f"{info.game} {info.version}")]
    return (
        *facts,
        *((name.replace("_", " "), value) for name, value in replays.short_params(info.params).items()),
    )

"""Analysts that a page may choose for a recorded match: its players, a search, weights of the folder."""

from __future__ import annotations

import msgspec

from ludus.flow.inputs.shown import visible
from ludus.games import replays
from ludus.games.replays import ReplayInfo
from ludus.games.views import view_of
from ludus.mcts.text import ROLLOUTS, SUFFIX
from ludus.storage import zoo
from ludus.storage.errors import StorageError
from ludus.web.serve.library import Library
from ludus.web.serve.matches import rules_of
from ludus.web.serve.players import MAX_NAME, MAX_THOUGHT_VISITS, PlayerError, Rules, roster, thinker_of

SEARCH = f"{ROLLOUTS}:400"
VISITS = 200  # of a search with weights
MOST_ANALYSTS = 12
MOST_VISITS = 2_000_000  # of all decisions of a match together


class AnalystLine(msgspec.Struct, frozen=True):
    """A player that gives its thoughts about a match: its name in ``?with=``, and a text for people."""

    name: str
    label: str


class AnalysedMatch(msgspec.Struct, frozen=True):
    """A recorded match, as the pages of an analysis and of a retry need it.

    Attributes:
        game: Name of the game.
        title: Its name for people.
        params: Parameters of its rules.
        players: Player of each seat.
        ticks: Ticks that were played.
        decisions: Decisions of all seats.
        turn_based: Whether one seat decides at a time.
        playable: Whether persons play this game on a page.
        record: Ending of its files in the game's own format, or empty.
        analysts: Those that can be asked, the best suited first.
    """

    game: str
    title: str
    params: dict[str, str]
    players: tuple[str, ...]
    ticks: int
    decisions: int
    turn_based: bool
    playable: bool
    record: str
    analysts: tuple[AnalystLine, ...]


def analysed_match(replay: bytes, library: Library) -> AnalysedMatch:
    """Return a match with its analysts.

    Raises:
        ValueError: The bytes are no replay, or one of a game that pages cannot play.
    """
    about = replays.info(replay)
    rules = rules_of(about.game, about.params)
    view = view_of(rules.game)
    return AnalysedMatch(
        game=rules.game,
        title=rules.spec.title,
        params=about.params,
        players=tuple(visible(name)[:MAX_NAME] for name in about.players),
        ticks=about.ticks,
        decisions=about.decisions,
        turn_based=rules.spec.turn_based,
        playable=view is None or view.input != "none",
        record=view.record_suffix if view is not None else "",
        analysts=tuple(_analysts(about, rules, library))[:MOST_ANALYSTS],
    )


def _analysts(about: ReplayInfo, rules: Rules, library: Library) -> list[AnalystLine]:
    offered = roster(rules, library)
    fitting = {line.name: line for line in offered.players if not line.reason}
    found: dict[str, AnalystLine] = {}
    for player in dict.fromkeys(about.players):
        name = _asked(player)
        weights, _, visits = name.partition(SUFFIX)
        known = SEARCH in fitting if name.startswith(ROLLOUTS + ":") else _is_served(weights, library)
        if known and (not visits or SEARCH in fitting):
            found[name] = AnalystLine(name, f"{visible(player)}, a player of this match")
    if SEARCH in fitting:
        search = AnalystLine(SEARCH, f"{SEARCH}: {fitting[SEARCH].label}")
        found = {name: one for name, one in found.items() if not _is_weaker(name)} | {
            SEARCH: found.get(SEARCH, search)
        }
    for line in fitting.values():
        if line.kind == "network":
            found.setdefault(line.name, AnalystLine(line.name, line.label))
            if SEARCH in fitting and _may_search(line.name, library):
                name = f"{line.name}{SUFFIX}:{VISITS}"
                text = f"{line.label}, with a search of {VISITS} visits"
                found.setdefault(name, AnalystLine(name, text))
    return list(found.values())


def _asked(player: str) -> str:
    """Return the name by which a player of a match is asked: a search by as many visits as a page may ask."""
    head, colon, visits = player.rpartition(":")
    if colon and visits.isdecimal() and (head == ROLLOUTS or head.endswith(SUFFIX)):
        return f"{head}:{min(int(visits[:9]), MAX_THOUGHT_VISITS)}"
    return player


def _may_search(name: str, library: Library) -> bool:
    """Return whether weights evaluate positions for a search: without a memory, and by probabilities."""
    from ludus.policies.config import decode_config  # torch may be missing
    from ludus.policies.weights import load_meta

    run, _, version = name.rpartition("@")
    try:
        path = zoo.path_of(name) if zoo.is_zoo(name) else library.weights_path(library.run(run), version)
        config = decode_config(load_meta(path).architecture)
    except (OSError, ValueError, StorageError, msgspec.MsgspecError):
        return False  # they are gone since they were listed
    return getattr(config, "memory", "none") == "none" and getattr(config, "output", "logits") == "logits"


def _is_weaker(name: str) -> bool:
    """Return whether a search with random matches has fewer visits than the usual one."""
    head, _, visits = name.rpartition(":")
    return head == ROLLOUTS and int(visits) < int(SEARCH.rpartition(":")[2])


def _is_served(name: str, library: Library) -> bool:
    """Return whether ``RUN@VERSION`` is of the served folder."""
    try:
        return ("@" in name or zoo.is_zoo(name)) and bool(thinker_of(name, library))
    except PlayerError:
        return False


def check_effort(replay: bytes, names: list[str]) -> None:
    """Refuse an analysis that takes too long. Raises :class:`PlayerError`."""
    decisions = replays.info(replay).decisions
    for name in names:
        visits = zoo.played(name)[0].rpartition(":")[2]
        most = MOST_VISITS // max(1, decisions)
        if visits.isdecimal() and int(visits[:9]) > most:
            raise PlayerError(
                f"{visible(name[:MAX_NAME])}: {decisions:,} decisions with {int(visits[:9]):,} visits each; "
                f"expected at most {most:,} visits for so long a match"
            )

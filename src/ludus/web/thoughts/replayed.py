"""Thoughts of a player about a recorded match, played again observation by observation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from ludus.flow.spec import GameSpec
from ludus.games import find, replays
from ludus.games.match import GameError, Match
from ludus.games.replays import ReplayDecision, ReplayInfo
from ludus.games.views import function_of, view_of
from ludus.web.thoughts.mind import Mind, Moment, Observed
from ludus.web.thoughts.mistakes import alternates, values_after
from ludus.web.thoughts.names import head_names
from ludus.web.thoughts.resolve import mind_of
from ludus.web.thoughts.thought import HeadNames, Opinion, ThinkError, Thought

MOST_THOUGHTS = 20_000  # of a match
_PLAYOUTS = 200  # random continuations that tell who owns the cells
_CHUNK, _CHUNK_BYTES = 512, 64 << 20  # moments that are thought over at once


#: Receives how many decisions were thought over, and of how many; the latter may grow.
ThoughtProgress = Callable[[int, int], None]
#: Names of decisions, by tick and seat.
Texts = Mapping[tuple[int, int], str]


def thoughts_of(
    replay: bytes,
    player: str,
    *,
    seed: int = 1,
    game: str = "",
    texts: Texts | None = None,
    progress: ThoughtProgress | None = None,
) -> Opinion:
    """Return the thoughts of ``player`` about the decisions of a recorded match.

    Args:
        replay: The bytes of a ``.ludus`` file.
        player: Weights by name, or a search, as :func:`ludus.web.thoughts.resolve.mind_of` reads them.
        seed: Seed of a search.
        game: Reference of a game that is neither built in nor installed, from a person.
        texts: Names of the decisions. A replay does not hold the choice of a bot: its name gives it, where
            the game has one head.
        progress: Called while a search thinks.

    Raises:
        ReplayError: The bytes are no replay, or one of other rules.
        ParamError: There is no such game, or a person has to name it.
        ThinkError: The replay differs from its rules, or the player has no thoughts.
        ConfigError: No such player, or weights of another game. (All of these are ``ValueError``.)
        StorageError: No such run, version or file.
    """
    info = replays.info(replay)
    if info.format != 1:
        from ludus.web.frames.film import thoughts_about

        return thoughts_about(replay, player, game, progress)
    replays.load_game(info, game)
    find(info.game)
    check = replays.verify(replay)
    if not check.same:
        raise ThinkError(f"the replay does not follow its rules: {check.difference}")
    match = Match(info.game, info.params, seed=info.seed, match=info.match)
    mind = mind_of(player, match.spec, match.params, seed=seed)
    return opinion(match, info, replays.decisions(replay), mind, texts or {}, progress)


def opinions_of(
    replay: bytes,
    players: Sequence[str],
    *,
    game: str = "",
    texts: Texts | None = None,
    progress: ThoughtProgress | None = None,
) -> tuple[Opinion, ...]:
    """Return the thoughts of each player, as :func:`thoughts_of`; ``progress`` counts all decisions."""
    found = []
    for number, player in enumerate(players):

        def one(done: int, total: int, before: int = number) -> None:
            if progress is not None:
                progress(before * total + done, len(players) * total)

        found.append(thoughts_of(replay, player, game=game, texts=texts, progress=one))
    return tuple(found)


def opinion(
    match: Match,
    info: ReplayInfo,
    decisions: list[ReplayDecision],
    mind: Mind,
    texts: Texts,
    progress: ThoughtProgress | None = None,
) -> Opinion:
    """Return the opinion of ``mind`` about the match of ``decisions``, which ``match`` is the start of.

    Raises:
        ThinkError: The rules refuse a decision.
    """
    mind.forget()
    names = head_names(match.spec, match.view())
    owners = _owners(match) if mind.kind == "search" else None
    thoughts: list[Thought] = []
    waiting: list[Moment] = []
    cut, held, chunk = False, 0, 1 if mind.kind == "search" else _CHUNK
    try:
        for moment in _moments(match, info, decisions, mind, _choices(match.spec, names, texts)):
            if len(thoughts) + len(waiting) == MOST_THOUGHTS:
                cut = True
                break
            waiting.append(moment)
            held += sum(a.nbytes for a in moment.obs.values()) + len(moment.state)
            if len(waiting) >= chunk or held > _CHUNK_BYTES:
                found = mind.think(waiting)
                if owners is not None:  # a search thinks while the match is at the moment
                    found = [msgspec.structs.replace(thought, ownership=owners(match)) for thought in found]
                thoughts += found
                waiting, held = [], 0
                if progress is not None:
                    progress(len(thoughts), max(len(thoughts), len(decisions)))
        thoughts += mind.think(waiting)
    except GameError as error:
        raise ThinkError(f"the replay does not follow its rules: {error}") from None
    after: Sequence[float | None] = ()
    if alternates(match.spec):
        after = values_after(thoughts, info.outcome if info.over and not cut else ())
    return Opinion(mind.name, names, mind.kind, mind.sees, mind.tree, tuple(thoughts), cut, tuple(after))


def _owners(match: Match) -> Callable[[Match], tuple[int, ...]] | None:
    """Return a function that estimates the owners of a match's cells; None if the game counts none."""
    view = view_of(match.game)
    if view is None or not view.ownership:
        return None
    expected = function_of(view.ownership)
    return lambda match: tuple(round(100 * share) for share in expected(match, _PLAYOUTS))


def _choices(spec: GameSpec, names: Sequence[HeadNames], texts: Texts) -> dict[tuple[int, int], int]:
    """Return the choices that ``texts`` name, by tick and seat; a bot's own name is none."""
    labels = names[0].labels if len(names) == 1 else ()
    numbers = {label: i for i, label in enumerate(labels) if labels.count(label) == 1}
    for bot in spec.bots:
        numbers.pop(bot.name, None)
    return {place: numbers[text] for place, text in texts.items() if text in numbers}


def _moments(
    match: Match,
    info: ReplayInfo,
    decisions: list[ReplayDecision],
    mind: Mind,
    named: Mapping[tuple[int, int], int],
) -> Iterator[Moment]:
    """Play the match again and yield the moments: the player's own decisions, and all that were recorded.

    A value that sees other seats gets the observations of their latest decisions, as its learner did.
    A seat that a bot plays shows none.
    """
    at: defaultdict[int, list[ReplayDecision]] = defaultdict(list)
    for decision in decisions:
        at[decision.tick].append(decision)
    searched, sighted = mind.kind == "search", mind.sees != "own"
    latest: dict[int, Observed] = {}
    spec = match.spec
    for tick in range(info.ticks):
        made = {d.seat: d.action for d in at[tick] if d.bot < 0}
        if sighted:
            latest.update((seat, match.observe(seat)) for seat in made)
        due = tick % mind.frame_skip == 0
        for seat in sorted(match.to_act):
            if due or seat in made:
                legal, action = match.legal(seat), made.get(seat, ())
                choice = named.get((tick, seat), -1)
                if not action and 0 <= choice < len(legal) and legal[choice]:
                    action = (choice,)
                yield Moment(
                    tick,
                    seat,
                    {} if searched else match.observe(seat),
                    legal,
                    action,
                    match.state if searched else b"",
                    {s: o for s, o in latest.items() if s != seat} if sighted else None,
                    due,
                )
        for decision in at[tick]:
            if decision.bot < 0:
                match.act(decision.seat, *decision.action)
            else:
                match.bot(decision.seat, spec.bots[decision.bot].name)
        match.advance()

"""Players of live matches by name: those that a page may choose, and the seats that they become.

A name from a page is a bot, ``mcts:N``, ``plan:TxR`` or weights of the table (``RUN@VERSION``, where RUN is
an id of :class:`ludus.web.serve.library.Library`). It is never a path and never loads code. A name from the
command line may be anything that :func:`ludus.evaluation.players.resolve_player` takes.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from ludus.evaluation.play import RANDOM, UNIFORM
from ludus.flow.inputs.shown import shown, visible
from ludus.flow.names import did_you_mean
from ludus.flow.problem import HasProblems
from ludus.flow.process.extras import install_command
from ludus.flow.spec import GameSpec
from ludus.flow.weights import WeightsMeta
from ludus.games import registry
from ludus.games.names import is_bot_file, typed
from ludus.games.searchable import searchable
from ludus.mcts.planner import PREFIX, Planner, is_plan, parse_plan
from ludus.mcts.player import SearchPlayer
from ludus.mcts.text import ROLLOUTS, SUFFIX, is_search, parse_search
from ludus.storage import zoo
from ludus.storage.errors import StorageError
from ludus.storage.references import all_of, is_reference, labelled, members_of
from ludus.web.serve.library import Library, Run
from ludus.web.serve.messages import SeatKind
from ludus.web.serve.runs import EvaluatedRate, strengths
from ludus.web.serve.seats import ActorSeat, BotSeat, Person, PlanSeat, SearchSeat, Seat, UniformSeat
from ludus.web.serve.sentences import sentence

PERSON = "person"
MAX_NAME = 300
MAX_VISITS, MAX_TREES, MAX_ROLLOUTS = 100_000, 64, 10_000  # of a search that a page names
MAX_THOUGHT_VISITS = 2_000  # of each decision of a match that a page asks thoughts of
PLAN_S = 10.0  # of one decision of a plan without a time limit
MOST_VERSIONS = 200  # of a run in a list
_SEARCH = re.compile(r"[1-9][0-9]{0,8}")
_THINKER = re.compile(
    r"mcts:(?P<playouts>[1-9][0-9]{0,8})|(?P<weights>[^+]+@[^+@]+|zoo:[a-z0-9-]+)(\+search:(?P<visits>[1-9][0-9]{0,8}))?"
)
_PLAN = re.compile(r"([1-9][0-9]{0,4})x([1-9][0-9]{0,6})(,opponent=[A-Za-z0-9_]{1,64})?")


class PlayerError(HasProblems, ValueError):
    """A name that is no player here, or one that does not fit the game."""


class PlayerLine(msgspec.Struct, frozen=True):
    """A player in a list.

    Args:
        name: Name that a match takes.
        kind: Kind of the player.
        label: Text for people.
        step: Decisions that the weights were trained on, or None.
        rate: Win rate in 0..1 against a named bot, or None.
        low: Lower end of its 95% interval.
        high: Upper end.
        reason: Why it cannot play this game, or empty.
    """

    name: str
    kind: SeatKind
    label: str
    step: int | None = None
    rate: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""


class Ladder(msgspec.Struct, frozen=True):
    """Versions of a run by strength, the weakest first; ``random`` is at the foot."""

    run: str
    name: str
    versions: tuple[PlayerLine, ...]


class Roster(msgspec.Struct, frozen=True):
    """Players that a page may choose for a game."""

    players: tuple[PlayerLine, ...]
    ladders: tuple[Ladder, ...]


class Rules(NamedTuple):
    """A game under its parameters; ``hash``: of what a policy sees of it (:attr:`GameSpec.spec_hash`)."""

    game: str
    params: Mapping[str, str]
    spec: GameSpec
    hash: str

    @property
    def skip(self) -> int:
        """Ticks between two decisions of a bot."""
        return 1 if self.spec.turn_based else self.spec.default_frame_skip


def attempt(make: Callable[[], object], name: str) -> str:
    """Return why ``make`` fails, in one sentence; empty where it does not."""
    try:
        make()
    except ImportError as error:
        return needs(error, name)
    except (ValueError, OSError, StorageError) as error:
        return sentence(error)
    return ""


def needs(error: ImportError, name: str) -> str:
    """Return the sentence about a package that a player needs and this installation lacks."""
    package = (error.name or "torch").partition(".")[0]
    return f"{name}: needs {package}, which is not installed: {install_command('train')}"


# Seats.


def seat_of(text: str, rules: Rules, seed: int, library: Library | None = None, device: str = "auto") -> Seat:
    """Return the seat of a player.

    Args:
        text: Name of the player.
        rules: The game.
        seed: Seed of its random choices.
        library: Table of the names that a page sends; None for a name from the command line.
        device: Device of its network.

    Raises:
        PlayerError: No such player, or one that does not fit, with the reason.
    """
    if len(text) > MAX_NAME and library is not None:
        raise PlayerError(f"a player's name of {len(text)} characters, expected at most {MAX_NAME}")
    if text == PERSON:
        return Person()
    try:
        return _seat(text, rules, seed, library, device)
    except ImportError as error:
        raise PlayerError(needs(error, shown(text))) from None
    except (ValueError, OSError, StorageError) as error:
        raise PlayerError(error) from None


def _seat(text: str, rules: Rules, seed: int, library: Library | None, device: str = "auto") -> Seat:
    bots = [b.name for b in rules.spec.bots]
    if text in bots:
        return BotSeat(text, rules.skip)
    if text in (RANDOM, UNIFORM):
        return UniformSeat(text, rules.skip, seed)
    if is_plan(text):
        return _plan(text, rules, seed, bounded=library is not None)
    if library is None and is_bot_file(text):
        return _actor(typed(text), "bot", rules, seed)
    if zoo.is_zoo(text):  # its files are the package's, so a page may name it
        return _of_zoo(text, rules, seed, library, device)
    if is_search(text):
        return _search(text, rules, seed, library, device)
    if library is None and is_reference(text):
        return _actor(text, "network", rules, seed, device)
    if library is not None and "@" in text:
        return _actor(_reference(text, library), "network", rules, seed, device)
    searches = [f"{ROLLOUTS}:400"] if rules.spec.turn_based else []
    known = [*bots, UNIFORM, *searches, PERSON]
    raise PlayerError(f"{shown(text)}: no such player of {rules.spec.name}{did_you_mean(text, known)}")


def _of_zoo(text: str, rules: Rules, seed: int, library: Library | None, device: str) -> Seat:
    """Return the seat of a player of the zoo, which is named as it was asked for."""
    full, greedy = zoo.played(text)
    if not is_search(full):
        return _actor(full, "network", rules, seed, device)
    seat = _search(full, rules, seed, library, device, greedy=greedy)
    seat.name = text
    return seat


def thinker_of(text: str, library: Library) -> str:
    """Return a player that a page asks for its thoughts, for :func:`ludus.web.thoughts.resolve.mind_of`.

    Raises:
        PlayerError: The name is neither weights of the table nor a search of few visits.
    """
    found = _THINKER.fullmatch(text) if len(text) <= MAX_NAME else None
    if found is None or int(found["visits"] or found["playouts"] or 1) > MAX_THOUGHT_VISITS:
        forms = f"RUN@VERSION, RUN@VERSION{SUFFIX}:N or {ROLLOUTS}:N, N up to {MAX_THOUGHT_VISITS}"
        raise PlayerError(f"{shown(text)}: expected {forms}")
    if found["playouts"]:
        return text
    try:
        how = f"{SUFFIX}:{found['visits']}" if found["visits"] else ""
        return _reference(found["weights"], library) + how
    except (OSError, StorageError, ValueError) as error:
        raise PlayerError(error) from None


def _reference(text: str, library: Library) -> str:
    if zoo.is_zoo(text):
        zoo.path_of(text)  # refuses a name that is not there
        return text
    run, _, version = text.rpartition("@")
    return library.weights(library.run(run), version)


def _actor(reference: str, kind: SeatKind, rules: Rules, seed: int, device: str = "auto") -> Seat:
    from ludus.evaluation.players import resolve_player

    player = resolve_player(reference, rules.spec, seed=seed, params=dict(rules.params), device=device)
    if player.actor is None:
        raise PlayerError(f"{reference}: not a player that decides by itself")
    skip = 1 if rules.spec.turn_based else player.frame_skip or rules.skip
    weights = _exact(reference, player.name) if kind == "network" else ""
    return ActorSeat(player.name, kind, player.actor, skip, weights, device)


def _exact(reference: str, name: str) -> str:
    """Return ``RUN@best`` as the version that it names now."""
    run, at, _ = reference.rpartition("@")
    return f"{run}@{name.rpartition('@')[2]}" if at and "@" in name else reference


def _search(
    text: str, rules: Rules, seed: int, library: Library | None, device: str, *, greedy: bool = False
) -> Seat:
    if library is not None:
        visits = text.rpartition(":")[2]
        if not _SEARCH.fullmatch(visits) or int(visits) > MAX_VISITS:
            raise PlayerError(
                f"{shown(text)}: expected {ROLLOUTS}:N or RUN@VERSION{SUFFIX}:N, N up to {MAX_VISITS}"
            )
    weights, how = parse_search(text)
    if greedy:
        how = msgspec.structs.replace(how, plies=0)
    weights = _reference(weights, library) if weights and library is not None else weights
    name = text
    game, native = searchable(rules.spec.name)
    if not weights:
        return SearchSeat(name, SearchPlayer(game, rules.params, how, seed=seed, native=native))
    from ludus.evaluation.players import evaluator_of
    from ludus.storage import name_of, resolve_weights

    evaluator, version = evaluator_of(weights, rules.spec, device, how.symmetries)
    name = name_of(resolve_weights(weights), version) + text[text.rindex(SUFFIX) :]
    return SearchSeat(name, SearchPlayer(game, rules.params, how, evaluator, seed=seed, native=native))


def _plan(text: str, rules: Rules, seed: int, *, bounded: bool) -> Seat:
    if bounded:
        found = _PLAN.fullmatch(text.removeprefix(PREFIX))
        if found is None or int(found[1]) > MAX_TREES or int(found[2]) > MAX_ROLLOUTS:
            limits = f"at most {MAX_TREES} trees and {MAX_ROLLOUTS} rollouts"
            raise PlayerError(
                f"{shown(text)}: expected {PREFIX}TREESxROLLOUTS or with ,opponent=BOT, {limits}"
            )
    config = parse_plan(text)
    config = msgspec.structs.replace(config, seconds=config.seconds or PLAN_S)
    name, native = registry.find(rules.game)
    planner = Planner(name, rules.params, config, frame_skip=rules.skip, native=native)
    return PlanSeat(text, planner, rules.skip, seed)


# Lists.


def roster(rules: Rules, library: Library) -> Roster:
    """Return the players that a page may choose, and those that do not fit, with the reason."""
    bots = [PlayerLine(b.name, "bot", b.name) for b in rules.spec.bots]
    if UNIFORM not in {b.name for b in bots}:
        bots.append(PlayerLine(UNIFORM, "bot", "uniform over the legal choices"))
    lines = [*bots, *_searches(rules)]
    ladders = []
    for run in library.runs().values():
        best, ladder = _of_run(run, rules, library)
        lines.append(best)
        if ladder is not None:
            ladders.append(ladder)
    return Roster(tuple(lines), tuple(ladders))


def _searches(rules: Rules) -> list[PlayerLine]:
    out = []
    kinds: tuple[tuple[str, SeatKind, str], ...] = (
        (f"{ROLLOUTS}:400", "search", "tree search with random matches, 400 visits"),
        (f"{PREFIX}8x100", "plan", "search of simultaneous decisions against a bot, 8 trees of 100 matches"),
    )
    for name, kind, label in kinds:
        reason = attempt(lambda name=name: _seat(name, rules, 0, None), name)  # type: ignore[misc]
        out.append(PlayerLine(name, kind, label, reason=reason))
    return out


def can_search(rules: Rules) -> bool:
    """Return whether a tree search plays this game."""
    return not attempt(lambda: _seat(f"{ROLLOUTS}:1", rules, 0, None), "")


def _of_run(run: Run, rules: Rules, library: Library) -> tuple[PlayerLine, Ladder | None]:
    best = PlayerLine(f"{run.id}@best", "network", f"{run.name}, best version")
    try:
        game = run.directory.info().game
        if game != rules.spec.name:
            raise PlayerError(f"weights of {shown(game)}, expected weights of {rules.spec.name}")
        known = strengths(run.directory)
        best = _fitting(best, run, rules, library, known)
    except ImportError as error:
        return msgspec.structs.replace(best, reason=needs(error, best.name)), None
    except (ValueError, OSError, StorageError) as error:
        return msgspec.structs.replace(best, reason=sentence(error)), None
    if best.reason:
        return best, None
    versions = []
    for reference in _versions(run):
        label = labelled(f"{run.name}@{reference}")
        line = _fitting(PlayerLine(f"{run.id}@{reference}", "network", label), run, rules, library, known)
        if not line.reason:
            versions.append(line)
    versions.sort(key=lambda line: (line.rate is not None, line.rate or 0.0, line.step or 0))
    foot = RANDOM if RANDOM in {b.name for b in rules.spec.bots} else UNIFORM
    return best, Ladder(run.id, run.name, (PlayerLine(foot, "bot", foot), *versions))


def _versions(run: Run) -> list[str]:
    """Return names of a run's weights, the newest of many."""
    names = [name for group in all_of(run.directory) for name in group]
    return [*members_of(run.directory), *names[-MOST_VERSIONS:]]


@functools.lru_cache(maxsize=1024)
def _meta(path: str, modified: int, size: int) -> WeightsMeta:
    """Return the header of a weights file; its time and size tell a new file from the one before."""
    from ludus.policies.weights import load_meta

    return load_meta(path)


def _fitting(
    line: PlayerLine, run: Run, rules: Rules, library: Library, known: Mapping[str, EvaluatedRate]
) -> PlayerLine:
    """Return the line with steps and strength of its weights, or with the reason why they do not fit."""
    from ludus.evaluation.weights import check_spec

    reference = line.name.rpartition("@")[2]
    try:
        path = library.weights_path(run, reference)
        about = path.stat()
        meta = _meta(str(path), about.st_mtime_ns, about.st_size)
        if (meta.game, meta.spec_hash) != (rules.spec.name, rules.hash):
            check_spec(meta, rules.spec, line.name)
    except (ValueError, OSError, StorageError) as error:
        return msgspec.structs.replace(line, reason=sentence(error))
    member = reference.partition(":")[0]
    member = "" if member in ("best", "last") or member.isdecimal() else member
    found = known.get(f"{member}:{meta.version}" if member else str(meta.version))
    line = msgspec.structs.replace(line, step=meta.steps)
    if found is None:
        return line
    label = f"{line.label}: {100 * found.rate:.0f}% against {visible(found.against)}"
    return msgspec.structs.replace(line, label=label, rate=found.rate, low=found.low, high=found.high)

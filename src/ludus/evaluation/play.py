"""Matches between two players, each from every seat, on a separate pool."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import msgspec

from ludus.evaluation.results import ALONE, EvalResult, summarise
from ludus.evaluation.scores import named_scores
from ludus.evaluation.settings import NO_HOOKS, MatchHooks, MatchSettings
from ludus.flow import Controller, GameSpec, MatchResult, PoolOptions, SeatPlan
from ludus.flow.inputs.shown import utf8
from ludus.flow.lineups import lineup_of, plans_of_player
from ludus.flow.names import did_you_mean, nearest
from ludus.games import replays
from ludus.games.python_game import ENOUGH_TICKS
from ludus.games.python_game import MAX_TICKS as UNBOUNDED_TICKS
from ludus.mcts import Evaluator, SearchText, parse_search
from ludus.mcts.planner import is_plan, parse_plan
from ludus.mcts.text import is_search
from ludus.pool import Pool
from ludus.pool.factory import make_pool
from ludus.presets.errors import ConfigError, EndlessMatch
from ludus.rollouts import Actor, Collector

RANDOM = "random"
UNIFORM = "uniform"  # uniform over the legal choices: the floor of a policy with a mask
PLAYERS = (
    "a player is a bot's name, random, uniform, RUN@best, RUN@last, RUN@VERSION, RUN@PLAYER, "
    "RUN@PLAYER:VERSION or a "
    "weights file, any of these weights with +search:VISITS behind it, mcts:VISITS or plan:TREESxROLLOUTS"
)
SLOTS = 128
STEPS = 16
SEARCH_STEPS = 1  # steps of a slab if a player searches: Ctrl-C takes effect after one move per match


@dataclass(slots=True)
class MatchPlayer:
    """A bot of the core (``bot``), an actor (``actor``), or a search on the pool's states (``search``)."""

    name: str
    bot: str = ""
    actor: Actor | None = None
    frame_skip: int = 0
    search: Callable[[Pool], Actor] | None = None

    def __post_init__(self) -> None:
        """Make the name valid UTF-8: it may be a path, and replays and results hold text."""
        self.name = utf8(self.name)


def scripted_player(name: str, spec: GameSpec, seed: int, frame_skip: int = 0) -> MatchPlayer:
    """Return a bot of the game; ``random`` is the game's own if it has one, or uniform play.

    The game's own ``random`` may also draw choices that do nothing. ``uniform`` draws among the legal choices
    in every game, as a network with its initial weights does.

    Args:
        name: Name of a bot, ``random``, ``uniform``, or ``alone`` in a game of one seat.
        spec: The game.
        seed: Seed of random choices.
        frame_skip: Ticks between two decisions; 0 = the game's default.

    Raises:
        ConfigError: Any other name.
    """
    bots = [b.name for b in spec.bots]
    if name == ALONE and spec.seats == 1:
        return MatchPlayer(name)
    if name in bots:
        return MatchPlayer(name, bot=name, frame_skip=frame_skip)
    if name in (RANDOM, UNIFORM):
        from ludus.policies.actions.heads import heads_of  # torch: only where the game has no such bot
        from ludus.rollouts.network_actor import RandomActor

        return MatchPlayer(name, actor=RandomActor(heads_of(spec), seed), frame_skip=frame_skip)
    hint = _search_meant(name) or did_you_mean(name, [*bots, RANDOM, UNIFORM])
    raise ConfigError(f"{name}: {spec.name} has no such bot{hint}; {PLAYERS}")


def _search_meant(name: str) -> str:
    """Return a hint for a search whose name is misspelt; empty if ``name`` resembles none."""
    weights, plus, how = name.rpartition("+")
    word, colon, rest = how.partition(":")
    if not colon:
        return ""
    near = nearest(word, ["search"] if plus else ["mcts", "plan"], 0.5)
    return f" (did you mean {weights}{plus}{near}:{rest}?)" if near else ""


def opponent(
    name: str, spec: GameSpec, params: dict[str, str], seed: int, frame_skip: int = 0
) -> MatchPlayer:
    """Return the opponent ``name``: a scripted player, a search (``mcts:400``) or a plan (``plan:8x100``)."""
    if is_search(name):
        return rollout_player(name, spec, params, seed)
    if is_plan(name):
        return plan_player(name, spec, params, seed, frame_skip)
    return scripted_player(name, spec, seed, frame_skip)


def search_player(
    name: str,
    spec: GameSpec,
    params: dict[str, str],
    text: SearchText,
    evaluator: Evaluator | str,
    seed: int,
    version: int = 0,
) -> MatchPlayer:
    """Return a player that searches on the states of the pool.

    Args:
        name: Name in results and replays.
        spec: The game.
        params: Parameters of its rules.
        text: Options of the search.
        evaluator: A network, or ``"rollout"`` for random rollouts.
        seed: Seed of the search.
        version: Version of the network's weights.

    Raises:
        ConfigError: The game cannot be searched; raised when the pool exists.
    """
    from ludus.rollouts.search_actor import SearchActor

    def actor(pool: Pool) -> Actor:
        try:
            return SearchActor(pool, params, text, evaluator, seed, version)
        except ValueError as error:
            raise ConfigError(error, where=name) from error

    return MatchPlayer(name, search=actor)


def plan_player(
    name: str, spec: GameSpec, params: dict[str, str], seed: int, frame_skip: int = 0
) -> MatchPlayer:
    """Return the player ``plan:8x100``, a search against a known bot.

    Raises:
        ConfigError: A wrong text, or a game that cannot be planned.
    """
    from ludus.pool.native import NativePool
    from ludus.rollouts.search_actor import PlannerActor

    try:
        config = parse_plan(name)
    except ValueError as error:
        raise ConfigError(error) from None

    def actor(pool: Pool) -> Actor:
        if not isinstance(pool, NativePool):
            raise ConfigError(f"{name}: {spec.name} is not a compiled game; only these can be planned")
        try:
            return PlannerActor(pool, params, config, frame_skip, seed)
        except ValueError as error:
            raise ConfigError(error, where=name) from error

    return MatchPlayer(name, search=actor, frame_skip=frame_skip)


def rollout_player(
    name: str, spec: GameSpec, params: dict[str, str], seed: int, greedy: bool = False
) -> MatchPlayer:
    """Return the player ``mcts:400``, a search with random rollouts.

    Raises:
        ConfigError: A wrong text, or a game that cannot be searched.
    """
    try:
        _, text = parse_search(name)
    except ValueError as error:
        raise ConfigError(error) from None
    if greedy:
        text = msgspec.structs.replace(text, plies=0)
    return search_player(name, spec, params, text, "rollout", seed)


def play_matches(
    spec: GameSpec,
    params: dict[str, str],
    player: MatchPlayer,
    against: MatchPlayer,
    settings: MatchSettings,
    hooks: MatchHooks = NO_HOOKS,
) -> list[MatchResult]:
    """Play matches between two players and return their results in the order of match numbers.

    Seed and seats of match m do not depend on the players. Every started match counts, so long matches are
    not left out. In games with teams ``player`` holds all seats of its team. In a game of one seat
    ``against`` does not play.

    Args:
        spec: The game.
        params: Parameters of its rules.
        player: The player of plan 0.
        against: Its opponent.
        settings: Number of results (fewer after ``hooks.should_stop``), seeds and limits.
        hooks: Functions that are called meanwhile.

    Raises:
        ConfigError: The game has no bot ``random``, or ``random_start`` with a bot of the core, which decides
            from the first tick.
        EndlessMatch: A match exceeds ``max_ticks``.
    """
    matches, random_start = settings.matches, settings.random_start
    if random_start:
        check_random_start(random_start, spec, player, against)
    start = RANDOM if random_start else ""
    sides: list[MatchPlayer] = []
    if hooks.started is not None:
        hooks.started(spec)

    def plan(side: MatchPlayer) -> SeatPlan:
        if side.actor is None and side.search is None:
            return SeatPlan((Controller(bot=side.bot),), side.frame_skip)
        policy = len(sides)
        sides.append(side)
        return SeatPlan((Controller(policy=policy, name=side.name),), side.frame_skip, start, random_start)

    first = plan(player)
    others = plan(against) if spec.seats > 1 else first
    lineup = lineup_of(spec, first, others, settings.player_seats)
    turns = math.lcm(2, len(spec.turns))
    slots = -(-min(SLOTS, matches) // turns) * turns  # match m plays turn m with any number of slots
    searches = any(side.search is not None for side in sides)
    with closing(
        make_pool(
            spec.name,
            params,
            lineup,
            PoolOptions(
                slots=slots,
                groups=2 if settings.threads else 1,
                threads=settings.threads,
                seed=settings.seed,
                num_matches=matches,
                on_error="truncate",
                timeout_s=settings.timeout_s,
                record=range(min(settings.record, matches)),
                states=searches,
            ),
        )
    ) as pool:
        progress = _Progress(spec, pool, matches, settings.max_ticks or limit_of(spec), sides, hooks)
        actors = {p: side.search(pool) if side.search else side.actor for p, side in enumerate(sides)}
        if not actors:
            return _bots_only(pool, progress)
        deciding = {p: actor for p, actor in actors.items() if actor is not None}
        collector = Collector(pool, deciding, learned=())
        slab = pool.slab(SEARCH_STEPS if searches else STEPS)
        while progress.continues():
            progress.add(collector.collect(slab).results)
    return progress.in_order()


def limit_of(spec: GameSpec) -> int:
    """Return the highest number of ticks of a match: the game's own limit, else ``ENOUGH_TICKS``."""
    return spec.max_ticks if 0 < spec.max_ticks < UNBOUNDED_TICKS else ENOUGH_TICKS


@dataclass(slots=True)
class _Progress:
    """Results of an evaluation so far, and its limits."""

    spec: GameSpec
    pool: Pool
    matches: int
    max_ticks: int
    sides: Sequence[MatchPlayer]
    hooks: MatchHooks
    results: list[MatchResult] = field(default_factory=list)
    since: int = 0  # ticks of the pool when the last match ended
    reported: int = 0  # ticks that a hook has received

    def continues(self) -> bool:
        return not self.pool.finished and not (self.hooks.should_stop and self.hooks.should_stop())

    def add(self, ended: Sequence[MatchResult]) -> None:
        """Add finished matches.

        Raises:
            EndlessMatch: The matches in play exceed the limit of ticks.
        """
        self._keep(ended)
        left = self.matches - len(self.results)
        in_play = min(left, self.pool.slots)
        # All ticks since the last end belong to matches in play, at most one per slot.
        if in_play and self.pool.stats().ticks - self.since > in_play * self.max_ticks:
            raise EndlessMatch(self.spec.name, self.max_ticks, left, self.matches)

    def _keep(self, ended: Sequence[MatchResult]) -> None:
        if ended:
            names = {f"policy:{p}": side.name for p, side in enumerate(self.sides)}
            ended = [
                msgspec.structs.replace(r, players=tuple(names.get(n, n) for n in r.players)) for r in ended
            ]
            self.results += ended
            self.since = self.pool.stats().ticks
        if self.hooks.played is not None:
            ticks = self.pool.stats().ticks
            self.hooks.played(ticks - self.reported)
            self.reported = ticks
        if self.hooks.finished is not None:
            self.hooks.finished(ended)

    def in_order(self) -> list[MatchResult]:
        return sorted((_tried(r, self.spec.name) for r in self.results), key=lambda r: r.match)


def check_random_start(ticks: int, spec: GameSpec, *sides: MatchPlayer) -> None:
    """Check a random start of ``ticks`` for these players.

    Raises:
        ConfigError: :func:`play_matches` would refuse it.
    """
    if ticks < 0:
        raise ConfigError(f"random_start = {ticks}: expected 0 ticks or more")
    if RANDOM not in (bot.name for bot in spec.bots):
        raise ConfigError(f"random_start: {spec.name} has no bot {RANDOM}")
    for side in sides:
        if side.bot:
            raise ConfigError(
                f"{side.name} plays from the first tick: a random start needs two players that are not bots"
            )


def _tried(result: MatchResult, game: str) -> MatchResult:
    """Record in the replay of a Python game whether a re-simulation gives the same match."""
    if not result.replay:
        return result
    return msgspec.structs.replace(result, replay=replays.mark_reproduced(result.replay, game))


def _bots_only(pool: Pool, progress: _Progress) -> list[MatchResult]:
    """Collect the results of bots, which play inside the core."""
    while True:
        progress.add([r for group in range(pool.groups) for r in pool.recv(group).results])
        if not progress.continues():
            return progress.in_order()
        for group in range(pool.groups):
            pool.send(group)


def play_evaluation(
    spec: GameSpec,
    params: dict[str, str],
    player: MatchPlayer,
    against: MatchPlayer,
    settings: MatchSettings,
    hooks: MatchHooks = NO_HOOKS,
) -> tuple[EvalResult, list[MatchResult]]:
    """Play matches as :func:`play_matches` and return their counts with intervals, and the results."""
    results = play_matches(spec, params, player, against, settings, hooks)
    own = plans_of_player(spec, settings.player_seats)
    summary = summarise(
        results,
        player=player.name,
        against=against.name,
        game=spec.name,
        seed=settings.seed,
        params=params,
        own_plans=own,
    )
    summary = msgspec.structs.replace(summary, named_scores=named_scores(results, spec.scores, own))
    if settings.player_seats > 1:  # from no seat in particular
        summary = msgspec.structs.replace(summary, win_rate_by_seat=())
    if len(results) < settings.matches:
        summary = msgspec.structs.replace(summary, interrupted=True)
    return summary, results

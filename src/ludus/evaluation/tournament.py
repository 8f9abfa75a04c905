"""Round-robin tournaments: the payoff table and its ratings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np

from ludus.evaluation.evaluate import ParamChanges, decide_game, evaluate
from ludus.evaluation.play import check_random_start
from ludus.evaluation.players import resolve_player
from ludus.evaluation.results import EvalResult
from ludus.evaluation.settings import NO_HOOKS, MatchHooks, MatchSettings
from ludus.flow.process.as_found import as_found
from ludus.flow.seeds import derive_seed
from ludus.games import spec as game_spec
from ludus.mcts.text import SUFFIX
from ludus.presets.config import ParamValue
from ludus.presets.errors import ConfigError
from ludus.ratings import elo, nash_average
from ludus.storage import RunDirectory
from ludus.storage.references import all_of

ALL = "@all"
PAIR = MatchSettings(matches=40)


class Standing(msgspec.Struct, frozen=True):
    """One player's ratings.

    ``elo`` has mean 0 over all players. ``nash_share`` is the player's weight in the Nash mixture, which no
    player beats; ``nash_rating`` is its Elo against that mixture. Pairs without matches count as equal there.
    """

    player: str
    points: float
    matches: int
    elo: float
    elo_error: float  # standard
    nash_share: float
    nash_rating: float


class Tournament(msgspec.Struct, frozen=True):
    """``points[i][j]``: points of i in ``matches[i][j]`` matches against j; a win is 1, a draw 1/2."""

    game: str
    standings: tuple[Standing, ...]  # in the order of the players, not of their ratings
    points: tuple[tuple[float, ...], ...]
    matches: tuple[tuple[int, ...], ...]
    seed: int
    interrupted: bool = False  # pairs that had not met by then count as equal
    #: Players that met, directly or through a third. Ratings of different groups cannot be compared.
    groups: tuple[tuple[str, ...], ...] = ()


def expand(player: str, versions: int) -> list[str]:
    """Expand ``RUN@all``, with or without ``+search``, to the kept versions of a run.

    Args:
        player: ``RUN@all``, or any other player, which is the only one returned.
        versions: At most so many versions (of each member of a league), evenly spaced, with the first and
            the last.

    Raises:
        StorageError: No such run.
    """
    weights, search, rest = player.partition(SUFFIX)
    if not weights.endswith(ALL):
        return [player]
    folder = weights.removesuffix(ALL)
    names: list[str] = []
    for kept in all_of(RunDirectory.open(Path(folder))):
        picks = np.unique(np.linspace(0, len(kept) - 1, min(len(kept), versions)).round().astype(int))
        names += [f"{folder}@{kept[int(i)]}{search}{rest}" for i in picks]
    return names


def pairings(players: Sequence[str], versions: int, neighbours: int = 0) -> int:
    """Return the number of pairs of ``players`` that meet; arguments as in :func:`tournament`."""
    count = sum(len(expand(player, versions)) for player in players)
    apart = neighbours or count
    return sum(min(apart, count - 1 - i) for i in range(count))


def _playable_game(
    players: Sequence[str],
    game: str,
    params: dict[str, ParamValue] | ParamChanges | None,
    settings: MatchSettings,
) -> tuple[str, dict[str, ParamValue]]:
    """Return the game and its parameters, which all ``players`` can play.

    Raises:
        ConfigError: A player that cannot play; no match has been played then.
    """
    game, text = decide_game(players, game, params)
    spec = game_spec(game, text)
    if spec.seats == 1:
        raise ConfigError(
            f"rate needs a game of two or more seats; {spec.name} has one: ludus eval measures each alone"
        )
    for name in players:
        player = resolve_player(name, spec, greedy=settings.greedy, params=text, device=settings.device)
        if settings.random_start:
            check_random_start(settings.random_start, spec, player)
    return game, dict(text)


@as_found()
def tournament(
    players: Sequence[str],
    settings: MatchSettings = PAIR,
    *,
    game: str = "",
    params: dict[str, ParamValue] | ParamChanges | None = None,
    versions: int = 12,
    neighbours: int = 0,
    on_result: Callable[[EvalResult], None] | None = None,
    hooks: MatchHooks = NO_HOOKS,
) -> Tournament:
    """Play every pair of ``players`` and rate the results.

    Args:
        players: See :func:`ludus.evaluation.players.resolve_player`, and :func:`expand`.
        settings: Number of matches of a pair, with alternating seats; seed, limits and the manner of play.
        game: May be empty if some player is weights; then all pairs play its game.
        params: Parameters of the game (default: from the run of the first weights), or changes of these.
        versions: See :func:`expand`.
        neighbours: Above 0, only pairs at most this far apart in the list meet (ELF OpenGo's self-play Elo:
            1).
        on_result: Receives the result of every pair.
        hooks: Functions called while matches are played. Where ``should_stop`` ends the tournament,
            the table has the finished matches.

    Raises:
        ConfigError: Fewer than two players, a player named twice, or an error of :func:`evaluate`. A wrong
            player is refused before the first match.
    """
    everyone = [name for player in players for name in expand(player, versions)]
    if len(everyone) < 2:
        raise ConfigError(f"{', '.join(everyone) or 'no players'}: expected at least two players")
    if len(set(everyone)) < len(everyone):
        twice = next(name for name in everyone if everyone.count(name) > 1)
        raise ConfigError(f"{twice}: named twice")
    count = len(everyone)
    game, params = _playable_game(everyone, game, params, settings)
    points, met = np.zeros((count, count)), np.zeros((count, count), np.int64)
    played, names, interrupted = "", list(everyone), False
    for i in range(count):
        for j in range(i + 1, count):
            if 0 < neighbours < j - i:
                continue
            if interrupted or (hooks.should_stop and hooks.should_stop()):
                interrupted = True
                continue
            pair = msgspec.structs.replace(settings, seed=derive_seed(settings.seed, i, j))
            result = evaluate(everyone[i], everyone[j], pair, game=game, params=params, hooks=hooks)
            interrupted = result.interrupted
            names[i], names[j] = result.player, result.against
            if result.errors:
                raise ConfigError(
                    f"{everyone[i]} against {everyone[j]}: {result.errors} matches failed; the first: "
                    f"{result.first_error}"
                )
            played = result.game
            wins, draws, _ = result.counts
            points[i, j] = wins + 0.5 * draws
            points[j, i] = result.matches - points[i, j]
            met[i, j] = met[j, i] = result.matches
            if on_result is not None:
                on_result(result)
    if len(set(names)) < count:  # runs in several folders have one name
        names = list(everyone)
    ratings, nash = elo(points, met), nash_average(points, met)
    standings = tuple(
        Standing(
            player=name,
            points=float(points[i].sum()),
            matches=int(met[i].sum()),
            elo=float(ratings.rating[i]),
            elo_error=float(ratings.error[i]),
            nash_share=float(nash.share[i]),
            nash_rating=float(nash.rating[i]),
        )
        for i, name in enumerate(names)
    )
    return Tournament(
        played,
        standings,
        tuple(tuple(float(x) for x in row) for row in points),
        tuple(tuple(int(x) for x in row) for row in met),
        settings.seed,
        interrupted,
        tuple(tuple(names[i] for i in group) for group in ratings.groups),
    )

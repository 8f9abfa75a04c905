"""Evaluation of one player against another over whole matches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from ludus.evaluation.play import MatchPlayer, play_evaluation
from ludus.evaluation.players import game_of_player, resolve_player
from ludus.evaluation.results import ALONE, EvalResult
from ludus.evaluation.settings import DEFAULT, NO_HOOKS, MatchHooks, MatchSettings
from ludus.flow import GameSpec, MatchResult
from ludus.flow.inputs.shown import shown
from ludus.flow.problem import Argument
from ludus.flow.process.as_found import as_found, one_thread
from ludus.flow.seeds import derive_seed
from ludus.games import list_games
from ludus.games import spec as game_spec
from ludus.games.hosted import is_hosted
from ludus.games.names import may_load
from ludus.presets.checks.game import params_text
from ludus.presets.config import ParamValue
from ludus.presets.errors import ConfigError


class ParamChanges(msgspec.Struct, frozen=True):
    """Parameters of a game that replace those that the weights were trained under; the others stay."""

    values: dict[str, ParamValue]


@as_found()
def evaluate(
    player: str,
    against: str = "",
    settings: MatchSettings = DEFAULT,
    *,
    game: str = "",
    params: dict[str, ParamValue] | ParamChanges | None = None,
    keep: Callable[[MatchResult], None] | None = None,
    hooks: MatchHooks = NO_HOOKS,
) -> EvalResult:
    """Play ``player`` against ``against`` over whole matches with alternating seats.

    Args:
        player: See :func:`ludus.evaluation.players.resolve_player`.
        against: The opponent; empty in a game of one seat, where the player's return is measured.
        settings: Number of matches, seed, limits and the manner of play.
        game: May be empty if one player is weights of a built-in or installed game.
        params: Parameters of the game (default: from the run of the weights), or changes of these.
        keep: Receives every match at the end.
        hooks: Functions called while matches are played. Where ``should_stop`` ends them, the result
            counts the finished matches, and its ``interrupted`` is true.

    Raises:
        ConfigError: Unknown players or games, or players that do not fit the game.
        StorageError: No such run, version or file.
    """
    if settings.matches < 1:
        raise ConfigError(f"matches = {settings.matches}: expected at least 1")
    game, text_params = decide_game([p for p in (player, against) if p], game, params)
    spec = game_spec(game, text_params)
    first = _resolve(player, 0, spec, text_params, settings)
    if spec.seats == 1:
        if against not in ("", ALONE):
            raise ConfigError(f"against {against}: {spec.name} has one seat, expected no opponent")
        against = ALONE
    elif not against:
        raise ConfigError(
            f"{player}: expected an opponent (", Argument("against"), f"); {spec.name} has {spec.seats} seats"
        )
    check_player_seats(settings.player_seats, spec)
    second = _resolve(against, 1, spec, text_params, settings)
    one_thread()  # parallel work is the pool's
    result, played = play_evaluation(spec, text_params, first, second, settings, hooks)
    if keep is not None:
        for match in played:
            keep(match)
    return result


def _resolve(
    name: str, side: int, spec: GameSpec, params: dict[str, str], settings: MatchSettings
) -> MatchPlayer:
    """Return the player of side 0 (the evaluated one) or 1 (its opponent)."""
    own = settings.against_frame_skip if side else 0
    return resolve_player(
        name,
        spec,
        seed=derive_seed(settings.seed, side),
        frame_skip=own or settings.frame_skip,
        greedy=settings.greedy,
        params=params,
        device=settings.device,
    )


def check_player_seats(seats: int, spec: GameSpec) -> None:
    """Check that a player can have ``seats`` seats of a match; 0 = as the game has it.

    Raises:
        ConfigError: More seats than leave one for the opponent, or a game with teams.
    """
    named = Argument("player_seats", str(seats))
    if seats and spec.teams:
        raise ConfigError(named, f": {spec.name} has teams; a player has all seats of its team")
    if seats and spec.seats == 1:
        raise ConfigError(named, f": {spec.name} has one seat")
    if seats and not 1 <= seats < spec.seats:
        most = f"1 to {spec.seats - 1}" if spec.seats > 2 else "1"
        raise ConfigError(named, f": expected {most}; {spec.name} has {spec.seats} seats")


def decide_game(
    players: Sequence[str], game: str = "", params: dict[str, ParamValue] | ParamChanges | None = None
) -> tuple[str, dict[str, str]]:
    """Return the game of ``players`` and its parameters as text: the named ones, or the first weights'.

    ``params`` that are changes keep the first weights' other parameters.

    Raises:
        ConfigError: No player determines the game, or weights of another one.
        StorageError: No such run, version or file.
    """
    changes = params_text(params.values) if isinstance(params, ParamChanges) else {}
    named, text = game, changes if isinstance(params, ParamChanges) else params_text(params or {})
    first = ""
    for player in players:
        trained_on = game_of_player(player)
        if trained_on is None:
            continue
        if not first and (params is None or isinstance(params, ParamChanges)):
            text = {**trained_on[1], **changes}
        if not game:
            game = _installed_game(player, trained_on[0])
        elif game_spec(game, text).name != trained_on[0]:
            asked = f"the game asked for is {game}" if named else f"the weights of {first} are of {game}"
            raise ConfigError(f"{player}: weights of {shown(trained_on[0])}; {asked}")
        first = first or player
    if not game:
        who = " against ".join(players)
        raise ConfigError(f"{who}: bots do not determine the game, name one (", Argument("game"), ")")
    return game, text


def _installed_game(player: str, name: str) -> str:
    """``name``, which comes from weights. Raises ``ConfigError`` if the user must name the game's code."""
    if may_load(name) and (name in list_games() or is_hosted(name)):
        return name
    raise ConfigError(
        f"{player}: weights of {shown(name)}, which is neither a built-in nor an installed game; if you "
        "trust its code, name it yourself: ",
        Argument("game", "./my_game.py"),
        " (or MODULE:NAME, or the path of a compiled game)",
    )

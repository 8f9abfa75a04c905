"""Evaluation of one player against another over whole matches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ludus.evaluation.play import (
    play_evaluation,
)
from ludus.evaluation.players import game_of_player, resolve_player
from ludus.evaluation.results import ALONE, EvalResult
from ludus.flow import MatchResult
from ludus.flow.seeds import derive_seed
from ludus.flow.shown import shown
from ludus.games import list_games
from ludus.games import spec as game_spec
from ludus.games.hosted import is_hosted
from ludus.games.names import may_load
from ludus.presets.config import ParamValue
from ludus.presets.errors import ConfigError
from ludus.presets.game_checks import params_text

if TYPE_CHECKING:
    pass


def evaluate(
    player: str,
    against: str = "",
    *,
    game: str = "",
    params: dict[str, ParamValue] | None = None,
    matches: int = 400,
    seed: int = 1,
    frame_skip: int = 0,
    against_frame_skip: int = 0,
    greedy: bool = False,
    threads: int = 0,
    record: int = 0,
    random_start: int = 0,
    max_ticks: int = 0,
    keep: Callable[[MatchResult], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    finished: Callable[[Sequence[MatchResult]], None] | None = None,
) -> EvalResult:
    """Plays ``player`` against ``against`` over whole matches with alternating seats.

    Args:
        player: See :func:`ludus.evaluation.players.resolve_player`.
        against: The opponent; empty in a game of one seat, where the player's return is measured.
        game: May be empty if one player is weights of a built-in or installed game.
        params: Parameters of the game (default: those of the run of the weights).
        matches: Number of matches.
        seed: Seed of matches and decisions.
        frame_skip: Ticks between two decisions of ``player``; 0 = the player's own, or the game's default.
        against_frame_skip: The same for ``against``; 0 = ``frame_skip``.
        greedy: Players with a network take their most probable choice, searches the most visited move.
        threads: Worker threads of the pool.
        record: The first so many matches have a replay.
        random_start: See :func:`ludus.evaluation.play.play_matches`, as for ``max_ticks`` and ``finished``.
        keep: Receives every match at the end.
        should_stop: Ends the evaluation early; the result then counts the finished matches, and its
            ``interrupted`` is true.

    Raises:
        ConfigError: Unknown players or games, or players that do not fit the game.
        StorageError: No such run, version or file.
    """
    if matches < 1:
        raise ConfigError(f"matches = {matches}: expected at least 1")
    game, text_params = decide_game([p for p in (player, against) if p], game, params)
    spec = game_spec(game, text_params)
    first = resolve_player(
        player, spec, seed=derive_seed(seed, 0), frame_skip=frame_skip, greedy=greedy, params=text_params
    )
    if spec.seats == 1:
        if against not in ("", ALONE):
            raise ConfigError(f"against {against}: {spec.name} has one seat, expected no opponent")
        against = ALONE
    elif not against:
        raise ConfigError(f"{player}: expected an opponent (--against); {spec.name} has {spec.seats} seats")
    second = resolve_player(
        against,
        spec,
        seed=derive_seed(seed, 1),
        frame_skip=against_frame_skip or frame_skip,
        greedy=greedy,
        params=text_params,
    )
    if "torch" in sys.modules:  # some player has a network; parallel work is the pool's
        import torch

        torch.set_num_threads(1)
    result, played = play_evaluation(
        spec,
        text_params,
        first,
        second,
        matches=matches,
        seed=seed,
        threads=threads,
        record=record,
        random_start=random_start,
        max_ticks=max_ticks,
        should_stop=should_stop,
        finished=finished,
    )
    if keep is not None:
        for match in played:
            keep(match)
    return result


def decide_game(
    players: Sequence[str], game: str = "", params: dict[str, ParamValue] | None = None
) -> tuple[str, dict[str, str]]:
    """The game that ``players`` play and its parameters as text: those named, else of the first weights.

    Raises:
        ConfigError: No player determines the game, or weights of another one.
        StorageError: No such run, version or file.
    """
    named, text = game, params_text(params or {})
    first = ""
    for player in players:
        trained_on = game_of_player(player)
        if trained_on is None:
            continue
        if not first and params is None:
            text = trained_on[1]
        if not game:
            game = _installed_game(player, trained_on[0])
        elif game_spec(game, text).name != trained_on[0]:
            asked = f"the game asked for is {game}" if named else f"those of {first} are of {game}"
            raise ConfigError(f"{player}: weights of {shown(trained_on[0])}; {asked}")
        first = first or player
    if not game:
        raise ConfigError(f"{' against '.join(players)}: bots do not determine the game, name one (--game)")
    return game, text


def _installed_game(player: str, name: str) -> str:
    """``name``, which comes from weights. Raises ``ConfigError`` if the user must name the game's code."""
    if may_load(name) and (name in list_games() or is_hosted(name)):
        return name
    raise ConfigError(
        f"{player}: weights of {shown(name)}, which is neither a built-in nor an installed game; if you "
        "trust its code, name it yourself: --game ./my_game.py (or MODULE:NAME, or the path of a compiled "
        "game)"
    )

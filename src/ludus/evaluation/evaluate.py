"""One player against another over whole matches."""

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
from ludus.games import list_games
from ludus.games import spec as game_spec
from ludus.games.hosted import is_hosted
from ludus.games.names import may_load, shown
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
    """``player`` against ``against`` over ``matches`` whole matches, seats in turn; :func:`resolve_player`.

    In a game of one seat ``against`` stays empty: the player's return is what counts.
    ``game`` may stay empty where one of the two names weights of a built-in or installed game; its parameters
    are then the run's unless ``params`` says otherwise. Frame skips of 0 are the player's own, or the game's
    default. The first ``record`` matches have a replay; ``keep`` is given every match. ``random_start``,
    ``max_ticks``, ``finished``: see :func:`ludus.evaluation.play.play_matches`. After ``should_stop`` the
    result counts the matches that were over by then and says ``interrupted``.
    """
    if matches < 1:
        raise ConfigError(f"matches = {matches}: expected at least 1")
    text_params = params_text(params or {})
    trained_on = game_of_player(player) or (game_of_player(against) if against else None)
    if trained_on is not None:
        if params is None:
            text_params = trained_on[1]
        if not game:
            game = _installed_game(player, trained_on[0])
        elif game_spec(game, text_params).name != trained_on[0]:
            raise ConfigError(
                f"{player} against {against}: weights of {shown(trained_on[0])}, the game asked for is {game}"
            )
    if not game:
        raise ConfigError(f"{player} against {against}: say which game (two bots do not tell)")
    spec = game_spec(game, text_params)
    first = resolve_player(
        player, spec, seed=derive_seed(seed, 0), frame_skip=frame_skip, greedy=greedy, params=text_params
    )
    if spec.seats == 1:
        if against not in ("", ALONE):
            raise ConfigError(f"against {against}: {spec.name} has one seat, nobody plays against it")
        against = ALONE
    elif not against:
        raise ConfigError(f"{player}: say against whom; {spec.name} has {spec.seats} seats")
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


def _installed_game(player: str, name: str) -> str:
    """``name``, which weights gave. Raises ``ConfigError`` where a person has to name the game's code."""
    if may_load(name) and (name in list_games() or is_hosted(name)):
        return name
    raise ConfigError(
        f"{player}: weights of {shown(name)}, which is neither a built-in nor an installed game; if you "
        "trust its code, name it yourself: --game ./my_game.py (or MODULE:NAME, or the path of a compiled "
        "game)"
    )

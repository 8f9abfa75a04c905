"""Who plays, and matches between two players: what front ends call to evaluate.

torch is loaded only for players that have a network: bots and searches with random matches play without it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from ludus.flow import GameSpec, MatchResult
from ludus.games import list_games
from ludus.games import spec as game_spec
from ludus.games.hosted import is_hosted
from ludus.games.names import may_load, shown
from ludus.rollouts.scripted import ScriptedActor, is_bot_file, load_bot
from ludus.search.planner import is_plan
from ludus.search.text import SUFFIX, Seen, is_search, parse_search
from ludus.storage import RunDirectory, is_reference, name_of, refuse_run, resolve_weights
from ludus.train.config import ParamValue, RunConfig
from ludus.train.errors import ConfigError
from ludus.train.evaluation import ALONE, EvalResult
from ludus.train.evaluator import (
    Player,
    plan_player,
    play_evaluation,
    rollout_player,
    scripted_player,
    search_player,
)
from ludus.train.preset_file import parse_preset
from ludus.train.preset_game import params_text
from ludus.train.seeds import derive_seed

if TYPE_CHECKING:
    from ludus.search.network import NetworkEvaluator


def resolve_player(
    text: str,
    spec: GameSpec,
    *,
    seed: int = 0,
    frame_skip: int = 0,
    greedy: bool = False,
    params: dict[str, str] | None = None,
) -> Player:
    """Who ``text`` is: a bot's name, ``random``, ``RUN@best|last|VERSION``, a weights file, a bot in
    Python (``my_bot.py``, ``my_bot.py:CLASS``), whose code is run, or a search (``mcts:400``,
    ``RUN@best+search:400``; see :mod:`ludus.search.player`), which needs the game's ``params``.

    Weights play at the frame skip that they were trained with unless ``frame_skip`` says otherwise.
    Raises ``ConfigError``, ``StorageError`` or ``BotError``.
    """
    if is_bot_file(text):
        return Player(text, actor=ScriptedActor(load_bot(text), spec), frame_skip=frame_skip)
    if is_search(text):
        return _searched(text, spec, params or {}, seed, greedy)
    if is_plan(text):
        return plan_player(text, spec, params or {}, seed, frame_skip)
    if text in {b.name for b in spec.bots} or text == ALONE or not is_reference(text):
        return scripted_player(text, spec, seed, frame_skip)
    from ludus.policies.weights import WeightsError, load_weights
    from ludus.rollouts.network_actor import NetworkActor
    from ludus.train.wiring import network_of

    path = resolve_weights(text)
    try:
        weights = load_weights(path)
        network = network_of(weights, spec, text)
    except WeightsError as error:
        raise ConfigError(str(error)) from error
    skip = frame_skip or weights.meta.frame_skip
    version = weights.meta.version
    actor = NetworkActor(network, seed, version, greedy)
    return Player(name_of(path, version), actor=actor, frame_skip=skip)


def _searched(text: str, spec: GameSpec, params: dict[str, str], seed: int, greedy: bool) -> Player:
    if SUFFIX not in text:
        return rollout_player(text, spec, params, seed, greedy)
    try:
        weights, how = parse_search(text)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if greedy:
        how = msgspec.structs.replace(how, plies=0)
    evaluator, version = evaluator_of(weights, spec, symmetries=how.symmetries)
    name = name_of(resolve_weights(weights), version) + text.removeprefix(weights)
    return search_player(name, spec, params, how, evaluator, seed, version)


def evaluator_of(
    reference: str, spec: GameSpec, device: str = "cpu", symmetries: Seen = "one"
) -> tuple[NetworkEvaluator, int]:
    """Weights by name, ready to answer a search, and their version. Raises ``ConfigError`` or
    ``StorageError``. ``symmetries``: as in :class:`ludus.search.text.SearchText`.
    """
    from ludus.policies.weights import WeightsError, load_weights
    from ludus.search.network import NetworkEvaluator
    from ludus.train.hardware import precision_name
    from ludus.train.wiring import network_of

    try:
        weights = load_weights(resolve_weights(reference))
        network = network_of(weights, spec, reference, device)
        precision = precision_name(RunConfig(), device)
        return NetworkEvaluator(network, precision, symmetries=symmetries), weights.meta.version
    except (WeightsError, ValueError) as error:
        raise ConfigError(f"{reference}: {error}") from error


def game_of_player(text: str) -> tuple[str, dict[str, str]] | None:
    """The game, and the parameters of its rules, that weights were trained on; None for a bot's name.

    Both are what files say: the name loads built-in and installed games only.
    """
    if is_search(text):
        text = text.rpartition(SUFFIX)[0]
    refuse_run(text)
    if not text or is_bot_file(text) or not is_reference(text):
        return None
    from ludus.policies.weights import WeightsError, load_weights

    path = resolve_weights(text)
    try:
        game = load_weights(path).meta.game
    except WeightsError as error:
        raise ConfigError(str(error)) from error
    run = path.parent.parent.parent
    config = run / "config.toml"
    if not config.is_file():
        return game, {}
    preset = parse_preset(RunDirectory(run).config_bytes(), str(config)).preset
    return game, params_text(preset.game.params)


def _installed_game(player: str, name: str) -> str:
    """``name``, which weights gave. Raises ``ConfigError`` where a person has to name the game's code."""
    if may_load(name) and (name in list_games() or is_hosted(name)):
        return name
    raise ConfigError(
        f"{player}: weights of {shown(name)}, which is neither a built-in nor an installed game; if you "
        "trust its code, name it yourself: --game ./my_game.py (or MODULE:NAME, or the path of a compiled "
        "game)"
    )


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
    ``max_ticks``, ``finished``: see :func:`ludus.train.evaluator.play_matches`. After ``should_stop`` the
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

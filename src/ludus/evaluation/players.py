"""Players by name: bots, weights, searches.

Only players with a network load torch.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from ludus.evaluation.play import (
    MatchPlayer,
    opponent,
    plan_player,
    rollout_player,
    scripted_player,
    search_player,
)
from ludus.evaluation.results import ALONE
from ludus.flow import GameSpec
from ludus.games.names import is_bot_file
from ludus.mcts.planner import is_plan
from ludus.mcts.text import SUFFIX, Seen, is_search, parse_search
from ludus.presets.checks.game import params_text
from ludus.presets.config import RunConfig
from ludus.presets.errors import ConfigError
from ludus.presets.stored_game import parse_game
from ludus.rollouts.scripted import ScriptedActor, load_bot
from ludus.storage import RunDirectory, is_reference, name_of, refuse_run, resolve_weights, zoo

if TYPE_CHECKING:
    from ludus.mcts.network import NetworkEvaluator


def resolve_player(
    text: str,
    spec: GameSpec,
    *,
    seed: int = 0,
    frame_skip: int = 0,
    greedy: bool = False,
    params: dict[str, str] | None = None,
    device: str = "auto",
) -> MatchPlayer:
    """Return the player that ``text`` names.

    Args:
        text: A bot's name, ``random``, ``uniform``, ``RUN@best|last|VERSION``, ``RUN@PLAYER``,
            ``RUN@PLAYER:VERSION``, a weights file, ``zoo:NAME`` (which plays as its card describes), a bot in
            Python (``bot.py``, ``bot.py:CLASS``), which runs only if the user named it
            (:mod:`ludus.games.names`), or a search (``mcts:400``, ``RUN@best+search:400``; see
            :mod:`ludus.mcts.player`).
        spec: The game.
        seed: Seed of the player's random choices.
        frame_skip: Ticks between two decisions; 0 = as in training, or the game's default.
        greedy: The most probable choice, or the most visited move of a search.
        params: Parameters of the game, for a search.
        device: Device of a network: ``auto``, ``cpu`` or ``cuda``. Other players need none.

    Raises:
        ConfigError: No such player or device, or weights of another game.
        StorageError: No such run, version or file.
        BotError: The Python file has no usable bot.
    """
    check_device(device)
    named, (text, by_card) = text, zoo.played(text)
    greedy = greedy or by_card
    if is_bot_file(text):
        return MatchPlayer(text, actor=ScriptedActor(load_bot(text), spec), frame_skip=frame_skip)
    if is_search(text):
        player = _searched(text, spec, params or {}, seed, greedy, device)
        return player if named == text else replace(player, name=named)
    if is_plan(text):
        return plan_player(text, spec, params or {}, seed, frame_skip)
    if text in {b.name for b in spec.bots} or text == ALONE or not is_reference(text):
        return scripted_player(text, spec, seed, frame_skip)
    from ludus.evaluation.weights import load_network
    from ludus.rollouts.network_actor import NetworkActor

    network, meta, path, _ = load_network(text, spec, device)
    actor = NetworkActor(network, seed, meta.version, greedy)
    return MatchPlayer(name_of(path, meta.version), actor=actor, frame_skip=frame_skip or meta.frame_skip)


def measured_opponent(
    name: str, spec: GameSpec, params: dict[str, str], seed: int, frame_skip: int = 0
) -> MatchPlayer:
    """Return an opponent of a run's evaluations: of the zoo, or as :func:`ludus.evaluation.play.opponent`.

    ``frame_skip`` does not change how often a player of the zoo decides: as in its training.
    """
    if zoo.is_zoo(name):
        return resolve_player(name, spec, seed=seed, params=params)
    return opponent(name, spec, params, seed, frame_skip)


def check_device(device: str) -> None:
    """Raise ``ConfigError`` for a missing device, even if no network needs it."""
    if device not in ("auto", "cpu"):  # these need no torch
        from ludus.presets import hardware

        hardware.device_of(device)


def _searched(
    text: str, spec: GameSpec, params: dict[str, str], seed: int, greedy: bool, device: str
) -> MatchPlayer:
    if SUFFIX not in text:
        return rollout_player(text, spec, params, seed, greedy)
    try:
        weights, how = parse_search(text)
    except ValueError as error:
        raise ConfigError(error) from None
    if greedy:
        how = msgspec.structs.replace(how, plies=0)
    evaluator, version = evaluator_of(weights, spec, device, how.symmetries)
    name = name_of(resolve_weights(weights), version) + text.removeprefix(weights)
    return search_player(name, spec, params, how, evaluator, seed, version)


def evaluator_of(
    reference: str, spec: GameSpec, device: str = "auto", symmetries: Seen = "one"
) -> tuple[NetworkEvaluator, int]:
    """Return the network evaluator of weights by name, for a search, and the version of the weights.

    Args:
        reference: ``RUN@best`` and the like, or a weights file.
        spec: The game.
        device: ``auto``, ``cpu`` or ``cuda``.
        symmetries: As in :class:`ludus.mcts.text.SearchText`.

    Raises:
        ConfigError: Weights of another game, or ones that a search cannot use; no such device.
        StorageError: No such run, version or file.
    """
    from ludus.evaluation.weights import load_network
    from ludus.mcts.network import NetworkEvaluator
    from ludus.presets.hardware import precision_name

    network, meta, _, where = load_network(reference, spec, device)
    precision = precision_name(RunConfig(), where)
    try:
        return NetworkEvaluator(network, precision, symmetries=symmetries), meta.version
    except ValueError as error:
        raise ConfigError(error, where=reference) from error


def game_of_player(text: str) -> tuple[str, dict[str, str]] | None:
    """Return the game and parameters that weights were trained on; None for a bot's name.

    Both come from files, so the name loads built-in and installed games only.
    """
    if is_search(text):
        text = text.rpartition(SUFFIX)[0]
    refuse_run(text)
    if not text or is_bot_file(text) or not is_reference(text):
        return None
    from ludus.policies.weights import WeightsError, load_meta

    path = resolve_weights(text)
    try:
        meta = load_meta(path)
    except WeightsError as error:
        raise ConfigError(error) from error
    if meta.provenance is not msgspec.UNSET:
        return meta.game, dict(meta.provenance.params)
    run = path.parent.parent.parent
    config = run / "config.toml"
    if not config.is_file():
        return meta.game, {}
    return meta.game, params_text(parse_game(RunDirectory(run).config_bytes(), str(config)).params)

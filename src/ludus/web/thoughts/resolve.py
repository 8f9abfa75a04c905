"""Players that say what they think, by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ludus.evaluation.players import evaluator_of
from ludus.flow.inputs.decode import TextError, TomlError, from_toml, text_of
from ludus.flow.inputs.shown import shown
from ludus.flow.spec import GameSpec
from ludus.games.names import is_bot_file
from ludus.games.searchable import searchable
from ludus.mcts.evaluator import Evaluator
from ludus.mcts.planner import is_plan
from ludus.mcts.player import SearchPlayer
from ludus.mcts.text import SUFFIX, SearchText, is_search, parse_search
from ludus.storage import is_reference, name_of, refuse_run, resolve_weights, zoo
from ludus.storage.references import run_of
from ludus.web.thoughts.mind import Mind
from ludus.web.thoughts.searched import SearchMind
from ludus.web.thoughts.thought import ThinkError, Tree

_EXPECTED = "expected weights (RUN@best, a file, zoo:NAME) or a search (RUN@best+search:400, mcts:400)"


def mind_of(
    text: str,
    spec: GameSpec,
    params: Mapping[str, str],
    *,
    seed: int = 1,
    tree: Tree = "fresh",
    device: str = "auto",
) -> Mind:
    """Return the player ``text`` as one that gives its thoughts.

    Args:
        text: Weights or a search, as :func:`ludus.evaluation.players.resolve_player` reads them.
        spec: The game.
        params: Parameters of its rules.
        seed: Seed of a search.
        tree: Tree of a search: ``fresh`` or ``kept``.
        device: Device of a network.

    Raises:
        ThinkError: A bot, which has no thoughts, or a game that cannot be searched.
        ConfigError: Weights of another game.
        StorageError: No such run, version or file.
    """
    named, (text, _) = text, zoo.played(text)
    if is_search(text):
        return _searched((text, named), spec, params, seed, tree, device)
    if is_plan(text):
        raise ThinkError(f"{shown(text)}: a plan keeps no opinion of a position; {_EXPECTED}")
    refuse_run(text)
    if is_bot_file(text) or not is_reference(text):
        raise ThinkError(f"{shown(text)}: a bot, not a player that gives its thoughts; {_EXPECTED}")
    from ludus.evaluation.weights import load_network  # torch: only for networks
    from ludus.web.thoughts.network import NetworkMind

    network, meta, path, _ = load_network(text, spec, device)
    skip = 1 if spec.turn_based else meta.frame_skip or max(1, spec.default_frame_skip)
    return NetworkMind(network, name_of(path, meta.version), skip, value_weights_of(path))


class NamedSearch(NamedTuple):
    """A search by name: its name for people, its settings, and what evaluates its leaves."""

    name: str
    how: SearchText
    evaluator: Evaluator | str


def search_of(text: str, named: str, spec: GameSpec, device: str = "auto") -> NamedSearch:
    """Return a search with its weights loaded.

    Args:
        text: The search, as :func:`ludus.mcts.text.parse_search` reads it.
        named: How a person named it.
        spec: The game.
        device: Device of a network.

    Raises:
        ThinkError: A mistake in the text.
        ConfigError: Weights of another game.
        StorageError: No such run, version or file.
    """
    try:
        weights, how = parse_search(text)
    except ValueError as error:
        raise ThinkError(str(error)) from None
    if SUFFIX not in text:
        return NamedSearch(text, how, "rollout")
    evaluator, version = evaluator_of(weights, spec, device, how.symmetries)
    name = name_of(resolve_weights(weights), version) + named.removeprefix(weights)
    return NamedSearch(name, how, evaluator)


def _searched(
    texts: tuple[str, str], spec: GameSpec, params: Mapping[str, str], seed: int, tree: Tree, device: str
) -> SearchMind:
    """Return the search ``texts[0]``, which was named ``texts[1]``."""
    text, named = texts
    name, how, evaluator = search_of(text, named, spec, device)
    try:
        game, native = searchable(spec.name)

        def make() -> SearchPlayer:
            return SearchPlayer(game, params, how, evaluator, slots=spec.seats, seed=seed, native=native)

        key = (name, game, tuple(sorted(params.items())), seed)
        return SearchMind(make, name, priors=evaluator != "rollout", tree=tree, key=key)
    except ValueError as error:
        raise ThinkError(f"{text}: {error}") from None


def value_weights_of(path: Path) -> tuple[float, ...]:
    """Return ``algorithm.value_weights`` of the run that a weights file lies in; empty without any."""
    run = run_of(path)
    if run is None or not run.config.is_file():
        return ()
    try:
        table = from_toml(text_of(run.config_bytes())).get("algorithm")
    except (TextError, TomlError) as error:
        raise ThinkError(f"{run.config}: {error}") from None
    given = table.get("value_weights", ()) if isinstance(table, dict) else ()
    if not isinstance(given, list | tuple) or not all(isinstance(w, int | float) for w in given):
        raise ThinkError(f"{run.config}: algorithm.value_weights is {shown(str(given))}, expected numbers")
    return tuple(float(w) for w in given)

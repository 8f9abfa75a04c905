"""Subjects of analyses: kept versions of a run, with version 0 as a floor."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from ludus.evaluation.evaluate import decide_game
from ludus.flow.inputs.shown import shown
from ludus.flow.seeds import SEED_NETWORK, derive_seed
from ludus.flow.spec import GameSpec
from ludus.flow.weights import Weights
from ludus.games import spec as game_spec
from ludus.games.endings import side_names
from ludus.games.searchable import searchable
from ludus.games.views import view_of
from ludus.mcts import SearchConfig, SearchError, Trees
from ludus.mcts.text import SUFFIX, is_search, parse_search
from ludus.policies.factory import build_network
from ludus.presets.checks.game import resolve_spec
from ludus.presets.errors import ConfigError
from ludus.presets.file import PresetError, parse_preset
from ludus.storage import RunDirectory, StorageError, write_atomic
from ludus.storage.files import own_folder
from ludus.storage.references import all_of, is_reference, refuse_run, resolve_weights
from ludus.storage.tensors import encode_weights, read_weights

_UNSEARCHED = "expected weights without a search: the analysis adds its own"


class AnalysedGame(NamedTuple):
    """The game of what is analysed, with its parameters as text."""

    spec: GameSpec
    params: dict[str, str]


class KeptVersion(NamedTuple):
    """A version of a run: its name in lines (``v12``), its number, and the reference of its weights."""

    name: str
    version: int
    reference: str


def analysed_game(references: Sequence[str], named: str = "") -> AnalysedGame:
    """Return the game of weights, which must be one that two seats play in turn and that can be searched.

    Args:
        references: Weights by name, and other players.
        named: The game as a person named it, where it is neither built in nor installed.

    Raises:
        ConfigError: A game that cannot be searched, or weights of different games.
        StorageError: No such weights.
    """
    game, params = decide_game(references, named)
    spec = game_spec(game, params)
    if spec.seats != 2:
        raise ConfigError(f"{spec.name} has {spec.seats} seats: an analysis needs a game of two")
    try:
        name, native = searchable(game)
        Trees(name, params, SearchConfig(visits=1), evaluator="null", native=native)
    except (SearchError, ValueError) as error:
        raise ConfigError(f"an analysis searches, which {spec.name} does not allow: {error}") from error
    return AnalysedGame(spec, params)


def weights_of(text: str) -> str:
    """Return ``text``, the weights that are analysed: ``RUN@best``, a file or a player of the zoo.

    Raises:
        ConfigError: A search, or a name that is not of weights.
        StorageError: A run without its ``@best``, or no such weights.
    """
    refuse_run(text)
    if is_search(text):
        raise ConfigError(f"{text}: {_UNSEARCHED}")
    if not is_reference(text):
        raise ConfigError(f"{shown(text)}: expected weights: RUN@best, RUN@VERSION, a file or zoo:NAME")
    resolve_weights(text)
    return text


def kept_versions(run: RunDirectory, most: int, chosen: Collection[int] = ()) -> list[KeptVersion]:
    """Return at most ``most`` kept versions of a run, evenly spread, with the first and the last.

    Args:
        run: The run.
        most: Number of versions, 2 at least.
        chosen: Versions that were chosen before, which are returned as far as they are kept: a run that
            trains meanwhile has more.

    Raises:
        ConfigError: A league, whose members have versions of their own, or a run without two versions.
    """
    kept = all_of(run)
    if len(kept) != 1 or ":" in "".join(kept[0]):
        raise ConfigError(f"{run.path}: a league; analyses take the versions of one learner's run")
    names = kept[0]
    if len(names) < 2:
        raise ConfigError(
            f"{run.path}: {len(names)} kept versions, expected at least two; a run keeps as many as "
            "run.keep_checkpoints"
        )
    if chosen:
        return [
            KeptVersion(f"v{name}", int(name), f"{run.path}@{name}") for name in names if int(name) in chosen
        ]
    picks = np.unique(np.linspace(0, len(names) - 1, min(len(names), max(2, most))).round().astype(int))
    spread = [names[int(k)] for k in picks]
    return [KeptVersion(f"v{name}", int(name), f"{run.path}@{name}") for name in spread]


def initial_version(run: RunDirectory, folder: Path) -> KeptVersion | str:
    """Return version 0 of a run, the network before training, or why there is none.

    A run keeps its weights only until they are evaluated. Without them the network is made again from the
    preset and its seed, and written beside the records.

    Args:
        run: The run.
        folder: Folder of the records.
    """
    if run.checkpoints.holding(0) is not None:
        return KeptVersion("v0", 0, f"{run.path}@0")
    digest = hashlib.sha256(run.config_bytes()).hexdigest()  # it determines the weights, the seed included
    path = folder / f"initial-{digest[:16]}.safetensors"
    if not path.is_file():
        if run.start.is_file() or run.info().lineage:
            return "version 0 is not among the players: the run started from other weights"
        try:
            kept = run.snapshot_path(0).is_file()
            data = encode_weights(run.load_snapshot(0)) if kept else _made_again(run)
        except (ConfigError, PresetError, StorageError, ValueError) as error:
            return f"version 0 is not among the players: {error}"
        own_folder(folder, make=True)
        write_atomic(path, data)
    return KeptVersion("v0", 0, str(path))


def _made_again(run: RunDirectory) -> bytes:
    """Return the network that the run's preset and seed give, with the metadata of its kept weights."""
    preset = parse_preset(run.config_bytes(), str(run.config)).preset
    spec, _ = resolve_spec(preset)
    kept = read_weights(run.checkpoints.weights_path("last"))
    network = build_network(preset.policy, spec, derive_seed(preset.run.seed, SEED_NETWORK))
    tensors = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    shapes = {name: array.shape for name, array in kept.tensors.items()}
    if shapes != {name: array.shape for name, array in tensors.items()}:
        raise ConfigError("its preset makes another network now")
    return encode_weights(Weights(msgspec.structs.replace(kept.meta, version=0, steps=0), tensors))


def searched(reference: str, visits: int, **settings: float) -> str:
    """Return the player that searches with ``reference``, which always plays its most visited move.

    Args:
        reference: Weights without a search.
        visits: Visits of a decision; 0 = the network alone.
        settings: Other settings of the search.
    """
    if not visits:
        return reference
    more = "".join(f",{name}={value!r}" for name, value in settings.items())
    return f"{reference}{SUFFIX}:{visits},plies=0{more}"


def as_typed(player: str) -> str:
    """Return another player as a person named it, checked as far as its text goes.

    Raises:
        ConfigError: A search with a mistake in its settings.
        StorageError: A run without its ``@best``.
    """
    refuse_run(player)
    if is_search(player):
        try:
            parse_search(player)
        except ValueError as error:
            raise ConfigError(error) from None
    return player


def seat_names(game: AnalysedGame) -> tuple[str, str]:
    """Return how people call the seats: by the colour of their stones, else by their numbers."""
    view = view_of(game.spec.name)
    if view is None:
        return "seat 0", "seat 1"
    first, second = side_names(view, 2)
    return first, second

"""A note about runs whose game has changed since they were trained, for commands that play their weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ludus.cli import console
from ludus.presets.config import ParamValue

if TYPE_CHECKING:
    from ludus.evaluation.evaluate import ParamChanges
    from ludus.storage import RunDirectory


def note_changed_game(
    players: Sequence[str], game: str = "", params: dict[str, ParamValue] | ParamChanges | None = None
) -> None:
    """Print a line for each run among the players whose game's files are others now.

    Args:
        players: Names of players, as :func:`ludus.evaluation.evaluate.evaluate` takes them.
        game: The game as the user named it; "" = the first weights' game.
        params: Its parameters, or changes of the weights' parameters; None = the weights' parameters.
    """
    from ludus.evaluation.evaluate import decide_game
    from ludus.presets.errors import ConfigError
    from ludus.reporting.changes import changed_in_words
    from ludus.storage.errors import StorageError
    from ludus.training.run_code import changed_game

    single = [p.removesuffix("@all") + "@last" if p.endswith("@all") else p for p in players if p]
    try:
        runs = [run for run in map(_run_of, single) if run is not None]
        if not runs:
            return
        reference, values = decide_game(single, game, params)
    except (StorageError, ConfigError):  # the command itself reports them
        return
    for run in {run.path.resolve(): run for run in runs}.values():
        for line in changed_in_words(changed_game(run, reference, dict(values))):
            console.note(f"{run.path}: {line}; these matches are played by the game as it is now")


def _run_of(player: str) -> RunDirectory | None:
    """Return the run whose weights a player has; None for other players, and for weights outside of a run."""
    from ludus.games.names import is_bot_file
    from ludus.mcts.text import SUFFIX
    from ludus.storage import RunDirectory, is_reference, resolve_weights

    weights = player.rpartition(SUFFIX)[0] if SUFFIX in player else player
    if not weights or is_bot_file(weights) or not is_reference(weights):
        return None
    folder, at, _ = weights.rpartition("@")
    run = RunDirectory(Path(folder) if at else resolve_weights(weights).parent.parent.parent)
    return run if run.info_path.is_file() and run.config.is_file() else None

"""Settings of a run that is resumed: read from its files, trusted and checked, once for every surface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ludus.flow.inputs.shown import shown
from ludus.flow.problem import Argument
from ludus.presets.checks.game import check_game
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.reporting.changes import run_settings
from ludus.storage.rundir import RunDirectory
from ludus.training.trusted_code import resumed_code, resumed_method


@dataclass(frozen=True, slots=True)
class Resumed:
    """A run and its settings.

    Attributes:
        run: The run.
        configured: The settings until now; code by the names in the run's files, which load none.
        preset: The settings from now on; code by the references that this user gave.
    """

    run: RunDirectory
    configured: Preset
    preset: Preset


def resumed_settings(
    run_dir: Path,
    typed: Mapping[str, str] | None = None,
    *,
    game: str = "",
    teacher: str = "",
    method: str = "",
    rule: str = "",
) -> Resumed:
    """Return the settings under which a run resumes.

    Args:
        run_dir: The directory of the run.
        typed: Changes by option or path, of :data:`ludus.reporting.changes.RESUMABLE`, such as the budget;
            later resumes keep them.
        game: Code of a game that is neither built in nor installed, for a run that this user did not start
            here (:mod:`ludus.training.trusted_code`).
        teacher: File of a bot in Python that the run learns from, for such a run.
        method: File of the learning method, for such a run.
        rule: Rules of a league's members from files, for such a run: ``FILE.py:CLASS``, several with commas
            between them.

    Raises:
        RunNotFound: No such run.
        CorruptFile: Files of the run are damaged.
        ConfigError: Settings that do not fit together, code that is not here, or another game.
    """
    run = RunDirectory.open(run_dir)
    resumed_method(run, method)
    loaded = run_settings(run, typed)
    configured = run_settings(run).preset if typed else loaded.preset
    preset = resumed_code(run_dir, loaded.preset, game, teacher, rule)
    needed = without_seeds(preset) if run.checkpoints.versions() else preset
    declared = check_game(msgspec.structs.replace(loaded, preset=needed))
    started = run.info()
    if game and declared.spec_hash != started.spec_hash:
        raise ConfigError(
            f"{declared.name} has spec {declared.spec_hash}; the run was started with {shown(started.game)}, "
            f"spec {shown(started.spec_hash)}",
            where=Argument("game", game),
        )
    return Resumed(run, configured, preset)


def without_seeds(preset: Preset) -> Preset:
    """Return a league's settings without the weights that members started from, whose files may be gone."""
    if preset.league is None:
        return preset
    players = tuple(msgspec.structs.replace(player, seed="") for player in preset.league.players)
    return msgspec.structs.replace(preset, league=msgspec.structs.replace(preset.league, players=players))

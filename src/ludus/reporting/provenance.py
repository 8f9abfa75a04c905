"""Provenance of weights: what a weights file reports about the run that trained it."""

from __future__ import annotations

import hashlib

import msgspec

from ludus.evaluation.play import UNIFORM
from ludus.flow.weights import Provenance, WeightsFloor
from ludus.presets.checks.game import params_text
from ludus.presets.config import Preset
from ludus.presets.document import to_toml
from ludus.reporting.changes import run_settings
from ludus.reporting.floors import INITIAL_WEIGHTS, Floors
from ludus.reporting.run_view import RunView
from ludus.storage.rundir import RunDirectory
from ludus.version import __version__

MAX_PRESET = 1 << 16  # characters of a preset that weights carry


def provenance_of(preset: Preset, floors: Floors | None = None) -> Provenance:
    """Return the provenance of weights that ``preset`` trains.

    The text of the preset does not name the weights that the run started from.
    """
    alone = msgspec.structs.replace(preset, run=msgspec.structs.replace(preset.run, start=""))
    text = to_toml(alone)
    return Provenance(
        params=params_text(preset.game.params),
        preset_sha256=hashlib.sha256(text.encode()).hexdigest(),
        preset=text if len(text) <= MAX_PRESET else "",
        package_version=__version__,
        floors=_floors(floors or Floors()),
    )


def provenance_of_run(run: RunDirectory) -> Provenance:
    """Return the provenance of a run's weights, with all floors that it has measured.

    Raises ``PresetError`` and ``CorruptFile``.
    """
    return provenance_of(run_settings(run).preset, RunView(run).floors())


def _floors(floors: Floors) -> tuple[WeightsFloor, ...]:
    both = ((INITIAL_WEIGHTS, floors.initial), (UNIFORM, floors.uniform))
    return tuple(
        WeightsFloor(player, r.against[:256], r.matches, r.measure, r.measure_low, r.measure_high)
        for player, results in both
        for r in results
        if not r.nothing_played
    )

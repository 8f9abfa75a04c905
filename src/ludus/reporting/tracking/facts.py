"""Facts of a run for trackers, besides its curves: hyper-parameters, results, files, its name."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import NamedTuple

import msgspec

from ludus.flow.inputs.decode import TextError, TomlError, from_toml, text_of
from ludus.flow.inputs.shown import visible
from ludus.presets.config import GameConfig, Preset, TrackingConfig
from ludus.presets.document import leaves
from ludus.presets.file import PresetError
from ludus.reporting.changes import read_changes, run_settings
from ludus.reporting.run_view import RunView
from ludus.storage.errors import CorruptFile, StorageError
from ludus.storage.run_info import AFTER
from ludus.storage.rundir import RunDirectory

Scalar = str | int | float | bool
MOST_SETTINGS, MOST_TEXT, MOST_FILES = 2000, 4000, 20
MAX_FILE_BYTES = 64 << 20


class RunFacts(NamedTuple):
    """Facts of a run at its end. ``results``: numbers of the final matches; ``files``: report and replays."""

    state: str
    results: dict[str, float]
    version: int | None
    steps: int
    files: list[Path]


def preset_of_run(run: RunDirectory, tracking: TrackingConfig) -> Preset:
    """Return the settings of a run with ``tracking``; of a run whose method is not loaded, only its game."""
    try:
        preset = run_settings(run).preset
    except (PresetError, StorageError, ValueError, OSError):
        preset = Preset(GameConfig(str(hyper_parameters(run).get("game.name", "game"))))
    return msgspec.structs.replace(preset, tracking=tracking)


def tracking_of_run(run: RunDirectory) -> TrackingConfig:
    """Return the table ``[tracking]`` of a run; defaults for a run that has none."""
    try:
        given = from_toml(text_of(run.config_bytes())).get("tracking", {})
        return msgspec.convert(given, TrackingConfig)
    except (TextError, TomlError, msgspec.ValidationError, StorageError, OSError):
        return TrackingConfig()


def hyper_parameters(run: RunDirectory) -> dict[str, Scalar]:
    """Return the effective settings of a run by path, with those that resumes changed, and its provenance.

    Lists are text. Raises ``CorruptFile``.
    """
    try:
        found = dict(leaves(from_toml(text_of(run.config_bytes()))))
    except (TextError, TomlError) as error:
        raise CorruptFile(f"{run.config}: {error}") from error
    for change in read_changes(run):
        found |= {path: after for path, (_, after) in change.settings.items()}
    return {
        visible(path)[:200]: _scalar(value)
        for path, value in list(found.items())[:MOST_SETTINGS]
        if not path.startswith("tracking.")
    }


def _scalar(value: object) -> Scalar:
    if isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(str(_scalar(item)) for item in value)[:MOST_TEXT]
    return visible(str(value)[:MOST_TEXT])


def facts_of(path: Path) -> RunFacts:
    """Return the facts of the run at ``path`` as its files show them now."""
    run = RunDirectory(path)
    view = RunView(run)
    try:
        final = view.metrics().final
    except StorageError:
        final = None
    files = [run.page, run.report, run.config]
    if not run.replays.is_symlink():
        files += sorted(run.replays.glob("*.ludus"))[:MOST_FILES]
    return RunFacts(
        state=_state(view),
        results=dict(final.numbers) if final is not None else {},
        version=final.version if final is not None else None,
        steps=final.steps if final is not None else 0,
        files=[file for file in files if _is_sent(file)],
    )


def _state(view: RunView) -> str:
    """Return how the run ended, also while the process that trained it still waits for its trackers."""
    state = view.status().state
    if state == "running":
        ends = [AFTER[kind] for row in view.events(20) if (kind := str(row.get("event"))) in AFTER]
        return ends[-1] if ends and ends[-1] != "lost" else state
    return state


def _is_sent(path: Path) -> bool:
    """Whether a file of a run may leave it: a regular one, never what a link leads to."""
    try:
        return not path.is_symlink() and path.is_file() and path.stat().st_size <= MAX_FILE_BYTES
    except OSError:
        return False


def name_of(run: Path, tracking: TrackingConfig) -> str:
    """Return the name under which a tracker files a run."""
    return visible(tracking.name or run.resolve().name)[:120]


def group_of(run: Path) -> str:
    """Return the name of the sweep that a run belongs to, empty without one."""
    folder = run.resolve().parent
    return visible(folder.parent.name)[:120] if (folder.parent / "sweep.json").is_file() else ""


def identity(run: RunDirectory) -> str:
    """Return the id of a run for trackers: made of what ``run.json`` keeps, so that resumes share it."""
    info = run.info()
    text = info.run_id or f"{info.game} {info.seed} {info.started} {info.host}"
    return hashlib.sha256(f"tracker {text}".encode()).hexdigest()[:16]

"""Settings that a resume changes: kept in the run directory, in force from then on.

``config.toml`` stays as the run was started. Each resume with other settings appends a line to
``changes.jsonl``, and the settings of the run are ``config.toml`` with all of these lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from ludus.presets.config import Preset
from ludus.presets.document import leaves
from ludus.presets.file import LoadedPreset, PresetError, parse_preset
from ludus.presets.options import option_of
from ludus.storage.errors import CorruptFile
from ludus.storage.files import fsync_directory
from ludus.storage.jsonl import JsonlWriter, read_jsonl

if TYPE_CHECKING:
    from ludus.storage.rundir import RunDirectory

#: Settings that a resume may change; a change of any other would make it another run.
RESUMABLE = (
    "run.max_steps",
    "run.max_minutes",
    "run.target",
    "run.checkpoint_every_minutes",
    "run.keep_checkpoints",
    "run.threads",
    "cluster.rollouts",
    "cluster.address",
    "evaluation.final_matches",
    "evaluation.max_ticks",
)
Setting = int | float | str
MAX_CHANGES = 10_000


class Change(msgspec.Struct, frozen=True):
    """A line of ``changes.jsonl``: settings by path, each with its value before and after."""

    time: str
    command: tuple[str, ...]
    settings: dict[str, tuple[Setting, Setting]]


def read_changes(run: RunDirectory) -> list[Change]:
    """Return the changes of a run, oldest first. Raises ``CorruptFile``."""
    changes: list[Change] = []
    for row in read_jsonl(run.changes):
        if len(changes) == MAX_CHANGES:
            raise CorruptFile(f"{run.changes}: more than {MAX_CHANGES} lines")
        try:
            change = msgspec.convert(row, Change)
        except msgspec.ValidationError as error:
            raise CorruptFile(f"{run.changes}: line {len(changes) + 1}: {error}") from error
        for path in change.settings:
            if path not in RESUMABLE:
                raise CorruptFile(f"{run.changes}: {path[:100]!r}: expected one of {', '.join(RESUMABLE)}")
        changes.append(change)
    return changes


def run_settings(run: RunDirectory, overrides: Mapping[str, str] | None = None) -> LoadedPreset:
    """Return the settings of a run as they are now, with ``overrides`` (option -> text) on top.

    Raises ``PresetError`` and ``CorruptFile``.
    """
    now: dict[str, str] = {}
    for change in read_changes(run):
        now |= {path: _text(after) for path, (_, after) in change.settings.items()}
    if now:
        parse_preset(run.config_bytes(), str(run.config))  # its own mistakes are those of config.toml
        try:
            parse_preset(run.config_bytes(), str(run.config), overrides=now)
        except PresetError as error:
            raise CorruptFile(f"{run.changes}: {error}") from error
    given = {key.replace("-", "_"): text for key, text in (overrides or {}).items()}
    return parse_preset(run.config_bytes(), str(run.config), overrides=now | given)


def record_change(
    run: RunDirectory, before: Preset, after: Preset, command: tuple[str, ...]
) -> Change | None:
    """Write the settings in which ``after`` differs from ``before`` to the disk; None where none does.

    ``command``: command line that changed them. Raises ``OSError``.
    """
    from ludus.storage.rundir import utc_now

    old, new = dict(leaves(before)), dict(leaves(after))
    settings = {path: (old[path], new[path]) for path in RESUMABLE if old[path] != new[path]}
    if not settings:
        return None
    row: dict[str, object] = {
        "time": utc_now(),
        "command": command,
        "settings": settings,
    }
    writer = JsonlWriter(run.changes)
    try:
        writer.append(row)
        writer.sync()
    finally:
        writer.close()
    fsync_directory(run.path)
    return msgspec.convert(row, Change)


def _text(value: Setting) -> str:
    """Return a value as an option takes it."""
    return value if isinstance(value, str) else repr(value)


def _short(value: Setting) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def in_words(change: Change) -> str:
    """Return ``run.max_steps 1600 -> 2400``, several separated by commas."""
    return ", ".join(f"{path} {_short(old)} -> {_short(new)}" for path, (old, new) in change.settings.items())


def options(settings: Mapping[str, str]) -> str:
    """Return settings as a command line takes them: ``--run.max-steps 2400``."""
    return " ".join(f"{option_of(path)} {value}" for path, value in settings.items())

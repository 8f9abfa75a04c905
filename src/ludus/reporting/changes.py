"""Settings that a resume changes: kept in the run directory, in force from then on.

``config.toml`` stays as the run was started. Each resume with other settings, or under files with other code,
appends a line to ``changes.jsonl``. The settings of the run are ``config.toml`` with all of these lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ludus.flow.inputs.shown import shown, visible
from ludus.flow.process.code_files import SHORT, CodeChange
from ludus.presets.config import Preset
from ludus.presets.document import leaves
from ludus.presets.file import LoadedPreset, PresetError, parse_preset
from ludus.presets.options import option_of, path_of
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
    "cluster.min_rollouts",
    "cluster.inference",
    "cluster.address",
    "cluster.members",
    "league.processes",
    "league.on_failure",
    "evaluation.final_matches",
    "evaluation.max_ticks",
    "algorithm.data",  # the same records in another place
)
Setting = int | float | str
MAX_CHANGES = 10_000


class Change(msgspec.Struct, frozen=True):
    """A line of ``changes.jsonl``: settings by path, each with its value before and after.

    ``steps``: trained decisions until then. ``code``: files that changed then.
    ``schedules``: settings that move with the budget, with their values under the old and the new budget.
    """

    time: str
    command: tuple[str, ...]
    settings: dict[str, tuple[Setting, Setting]] = {}
    steps: int = 0
    code: tuple[CodeChange, ...] = ()
    schedules: dict[str, tuple[float, float]] = {}


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
        parse_preset(run.config_bytes(), str(run.config))  # report its own mistakes as config.toml's
        try:
            parse_preset(run.config_bytes(), str(run.config), overrides=now)
        except PresetError as error:
            raise CorruptFile(error, where=str(run.changes)) from error
    given = {path_of(key): text for key, text in (overrides or {}).items()}
    return parse_preset(run.config_bytes(), str(run.config), overrides=now | given)


def changed_settings(before: Preset, after: Preset) -> dict[str, tuple[Setting, Setting]]:
    """Return the settings in which ``after`` differs from ``before``, of those that a resume may change."""
    old, new = dict(leaves(before)), dict(leaves(after))
    known = [path for path in RESUMABLE if path in old and path in new]  # a run without a league has less
    moved = {path: (old[path], new[path]) for path in known if old[path] != new[path]}
    return msgspec.convert(moved, dict[str, tuple[Setting, Setting]])


def record_change(run: RunDirectory, change: Change) -> None:
    """Write a change to the disk, if it changes anything. Raises ``OSError``."""
    if not change.settings and not change.code:
        return
    row: dict[str, object] = msgspec.to_builtins(change)
    row |= {key: value for key in ("code", "schedules") if (value := row.pop(key))}
    writer = JsonlWriter(run.changes)
    try:
        writer.append(row)
        writer.sync()
    finally:
        writer.close()
    fsync_directory(run.path)


def _text(value: Setting) -> str:
    """Return a value as an option takes it."""
    return value if isinstance(value, str) else repr(value)


def _short(value: Setting) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def in_words(change: Change) -> str:
    """Return ``run.max_steps 1600 -> 2400``, several separated by commas."""
    return ", ".join(f"{path} {_short(old)} -> {_short(new)}" for path, (old, new) in change.settings.items())


def lines_of(change: Change) -> list[str]:
    """Return all that a change did, each as a line for people."""
    settings = [in_words(change)] if change.settings else []
    return [*settings, *schedules_in_words(change), *code_in_words(change)]


def schedules_in_words(change: Change) -> list[str]:
    """Return a sentence about what moves with the budget, if anything does."""
    parts = [
        f"{path} stays at {old:.4g} and moves at another pace"
        if f"{old:.4g}" == f"{new:.4g}"
        else f"{path} was {old:.4g} and continues from {new:.4g}"
        for path, (old, new) in change.schedules.items()
    ]
    return [f"schedules run over the new budget: {', '.join(parts)}"] if parts else []


def code_in_words(change: Change) -> list[str]:
    """Return a line for each setting whose files have changed, with what that means for the run."""
    lines = []
    for kept, effect in (
        (False, "the run continues with the code as it is now"),
        (True, "the run keeps the rules that it has"),
    ):
        files = [file for file in change.code if file.kept is kept]
        lines += [f"{line}; {effect}" for line in changed_in_words(files)]
    return lines


def changed_in_words(files: Sequence[CodeChange]) -> list[str]:
    """Return a line for each setting whose files have changed: which, with their hashes."""
    lines = []
    for setting in dict.fromkeys(file.setting for file in files):
        first, *more = [file for file in files if file.setting == setting]
        others = f" (and {len(more)} more of its files)" if more else ""
        hashes = (digest[:SHORT] for digest in (first.before, first.after))
        then, now = (f"sha256 {shown(digest)}" if digest else "no such file" for digest in hashes)
        lines.append(
            f"{setting}: {visible(first.path)} has changed{others} since the run was trained last "
            f"({then}, now {now})"
        )
    return lines


def code_marks(changes: Iterable[Change]) -> list[tuple[int, str]]:
    """Return the steps at which a run continued under other code, each with a label for its curve."""
    found = []
    for change in changes:
        if files := [c for c in change.code if not c.kept]:
            others = f" and {len(files) - 1} more" if len(files) > 1 else ""
            found.append((change.steps, f"{Path(files[0].path).name}{others} changed"))
    return found


def options(settings: Mapping[str, str]) -> str:
    """Return settings as a command line takes them: ``--run.max-steps 2400``."""
    return " ".join(f"{option_of(path)} {value}" for path, value in settings.items())

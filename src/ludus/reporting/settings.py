"""Settings of a run with the origin of each, as far as its files show it.

``config.toml`` has every setting. The command line is in ``run.json``, changes at resumes in
``changes.jsonl``. A value of neither that differs from the default is the preset's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from ludus.flow.inputs.decode import from_toml, text_of
from ludus.flow.inputs.shown import visible
from ludus.presets.config import preset_of
from ludus.presets.document import leaves
from ludus.presets.options import ends_with, path_of
from ludus.reporting.changes import read_changes
from ludus.storage.errors import StorageError
from ludus.storage.rundir import RunDirectory

SettingOrigin = Literal["default", "preset", "command line", "resume"]
MOST_SETTINGS, MOST_TEXT = 2000, 400
_ORDER: Mapping[SettingOrigin, int] = {"resume": 0, "command line": 1, "preset": 2, "default": 3}
#: Settings that choose which others there are.
_TAGS = {"algorithm": "name", "policy": "network"}


class RunSetting(msgspec.Struct, frozen=True):
    """A setting by path. ``default``: its default as text; empty if that is unknown or equal."""

    path: str
    value: str
    origin: SettingOrigin
    default: str = ""


def settings_of(run: RunDirectory) -> list[RunSetting]:
    """Return the settings of a run, changed ones first: at resumes, by the command line, by the preset.

    Raises:
        ValueError: ``config.toml`` is no such file.
        StorageError: A file is damaged.
        OSError: A file cannot be read.
    """
    document = from_toml(text_of(run.config_bytes()))
    defaults = _defaults(document)
    typed = _typed(run)
    try:
        resumed = {
            path: after for change in read_changes(run) for path, (_, after) in change.settings.items()
        }
    except (StorageError, ValueError, OSError):
        resumed = {}
    found = []
    for path, value in list(leaves(document))[:MOST_SETTINGS]:
        known = path in defaults
        same = known and defaults[path] == value
        origin: SettingOrigin = "default" if same else "preset"
        if any(path == p or path.startswith(f"{p}.") for p in typed):
            origin = "command line"
        if path in resumed:
            value, origin = resumed[path], "resume"
        default = text_of_value(defaults[path]) if known and not same else ""
        found.append(RunSetting(visible(path)[:MOST_TEXT], text_of_value(value), origin, default))
    return sorted(found, key=lambda s: _ORDER[s.origin])


def text_of_value(value: object) -> str:
    """Return the value of a setting for people, on one line and bounded."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ", ".join(text_of_value(item) for item in value[:40])[:MOST_TEXT]
    return visible(str(value)[: 2 * MOST_TEXT])[:MOST_TEXT]


def _defaults(document: Mapping[str, object]) -> dict[str, object]:
    """Return the defaults of the settings by path, without the settings of methods that are not built in."""
    asked: dict[str, object] = {"game": {"name": "game"}}
    for table, tag in _TAGS.items():
        given = document.get(table)
        if isinstance(given, dict) and isinstance(name := given.get(tag), str):
            asked[table] = {tag: name}
    for left_out in ((), ("algorithm",), ("algorithm", "policy")):
        chosen = {name: value for name, value in asked.items() if name not in left_out}
        try:
            preset = preset_of(chosen)
        except (ValueError, TypeError):
            continue
        plain = msgspec.to_builtins(preset)
        found = {p: list(v) if isinstance(v, tuple) else v for p, v in leaves(plain)}
        chooses = {"game.name", *(f"{table}.{tag}" for table, tag in _TAGS.items())}
        return {
            path: value
            for path, value in found.items()
            if path not in chooses and not path.startswith(tuple(f"{name}." for name in left_out) or "\n")
        }
    return {}


def _typed(run: RunDirectory) -> Sequence[str]:
    """Return the paths of the settings that the command line of the run gave."""
    try:
        command = run.info().command
        paths = [path for path, _ in leaves(from_toml(text_of(run.config_bytes())))]
    except (ValueError, OSError, StorageError):
        return ()
    found = []
    for word in command[:200]:
        if word.startswith("--"):
            name = path_of(word.partition("=")[0])
            found += [p for p in paths if ends_with(p, name)] or [name]
    return found

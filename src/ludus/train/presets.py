"""Presets as TOML: reading with errors that help, writing what was resolved."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import get_type_hints

import msgspec

from ludus.train.config import Preset
from ludus.train.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover - depends on the Python
    import tomli as tomllib

MAX_PRESET_BYTES = 1 << 20


def load_preset(path: Path, overrides: Mapping[str, object] | None = None) -> Preset:
    """The preset in ``path`` with dotted ``overrides`` (``{"run.seed": 7}``) on top. Raises ``ConfigError``."""
    if not path.is_file():
        raise ConfigError(f"{path}: no such preset file")
    if path.stat().st_size > MAX_PRESET_BYTES:
        raise ConfigError(f"{path}: larger than {MAX_PRESET_BYTES} bytes, not a preset")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text ({error})") from error
    return parse_preset(text, str(path), overrides)


def parse_preset(text: str, origin: str, overrides: Mapping[str, object] | None = None) -> Preset:
    """A preset from TOML text; ``origin`` stands at the head of every error. Raises ``ConfigError``."""
    try:
        tree: dict[str, object] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{origin}: not valid TOML: {error}") from error
    for key, value in (overrides or {}).items():
        _set(tree, key, value, origin)
    _refuse_unknown(tree, Preset, "", origin)
    try:
        return msgspec.convert(tree, Preset, strict=True)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{origin}: {_readable(str(error))}") from error


def dump_preset(preset: Preset) -> str:
    """TOML text of every value of ``preset``; :func:`parse_preset` reads the same struct back."""
    tree = msgspec.to_builtins(preset)
    lines: list[str] = []
    tables = {k: v for k, v in tree.items() if isinstance(v, (dict, list, tuple))}
    lines += [f"{k} = {_value(v)}" for k, v in tree.items() if k not in tables]
    for name, table in tables.items():
        if isinstance(table, dict):
            lines += ["", f"[{name}]", *(f"{_key(k)} = {_value(v)}" for k, v in table.items())]
        else:
            for entry in table:
                lines += ["", f"[[{name}]]", *(f"{_key(k)} = {_value(v)}" for k, v in entry.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def nearest(name: str, valid: list[str]) -> str:
    """`` (did you mean X?)`` or, without anything near, the valid names."""
    close = difflib.get_close_matches(name, valid, n=1, cutoff=0.6)
    return f" (did you mean {close[0]}?)" if close else f" (valid: {', '.join(sorted(valid))})"


def _set(tree: dict[str, object], dotted: str, value: object, origin: str) -> None:
    *parents, leaf = dotted.split(".")
    node = tree
    for part in parents:
        child = node.setdefault(part, {})
        if not isinstance(child, dict):
            raise ConfigError(f"{origin}: {dotted}: {part} is not a table")
        node = child
    node[leaf] = value


def _refuse_unknown(tree: Mapping[str, object], struct: type[msgspec.Struct], path: str, origin: str) -> None:
    hints = get_type_hints(struct)
    for key, value in tree.items():
        where = f"{path}{key}"
        if key not in hints:
            raise ConfigError(f"{origin}: unknown key {where}{nearest(key, list(hints))}")
        inner = hints[key]
        if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            if isinstance(value, dict):
                _refuse_unknown(value, inner, f"{where}.", origin)
            continue
        arguments = getattr(inner, "__args__", ())
        entry = arguments[0] if arguments else None
        if isinstance(entry, type) and issubclass(entry, msgspec.Struct) and isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, dict):
                    _refuse_unknown(item, entry, f"{where}[{index}].", origin)


def _readable(message: str) -> str:
    """msgspec's ``Expected `int`, got `str` - at `$.run.seed``` with the key first."""
    text, at, path = message.partition(" - at `$")
    return f"{path.rstrip('`').lstrip('.')}: {text}" if at else text


def _key(name: str) -> str:
    bare = name.replace("_", "").replace("-", "")
    return name if bare.isalnum() and bare.isascii() else _value(name)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + "}"
    raise TypeError(f"a preset holds no {type(value).__name__}")

"""Presets as plain documents: tables, lists and values, walked by dotted path and written as TOML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

import msgspec

from ludus.presets.config import Preset

Document = dict[str, object]


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield every value with its dotted path.

    Lists of tables are walked entry by entry; lists of plain values are values.
    """
    if isinstance(value, msgspec.Struct):
        value = {name: getattr(value, name) for name in value.__struct_fields__}
    if isinstance(value, dict) and (value or not path):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else str(key))
    elif (
        isinstance(value, (list, tuple))
        and value
        and all(isinstance(v, (dict, msgspec.Struct)) for v in value)
    ):
        for i, item in enumerate(value):
            yield from leaves(item, f"{path}.{i}")
    else:
        yield path, value


def to_toml(preset: Preset, remarks: Mapping[str, str] | None = None) -> str:
    """Return the whole preset, defaults included, as TOML that reads back equal.

    Args:
        preset: The preset.
        remarks: Dotted path -> comment behind the value.
    """
    plain: Document = msgspec.to_builtins(preset)
    lines: list[str] = []
    _write_table(lines, "", "", plain, remarks or {})
    return "\n".join(lines).strip() + "\n"


def _write_table(
    lines: list[str], name: str, path: str, table: Mapping[str, object], remarks: Mapping[str, str]
) -> None:
    """Append the lines of a table.

    Args:
        lines: The lines so far.
        name: The name of the table in TOML.
        path: Its dotted path, with the indices of lists.
        table: Its keys and values.
        remarks: Dotted path -> comment behind the value.
    """
    nested: list[tuple[str, str, object]] = []
    for key, value in table.items():
        if value is None:  # left out
            continue
        below = f"{path}.{key}" if path else key
        is_tables = isinstance(value, (list, tuple)) and bool(value) and isinstance(value[0], dict)
        if isinstance(value, dict) or is_tables:
            nested.append((f"{name}.{_key(key)}" if name else _key(key), below, value))
        else:
            line = f"{_key(key)} = {_toml_value(value)}"
            lines.append(f"{line:<42} # {remarks[below]}" if below in remarks else line)
    for inner, below, value in nested:
        if isinstance(value, dict):
            if value:
                lines += ["", f"[{inner}]"]
                _write_table(lines, inner, below, value, remarks)
        elif isinstance(value, (list, tuple)):
            for i, item in enumerate(value):
                lines += ["", f"[[{inner}]]"]
                _write_table(lines, inner, f"{below}.{i}", item, remarks)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml_value(key)


def _toml_value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml_value(v) for v in value) + "]"
    raise TypeError(f"a preset cannot hold {type(value).__name__}")

"""Messages about a rulebook file: the line of each mistake, wrong types of values, one message per mistake.

The core checks flattened keys: it cannot distinguish a list from a string and has no line
numbers. This module adds both from the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ludus.flow.inputs.whole import whole
from ludus.flow.problem import HasProblems, Problem
from ludus.native import ParamError

Schema = Mapping[str, object]

_KEY = r"(?:[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')"
_PATH = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_HEADER = re.compile(rf"\s*\[\[?\s*({_PATH})\s*\]")
_SETTING = re.compile(rf"\s*({_PATH})\s*=")
#: ``: units.a.hp = '0': expected ...`` or ``: 'units.a.hpp': unknown key ...``, the core's messages.
_MESSAGE = re.compile(r"(?:: )?'?(?P<path>[\w.-]+)'?(?: = (?P<value>.+?))?: (?P<rest>.*)")
_MEANT = re.compile(r"\(did you mean ([\w.-]+)\?\)")
_LIST = re.compile(r"expected a list of ([\w, ]+)")
_KINDS: dict[str, tuple[type | tuple[type, ...], str]] = {
    "array": ((list, tuple), "a list"),
    "string": (str, "a string"),
    "boolean": (bool, "true or false"),
    "integer": (int, "an integer"),
    "number": ((int, float), "a number"),
}


class RulebookError(HasProblems, ParamError):
    """A rulebook with mistakes, each with its file and line."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """Mistake in a rulebook. ``path``: its key (empty: unknown); ``cause``: shared by several messages."""

    path: str
    text: str
    cause: str = ""


def lines_of(text: str) -> dict[str, int]:
    """Return the number of the first line of each key and table of a TOML document, by path."""
    found: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        if header:
            table = _plain(header[1]) + "."
            found.setdefault(table[:-1], number)
            continue
        setting = _SETTING.match(line)
        if setting:
            found.setdefault(table + _plain(setting[1]), number)
    return found


def _plain(path: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in re.findall(_KEY, path))


def wrong_kinds(table: Mapping[str, object], schema: Schema, prefix: str = "") -> Iterator[Mistake]:
    """Yield values of another type than the schema's: ``accepts = "move"`` instead of a list."""
    for key, value in table.items():
        path = f"{prefix}{key}"
        below = _below(schema, key)
        if below is None:
            continue  # the core names the nearest valid key
        if isinstance(value, dict):
            yield from wrong_kinds(value, below, f"{path}.")
            continue
        kind = str(below.get("type", ""))
        if kind not in _KINDS:
            continue
        types, noun = _KINDS[kind]
        given = whole(value) if kind == "integer" else value
        fits = isinstance(given, types) and (kind == "boolean" or not isinstance(value, bool))
        if not fits:
            hint = f", [{_toml(value)}]" if kind == "array" and not isinstance(value, bool) else ""
            yield Mistake(path, f"{path} = {_toml(value)}: expected {noun}{hint}")


def _toml(value: object) -> str:
    text = f'"{value}"' if isinstance(value, str) else str(value).lower()
    return text if len(text) <= 60 else text[:57] + "..."


def _below(schema: Schema, key: str) -> Schema | None:
    properties = schema.get("properties")
    if isinstance(properties, dict) and isinstance(properties.get(key), dict):
        found: Schema = properties[key]
        return found
    patterns = schema.get("patternProperties")
    if isinstance(patterns, dict):
        for pattern, inner in patterns.items():
            if re.search(pattern, key) and isinstance(inner, dict):
                return inner
    return None


def mistakes_of(message: str, prefix: str, sections: Sequence[str]) -> Iterator[Mistake]:
    """Yield the mistakes in the core's message, one a line.

    ``prefix`` starts each line; ``sections`` are the valid first words.
    """
    for line in message.splitlines():
        text = line.removeprefix(prefix)
        found = _MESSAGE.fullmatch(text)
        text = text.removeprefix(": ")
        if found is None:
            yield Mistake("", text)
        else:
            yield Mistake(found["path"], text, _cause(found["path"], found["value"], found["rest"], sections))


def _cause(path: str, value: str | None, rest: str, sections: Sequence[str]) -> str:
    """Return the name that is wrong: a part of the key, or an entry of a list."""
    parts = path.split(".")
    if parts[0] not in sections:
        return parts[0]
    if value is None:
        meant = _MEANT.search(rest)
        other = meant[1].split(".") if meant else []
        wrong = [a for a, b in zip(parts, other, strict=False) if a != b]
        return wrong[0] if len(other) == len(parts) and wrong else ""
    valid = _LIST.search(rest)
    if valid:
        names = valid[1].split(", ")
        wrong = [v for v in value.strip("'").split(",") if v not in names]
        return wrong[0] if wrong else ""
    return ""


def report(path: str, text: str, mistakes: Sequence[Mistake]) -> list[Problem]:
    """Return the mistakes of a file with their lines. Mistakes with a common cause are one problem."""
    lines = lines_of(text)
    groups: dict[str, list[Mistake]] = {}
    for mistake in mistakes:
        groups.setdefault(mistake.cause or f"{mistake.path} {mistake.text}", []).append(mistake)
    out = []
    for first, *more in groups.values():
        number = _line(lines, first.path)
        where = f"{path}:{number}" if number else path
        also = sorted({n for n in (_line(lines, m.path) for m in more) if n})
        places = f" (the same in line{'s' if len(also) > 1 else ''} {', '.join(map(str, also))})"
        out.append(Problem(first.path, first.text, where=(where,), more=places if also else ""))
    return out


def _line(lines: Mapping[str, int], path: str) -> int:
    """Return the line of the key, or of the table or inline table that holds it; 0 = unknown."""
    parts = path.split(".") if path else []
    while parts:
        number = lines.get(".".join(parts), 0)
        if number:
            return number
        parts.pop()
    return 0

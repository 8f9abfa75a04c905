"""Rulebooks of the game ``rts``: whole real-time strategy games as TOML files.

A file is flattened to lines ``key=value``. A rulebook is stored in this form as a parameter of the rules,
in a run's ``config.toml``, and in every replay. So only a path from the user (a preset, a command line) is
ever read, and the file is not needed afterwards.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from ludus.flow.inputs.decode import TextError, TomlError, from_json, from_toml, text_of
from ludus.flow.inputs.regular import NotRegular, open_regular
from ludus.games.checks.rulebook import Mistake, RulebookError, mistakes_of, report, wrong_kinds
from ludus.native import ParamError, core

GAME = "rts"
#: The core's limit; a file may be longer by its comments.
MAX_TEXT = 1 << 16
MAX_FILE = 1 << 20
_PREFIX = "rts.rulebook"
#: Files that this process has read: lines -> path and SHA-256 of the file.
_files: dict[str, tuple[Path, str]] = {}


def names() -> list[str]:
    """Return the names of the built-in rulebooks."""
    return core.rulebook_names()


def schema(game: str = GAME) -> dict[str, object]:
    """Return the JSON schema of a game's rulebook, for editors; draft 2020-12.

    Raises:
        ParamError: The game has no rulebook with a schema.
    """
    return from_json(core.rulebook_schema(game), dict[str, object])


def keys(text: str) -> dict[str, str]:
    """Return every key of a rulebook with its value as text, defaults included. Raises ``ParamError``."""
    lines = core.rulebook_text(text).splitlines()
    return dict(line.split("=", 1) for line in lines)


def is_path(value: object) -> bool:
    """Return whether a parameter ``rulebook`` names a file: it ends in ``.toml``."""
    return isinstance(value, str) and value.endswith(".toml") and "\n" not in value


def read(path: Path, *, check: bool = True) -> str:
    """Return the lines of a rulebook file.

    Raises ``ParamError`` with every mistake, one per line: file, line, key, value, expected value, and
    nearest valid name. ``check=False`` only reads: for files that are not rulebooks of ``rts``.
    """
    try:
        with open_regular(path) as file:
            raw = file.read(MAX_FILE + 1)
    except OSError as error:
        expected = "; expected a rulebook (a TOML file)" if isinstance(error, NotRegular) else ""
        raise ParamError(f"{path}: cannot be read ({error.strerror}){expected}") from None
    if len(raw) > MAX_FILE:
        raise ParamError(f"{path}: larger than {MAX_FILE} bytes; this is no rulebook")
    try:
        source = text_of(raw)
        document = from_toml(source)
    except TextError as error:
        raise ParamError(f"{path}: {error}") from None
    except TomlError as error:
        raise ParamError(f"{path}: not valid TOML: {error}") from None
    try:
        text = "".join(f"{line}\n" for line in flatten(document))
    except ValueError as error:
        wrong = list(mistakes_of(str(error), "", sections()))
        raise RulebookError(*report(str(path), source, wrong)) from None
    if not text:
        raise ParamError(f"{path}: holds no keys: expected at least two types below [units]")
    if len(text.encode()) > MAX_TEXT:
        raise ParamError(f"{path}: {len(text.encode())} bytes without comments: expected at most {MAX_TEXT}")
    if check:
        _check(path, source, document, text)
    _files[text] = (path.resolve(), hashlib.sha256(raw).hexdigest())
    return text


def file_of(text: object) -> tuple[Path, str] | None:
    """Return path and SHA-256 of the file that this process read these lines from; None for other texts."""
    return _files.get(text) if isinstance(text, str) else None


def sections() -> list[str]:
    """Return the first words of all keys."""
    return list(cast("dict[str, object]", schema()["properties"]))


def _check(path: Path, source: str, document: Mapping[str, object], text: str) -> None:
    """Raise ``ParamError`` with a line for each mistake of the file."""
    known = schema()
    found: list[Mistake] = []
    try:
        core.rulebook_text(text)
    except ParamError as error:
        found += mistakes_of(str(error), _PREFIX, sections())
    found = [m for m in found if m.path == "extends"] or found  # the rest may follow from it
    reported = {mistake.path for mistake in found}
    found += [m for m in wrong_kinds(document, known) if m.path not in reported]
    if found:
        raise RulebookError(*report(str(path), source, found))


def randomise_text(table: Mapping[str, tuple[float, float]]) -> str:
    """Convert ``{key: [low, high]}`` to the parameter ``randomise``. Raises ``ParamError``."""
    lines = []
    for key, (low, high) in table.items():
        numbers = [str(int(v)) if v.is_integer() else repr(v) for v in (float(low), float(high))]
        lines += flatten({key: numbers})
    return "".join(f"{line}\n" for line in lines)


def flatten(table: Mapping[str, object]) -> list[str]:
    """Return a TOML document as lines ``path.to.key=value``, in its order: lists are joined by commas.

    Raises ``ValueError`` with every value that a rulebook cannot hold.
    """
    lines: list[str] = []
    problems: list[str] = []
    for path, value in _leaves(table):
        text = _text(value)
        if text is None:
            problems.append(
                f"{path} = {value!r:.60}: expected a number, true or false, a string or a list of these"
            )
        elif any(c in path for c in "=\n#") or any(c in text for c in "\n\r#"):
            problems.append(f"{path!r:.60}: keys and strings hold no line breaks, = or #")
        else:
            lines.append(f"{path}={text}")
    if problems:
        raise ParamError("\n".join(problems))
    return lines


def _leaves(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, str)):
        return str(value)
    if isinstance(value, (list, tuple)):
        parts = [None if isinstance(v, (list, tuple)) else _text(v) for v in value]
        return None if any(p is None or "," in p for p in parts) else ",".join(p or "" for p in parts)
    return None

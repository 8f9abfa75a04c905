"""Errors of the Python API in the words of a program.

Modules below name options, as the command line takes them. :func:`speaks_python` replaces them by settings
and arguments.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

#: Options that are arguments of a public function.
_ARGUMENTS = ("game", "max-ticks", "method", "run-dir", "teacher")
_SETTING = re.compile(r"(?<![\w-])--([a-z][\w-]*(?:\.[\w-]+)*)(?:(?: |=)([A-Z]+\b|[\d.]*\d\b))?")
_ARGUMENT = re.compile(
    rf"(?<![\w-])--({'|'.join(_ARGUMENTS)})(?![\w-]|\.\w)"
    r"(?:(?: |=)([A-Z]+\b|\d+\b|[^\s:;,()]*[./][^\s:;,()]*))?"
)
_EXPLAIN = "see: ludus train PRESET --explain"
#: A command to paste keeps its options.
_COMMAND = re.compile(r"\b(?:ludus|cmake) [a-z-]+[^;()]*")


def in_python(text: str) -> str:
    """``text`` with settings and arguments in place of options.

    ``--run.max-steps`` becomes ``settings["run.max_steps"]``, ``--game NAME`` becomes ``game=NAME``.
    """
    text = text.replace("unknown option", "unknown setting").replace("see: --explain", _EXPLAIN)
    out, at = [], 0
    for command in _COMMAND.finditer(text):
        out += [_without_options(text[at : command.start()]), command[0]]
        at = command.end()
    return "".join([*out, _without_options(text[at:])])


def _without_options(text: str) -> str:
    def setting(found: re.Match[str]) -> str:
        value = f" = {found[2]}" if found[2] else ""
        return f'settings["{found[1].replace("-", "_")}"]{value}'

    def argument(found: re.Match[str]) -> str:
        value = found[2] or "..."
        plain = value.isupper() or value.isdecimal() or not found[2]
        return f"{found[1].replace('-', '_')}={value if plain else repr(value)}"

    return _SETTING.sub(setting, _ARGUMENT.sub(argument, text))


def speaks_python(function: Callable[P, R]) -> Callable[P, R]:
    """The function with its errors in Python's words (:func:`in_python`), theirs and no others."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if error.args and isinstance(error.args[0], str):
                error.args = (in_python(error.args[0]), *error.args[1:])
            lines = getattr(error, "lines", None)
            if isinstance(lines, tuple):
                error.lines = tuple(in_python(str(line)) for line in lines)  # type: ignore[attr-defined]
            raise

    return called

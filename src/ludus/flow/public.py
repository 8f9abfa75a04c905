"""Arguments and errors of the public Python API.

Modules below name options in their errors, as the command line takes them. :func:`speaks_python` replaces
them by settings and arguments.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ludus.flow.as_found import as_found
from ludus.flow.names import did_you_mean
from ludus.flow.whole import whole

P = ParamSpec("P")
R = TypeVar("R")

#: Options that are arguments of a public function.
_ARGUMENTS = ("game", "max-ticks", "method", "run-dir", "teacher")
_SETTING = re.compile(r"(?<![\w-])--([a-z][\w-]*(?:\.[\w-]+)*)(?:(?: |=)([A-Z]+\b|[\d.]*\d\b))?")
_ARGUMENT = re.compile(
    rf"(?<![\w-])--({'|'.join(_ARGUMENTS)})(?![\w-]|\.\w)"
    r"(?:(?: |=)([A-Z]+\b|\d+\b|[^\s:;,()]*[./][^\s:;,()]*))?"
)
#: Annotations of arguments that take an integer.
_INTEGERS = ("int", "int | None")
_EXPLAIN = "see: ludus train PRESET --explain"
#: A command to paste keeps its options.
_COMMAND = re.compile(r"\b(?:ludus|cmake) [a-z-]+[^;()]*")


def in_python(text: str) -> str:
    """Return ``text`` with settings and arguments in place of options.

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
    """Wrap a public function: its errors name settings and arguments (:func:`in_python`).

    The caller's process is as before when it returns or raises (:func:`ludus.flow.as_found.as_found`).
    """

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with as_found():
                return function(*args, **kwargs)
        except Exception as error:
            if error.args and isinstance(error.args[0], str):
                error.args = (in_python(error.args[0]), *error.args[1:])
            lines = getattr(error, "lines", None)
            if isinstance(lines, tuple):
                error.lines = tuple(in_python(str(line)) for line in lines)  # type: ignore[attr-defined]
            raise

    return called


def _integer(name: str, value: object) -> object:
    found = whole(getattr(value, "tolist", lambda: value)())  # numpy's numbers
    if isinstance(found, bool) or not isinstance(found, (int, type(None))):
        raise ValueError(f"{name} = {value!r}: expected an integer")
    return found


def takes_options(declared: type, defaults: object) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator for a function of ``**options: Unpack[declared]``.

    The signature that ``help`` and notebooks show lists the options one by one; an unknown one raises
    ``TypeError`` with the nearest name.

    Args:
        declared: A ``TypedDict``: option -> type.
        defaults: An object whose attributes are the defaults of the options.
    """
    options = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=getattr(defaults, name),
            annotation=getattr(kind, "__forward_arg__", kind),
        )
        for name, kind in declared.__annotations__.items()
    ]

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        named = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        known = [p.name for p in (*named, *options)]
        integers = {p.name for p in (*named, *options) if p.annotation in _INTEGERS}

        @functools.wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if name not in known:
                    hint = did_you_mean(name, known)
                    raise TypeError(
                        f"{function.__name__}() got an unexpected keyword argument '{name}'{hint}"
                    )
            for name in integers & kwargs.keys():
                kwargs[name] = _integer(name, kwargs[name])
            return function(*args, **kwargs)

        called.__signature__ = signature.replace(parameters=[*named, *options])  # type: ignore[attr-defined]
        return called

    return decorate

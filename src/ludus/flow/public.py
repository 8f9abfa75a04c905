"""The front door for Python: packages that are functions too, and errors in the words of a program.

``ludus.train(...)`` is a function where ``ludus.train`` is a package as well (:class:`PublicFunction`). What
lies below speaks of options, as the command line takes them; :func:`speaks_python` says the same of settings
and arguments.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")

#: Options that are arguments of a public function.
_ARGUMENTS = ("game", "max-ticks", "run-dir", "teacher")
_SETTING = re.compile(r"(?<![\w-])--([a-z][\w-]*(?:\.[\w-]+)*)(?:(?: |=)([A-Z]+\b|[\d.]*\d\b))?")
_ARGUMENT = re.compile(
    rf"(?<![\w-])--({'|'.join(_ARGUMENTS)})(?![\w-]|\.\w)"
    r"(?:(?: |=)([A-Z]+\b|\d+\b|[^\s:;,()]*[./][^\s:;,()]*))?"
)
_EXPLAIN = "see: ludus train PRESET --explain"
#: A command to paste keeps its options.
_COMMAND = re.compile(r"\b(?:ludus|cmake) [a-z-]+[^;()]*")

#: What a function has and a module has not, or has with another meaning.
_OF_FUNCTIONS = frozenset(
    {"__annotations__", "__code__", "__defaults__", "__globals__", "__kwdefaults__", "__qualname__"}
)


class PublicFunction:
    """A package ``ludus.NAME`` that is the public function ``ludus.NAME`` for everyone who looks at it.

    Importing a module of the package rebinds the name in ``ludus`` to what stands in ``sys.modules``: this
    object. It forwards calls, the signature and the docstring to the function, so that ``help``, editors and
    notebooks show its arguments, and everything else to the package. It is no module by type: ``help`` would
    describe the package then.
    """

    _package: ModuleType

    def __init__(self, package: ModuleType) -> None:
        object.__setattr__(self, "_package", package)

    @property
    def __wrapped__(self) -> Callable[..., object]:
        root, _, name = self._package.__name__.rpartition(".")
        return cast(Callable[..., object], sys.modules[root].function(name))

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return self.__wrapped__.__doc__

    @property
    def __module__(self) -> str:  # type: ignore[override]
        return self._package.__name__.rpartition(".")[0]

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self.__wrapped__(*args, **kwargs)

    def __get__(self, owner: object, kind: type | None = None) -> PublicFunction:
        """Marks it as a routine for :mod:`inspect` and ``help``."""
        return self

    def __getattr__(self, name: str) -> object:
        if name in _OF_FUNCTIONS:
            return getattr(self.__wrapped__, name)
        return getattr(self._package, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._package, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._package, name)

    def __dir__(self) -> list[str]:
        return dir(self._package)

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        """Other processes import it: a run may be the target of a process."""
        return import_module, (self._package.__name__,)

    def __repr__(self) -> str:
        return f"<function {self._package.__name__}>"


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


def make_callable(package: str) -> None:
    """Called by the package itself, with its ``__name__``."""
    sys.modules[package] = cast(ModuleType, PublicFunction(sys.modules[package]))

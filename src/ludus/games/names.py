"""Which references may decide what code is loaded.

A reference comes from a person (a command line, a preset named there, a program) or from a file: weights, a
run, a replay. A file may be anybody's, so its names load what is built in or installed and nothing else.
:func:`typed` marks a reference as given by a person; every other reference counts as read from a file. The
mark belongs to this process and to exactly that reference, so code that forgets it refuses a game, and never
runs one.
"""

from __future__ import annotations

import re

from ludus.native import ParamError

#: Longest name that a file may give a game.
MAX_NAME = 128
_SHOWN = 80

_WORD = r"[A-Za-z0-9][A-Za-z0-9_-]*"
#: What a file may name: a word (a built-in game, an entry point), or an entry of the table that an installed
#: library keeps. ``pkg:Id`` and dotted names are missing on purpose: they import the module that they name.
_INSTALLED = re.compile(
    rf"{_WORD}"
    rf"|gymnasium/(?:{_WORD}/)?{_WORD}"
    rf"|(?:atari|openspiel|vizdoom)/{_WORD}"
    rf"|pettingzoo/(?:atari|butterfly|classic|mpe|sisl)/{_WORD}"
)
_PRINTABLE = re.compile(r"[!-~]+")

#: References that a person gave.
_typed: set[str] = set()
#: Names of the games whose code was loaded by a reference that could be.
_loaded: set[str] = set()


class UnknownGame(ParamError):
    """A game that is not here, or whose code a person has to name. A ``ValueError``."""


def typed(reference: str) -> str:
    """``reference``, from now on allowed to load code in this process: a person gave it.

    Never to be called with what was read from weights, a run or a replay.
    """
    if reference:
        _typed.add(reference)
    return reference


def is_typed(reference: str) -> bool:
    """Whether a person gave ``reference``. Its modules may then also be those of the current folder."""
    return reference in _typed


def loaded(name: str) -> str:
    """``name``, from now on a name of code that this process has loaded (or its parent, for a worker)."""
    _loaded.add(name)
    return name


def may_load(reference: str) -> bool:
    """Whether the code behind ``reference`` may be looked up and loaded."""
    return reference in _typed or reference in _loaded or is_installed_name(reference)


def is_installed_name(reference: str) -> bool:
    """Whether ``reference`` has the form of a built-in or installed game, the only one that files may use."""
    return len(reference) <= MAX_NAME and _INSTALLED.fullmatch(reference) is not None


def admit(reference: str) -> None:
    """Raises :class:`UnknownGame` where :func:`may_load` is false."""
    if not may_load(reference):
        raise UnknownGame(
            f"{shown(reference)}: a name read from a file loads built-in and installed games only; "
            "if you trust the code of this game, name it yourself: --game REFERENCE "
            "(in Python: ludus.games.typed)"
        )


def shown(reference: str) -> str:
    """``reference`` for a message: control characters escaped, cut to one short line."""
    text = reference if _PRINTABLE.fullmatch(reference) else repr(reference)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(reference)} characters)"

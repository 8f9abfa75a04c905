"""References that may load code: games, and bots in Python.

A reference comes from the user (a command line, a preset named there, a program) or from a file: weights, a
run, a replay. A file may be untrusted, so its names load built-in and installed games only.
:func:`typed` marks a reference as given by the user; every other reference counts as read from a file. The
mark belongs to this process and to exactly that reference. So code that forgets the mark refuses a game or a
bot and never runs one. :func:`admit` and :func:`admit_bot` are called where code is loaded, for references
of every origin.
"""

from __future__ import annotations

import re

from ludus.flow.inputs.shown import shown
from ludus.flow.problem import Argument, HasProblems
from ludus.native import ParamError

#: Longest name that a file may give a game.
MAX_NAME = 128

_WORD = r"[A-Za-z0-9][A-Za-z0-9_-]*"
#: Names that files may use: a word (a built-in game, an entry point), or an entry of an installed library's
#: table. ``pkg:Id`` and dotted names are excluded: they import the module that they name.
_INSTALLED = re.compile(
    rf"{_WORD}"
    rf"|gymnasium/(?:{_WORD}/)?{_WORD}"
    rf"|(?:atari|openspiel|vizdoom)/{_WORD}"
    rf"|pettingzoo/(?:atari|butterfly|classic|mpe|sisl)/{_WORD}"
)

#: References that the user gave.
_typed: set[str] = set()
#: Names of the games whose code was loaded by a reference that could be.
_loaded: set[str] = set()


class UnknownGame(HasProblems, ParamError):
    """An unknown game, or a game whose code the user must name. A ``ValueError``."""


class UntypedBot(ValueError):
    """Error for a bot in Python that a file names."""


def typed(reference: str) -> str:
    """Return ``reference`` and allow it to load code in this process, because the user gave it.

    Never call it with a name from weights, a run or a replay.
    """
    if reference:
        _typed.add(reference)
    return reference


def is_typed(reference: str) -> bool:
    """Return whether the user gave ``reference``. Its modules may then come from the current folder."""
    return reference in _typed


def loaded(name: str) -> str:
    """Return ``name`` and mark it as a name of code that this process (or a worker's parent) has loaded."""
    _loaded.add(name)
    return name


def may_load(reference: str) -> bool:
    """Return whether the code behind ``reference`` may be looked up and loaded."""
    return reference in _typed or reference in _loaded or is_installed_name(reference)


def is_installed_name(reference: str) -> bool:
    """Return whether ``reference`` has the form of a built-in or installed game.

    Files may use no other form.
    """
    return len(reference) <= MAX_NAME and _INSTALLED.fullmatch(reference) is not None


def is_bot_file(text: str) -> bool:
    """Return whether a player's name is a Python file with a bot: ``my_bot.py``, ``my_bot.py:Pikes``."""
    file, colon, name = text.rpartition(":")
    return text.endswith(".py") or bool(colon and file.endswith(".py") and name.isidentifier())


def typed_player(text: str) -> str:
    """Apply :func:`typed` to a player's name if it is a Python file with a bot; return the name."""
    return typed(text) if is_bot_file(text) else text


def admit_bot(text: str) -> None:
    """Raise :class:`UntypedBot` unless the user gave ``text``, the name of a bot in Python."""
    if not is_typed(text):
        raise UntypedBot(
            f"{shown(text)}: a name read from a file loads no Python file; if you trust this code, name it "
            "yourself on the command line (in Python: ludus.games.typed)"
        )


def admit(reference: str) -> None:
    """Raise :class:`UnknownGame` if :func:`may_load` is false."""
    if not may_load(reference):
        raise UnknownGame(
            f"{shown(reference)}: a name read from a file loads built-in and installed games only; "
            "if you trust the code of this game, name it yourself: ",
            Argument("game", form="REFERENCE"),
            " (in Python: ludus.games.typed)",
        )

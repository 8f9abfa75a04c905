"""Problems: mistakes and failures as data, which each surface writes for its reader.

Code that finds a mistake names settings and arguments as data (:class:`Setting`, :class:`Argument`). The
command line writes them as options, Python as settings and keywords, pages and logs as keys of a preset
(:class:`Words`). What a user typed is a plain string, which no surface changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

import msgspec

from ludus.flow.names import nearest

T = TypeVar("T")


class Setting(msgspec.Struct, frozen=True):
    """A setting of a preset, which the reader may give.

    Args:
        path: Its path, or its name as a user wrote it.
        value: Its value.
        form: A word for the value, which the reader replaces: ``HOST:PORT``.
    """

    path: str
    value: str = ""
    form: str = ""


class Argument(msgspec.Struct, frozen=True):
    """An argument of public functions and commands: ``game``, ``max_ticks``.

    Args:
        name: Its name in Python.
        value: Its value.
        form: A word for the value, which the reader replaces: ``FILE.py``.
        command: The command with this option, if no Python function has such an argument.
    """

    name: str
    value: str = ""
    form: str = ""
    command: str = ""


class Noun(msgspec.Struct, frozen=True):
    """The word for a setting: "option" on the command line."""


Part = str | Setting | Argument | Noun
Text = str | tuple[Part, ...]


class Near(msgspec.Struct, frozen=True):
    """Valid names nearest to an unknown one; of a ``kind``, all valid names, because none is near."""

    names: tuple[Part, ...] = ()
    kind: str = ""


NONE_NEAR = Near()
MOST_NAMES = 20  #: that a message lists


class Problem(msgspec.Struct, frozen=True):
    """One mistake, or another problem that a reader should know.

    Args:
        path: The setting; "" = none, or the whole document.
        text: What is wrong; "" = ``path`` has ``value``, and ``expected`` is expected.
        value: What the setting has.
        expected: What it may have.
        near: Valid names, of which the reader may mean one.
        where: Places from the outer to the inner one: a file, an option, a player.
        more: End of the sentence: what helps.
    """

    path: str = ""
    text: Text = ""
    value: object = None
    expected: str = ""
    near: Near = NONE_NEAR
    where: tuple[Part, ...] = ()
    more: Text = ""

    def __str__(self) -> str:
        """Return the message for a reader of Python."""
        return message(self)

    def within(self, *where: Part, more: Text = "") -> Problem:
        """Return the problem with further places in front and ``more`` at the end."""
        end = (*_parts(self.more), *_parts(more))
        return msgspec.structs.replace(self, where=(*filter(None, where), *self.where), more=end)


class HasProblems(Exception):
    """An error that carries problems. Its ``str`` is written for Python."""

    def __init__(self, *given: Part | Problem | BaseException, where: Part = "", more: Text = "") -> None:
        """Make an error of problems, of another error's problems, or of the parts of one sentence.

        Args:
            given: Problems and errors, or parts of a sentence.
            where: Place that is put in front of every problem.
            more: End of every problem.
        """
        super().__init__(*(problem.within(where, more=more) for problem in _problems(given)))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems, at least one."""
        return tuple(_problems(self.args))  # a library may have put an error of this class there

    def __str__(self) -> str:
        """Return the problems, one a line."""
        return message(self)

    def __repr__(self) -> str:
        """Return the class and its message."""
        return f"{type(self).__name__}({str(self)!r})"


def _problems(given: Iterable[Part | Problem | BaseException]) -> list[Problem]:
    problems: list[Problem] = []
    parts: list[Part] = []
    for item in given:
        if isinstance(item, HasProblems):
            problems += item.problems
        elif isinstance(item, Problem):
            problems.append(item)
        else:
            parts.append(str(item) if isinstance(item, BaseException) else item)
    return problems if problems and not parts else [*problems, Problem(text=tuple(parts) or ("",))]


class Words(NamedTuple):
    """How a surface writes what its reader may set. ``noun``: its word for a setting."""

    noun: str
    setting: Callable[[Setting], str]
    argument: Callable[[Argument], str]


def _python_setting(setting: Setting) -> str:
    value = _value(setting, repr)
    return f'settings["{setting.path}"]' + (f" = {value}" if value else "")


def _python_argument(argument: Argument) -> str:
    return _command(argument) or f"{argument.name}={_value(argument, repr) or '...'}"


def _preset_setting(setting: Setting) -> str:
    value = _value(setting, quoted)
    return f"{setting.path} = {value}" if value else setting.path


def _preset_argument(argument: Argument) -> str:
    return _command(argument) or f"{argument.name} {argument.value or argument.form}".rstrip()


#: Settings and keywords of the public functions.
PYTHON = Words("setting", _python_setting, _python_argument)
#: Keys of a preset's file, for logs and pages.
PRESET = Words("setting", _preset_setting, _preset_argument)


def _command(argument: Argument) -> str:
    """Return an option that only a command has; "" for other arguments."""
    name, value = argument.name.replace("_", "-"), argument.value or argument.form
    return f"ludus {argument.command} --{name} {value}".rstrip() if argument.command else ""


def _value(part: Setting | Argument, quote: Callable[[str], str]) -> str:
    """Return the value, quoted unless it is a number, or the word for it; "" for none."""
    if part.value.replace(".", "", 1).isdecimal():
        return part.value
    return quote(part.value) if part.value else part.form


def message(given: Problem | BaseException | str, words: Words = PYTHON) -> str:
    """Return the message of a problem, or of an error, one line a problem; ``words`` name the settings."""
    if isinstance(given, HasProblems):
        return "\n".join(message(problem, words) for problem in given.problems)
    if not isinstance(given, Problem):
        return str(given)
    body = _parts(given.text)
    if not body:
        body = (f"{given.path or 'this'} = {quoted(given.value)}: expected {given.expected}",)
    places = "".join(f"{written(place, words)}: " for place in given.where)
    return places + written((*body, *_hint(given.near), *_parts(given.more)), words)


def written(text: Text | Part, words: Words = PYTHON) -> str:
    """Return a text as a string; ``words`` name its settings and arguments."""
    return "".join(_written(part, words) for part in _parts(text))


def _written(part: Part, words: Words) -> str:
    if isinstance(part, Setting):
        return words.setting(part)
    if isinstance(part, Argument):
        return words.argument(part)
    return words.noun if isinstance(part, Noun) else part


def _parts(text: Text | Part) -> tuple[Part, ...]:
    if isinstance(text, tuple):
        return text
    return (text,) if text else ()


def _hint(near: Near) -> tuple[Part, ...]:
    shown = near.names[:MOST_NAMES]
    names = [part for name in shown for part in (", " if near.kind else " or ", name)][1:]
    if not near.kind:
        return (" (did you mean ", *names, "?)") if names else ()
    more = ", ..." if len(near.names) > MOST_NAMES else ""
    return (f" ({near.kind}: ", *names, f"{more})") if names else ()


def changed(given: T, change: Callable[[str], str]) -> T:
    """Return a text, a problem or an error's arguments with ``change`` applied to every string."""
    if isinstance(given, str):
        return change(given)  # type: ignore[return-value]
    if isinstance(given, tuple):
        return tuple(changed(item, change) for item in given)  # type: ignore[return-value]
    if isinstance(given, msgspec.Struct):
        return type(given)(*(changed(getattr(given, name), change) for name in given.__struct_fields__))
    return given


def near_of(name: str, valid: Iterable[str], kind: str = "valid names", cutoff: float = 0.6) -> Near:
    """Return the valid name nearest to ``name``; if none is near, all as a ``kind``, or none with kind ""."""
    names = list(dict.fromkeys(valid))
    if found := nearest(name, names, cutoff):
        return Near((found,))
    return Near(tuple(names), kind) if kind else NONE_NEAR


def quoted(value: object) -> str:
    """Return a value as an error shows it: short, on one line."""
    if isinstance(value, bool):
        return str(value).lower()
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."

"""Syntax of GTP 2: preprocessing, ids, answers. It contains no commands."""

from __future__ import annotations

import re
from typing import NamedTuple

from ludus.flow.inputs.shown import terminal

MAX_LINE = 1 << 16

#: Byte order marks, as some systems write them before the first line: as UTF-8, and the bytes of UTF-16.
_MARKS = "\ufeff\udcff\udcfe"
_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#")

# Control characters are removed, tabs become spaces (GTP 2, section 3.1).
_CLEAN = dict.fromkeys([*range(32), 127]) | {9: " "}


class CommandLine(NamedTuple):
    """One command of a controller.

    Attributes:
        number: Its id as written, empty without one.
        name: Name of the command.
        arguments: Words after the name.
        rest: All text after the name as written. A number sign within a word is kept: paths may hold one.
    """

    number: str
    name: str
    arguments: tuple[str, ...]
    rest: str = ""


class GtpError(Exception):
    """A command failed; the text follows the question mark."""


def read_command(line: str) -> CommandLine | None:
    """Return the command in a line; None for a line of comments and white space."""
    line = line.lstrip(_MARKS)
    words = line.partition("#")[0].translate(_CLEAN).split()
    if not words:
        return None
    number = ""
    # An id is digits; int() would take signs, underscores and digits of other scripts.
    if words[0].isascii() and words[0].isdigit():
        number = words.pop(0)[:20]
    if not words:
        return CommandLine(number, "", ())
    whole = _COMMENT.split(line.translate({**_CLEAN, 9: "\t"}), maxsplit=1)[0]
    rest = whole.partition(number)[2] if number else whole
    return CommandLine(number, words[0], tuple(words[1:]), rest.partition(words[0])[2].strip(" \t"))


def answer(number: str, text: str, *, failed: bool = False) -> str:
    """Return the whole answer with its empty line.

    Inner empty lines would end the answer early, so they get a space. Control characters and bytes that are
    not UTF-8 become escapes.
    """
    # Names, files and words of the controller's may be anyone's: a terminal must not obey them.
    text = terminal(text)
    lines = [line.rstrip() or " " for line in text.split("\n")] if "\n" in text else [text]
    body = "\n".join(lines)
    return f"{'?' if failed else '='}{number}{' ' if body else ''}{body}\n\n"

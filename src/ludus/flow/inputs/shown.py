r"""Text of files and people as it is shown: escaped once, where it leaves, for the medium that it enters.

Titles, names, messages and paths may come from anyone's files. Each medium has one function, which every
report, plot, page and line uses: :func:`markdown`, :func:`markup` (SVG and HTML), :func:`terminal`, and
:func:`shell` for a name in a command that people paste. Each makes control characters, escape sequences and
marks that turn the direction of writing visible (``\x1b``, ``\u202e``), so that a reader sees every character
and nothing acts on it.
"""

from __future__ import annotations

import html
import re
import shlex
import unicodedata

_SHORT = 80
_ODD = re.compile(r"[^ -~]")
_PRINTABLE = re.compile(r"[!-~]+")
#: Characters that are markup within a line of Markdown.
_ACTIVE = re.compile(r"[<>&\[\]|`\\]|(?<=:)//|(?i:\bwww(?=\.))")
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ENDS = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def visible(text: str) -> str:
    """Return ``text`` on one line, with an escape for every character that is not printed."""
    if text.isprintable():
        return text
    return _ODD.sub(lambda found: _seen(found[0]), text)


def terminal(text: str) -> str:
    """Return ``text`` for a terminal or a log; its lines and tabs stay."""
    if text.isprintable():
        return text
    return _ODD.sub(lambda found: found[0] if found[0] in "\n\t" else _seen(found[0]), text)


def shown(text: str) -> str:
    """Return ``text`` as one short word of a message: control characters escaped, cut to one short line."""
    whole = text if _PRINTABLE.fullmatch(text) else repr(text)
    return whole if len(whole) <= _SHORT else f"{whole[:_SHORT]}... ({len(whole)} characters)"


def markup(text: str) -> str:
    """Return ``text`` for use within SVG or HTML, between tags or as an attribute."""
    return html.escape(visible(text), quote=True)


def markdown(text: str) -> str:
    """Return ``text`` for a line or table cell of Markdown, free of tags, links, images, code and cells."""
    return _ACTIVE.sub(_neutral, visible(text))


def utf8(text: str) -> str:
    r"""Return ``text`` with escapes for bytes of a path that are not UTF-8: ``\udcff``."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def shell(text: str) -> str:
    """Return ``text``, a path or a name, as one word of a command line that can be pasted into a shell.

    Characters that a shell acts on are quoted. Bytes and characters that a terminal does not show appear as
    escapes within ``$'...'``, which bash, zsh, ksh and busybox read. A leading dash becomes ``./-``: it
    starts no option.
    """
    if text.startswith("-"):
        text = f"./{text}"
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(map(_ansi_c, text)) + "'"


def _ansi_c(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if character.isprintable():
        return character
    how = "surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass"
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", how))


def code(text: str) -> str:
    """Return ``text`` as a span of code in Markdown, also within a table's cell."""
    plain = visible(text).replace("|", "\\|")
    marks = _fence(plain, 1)
    space = " " if "`" in plain else ""
    return f"{marks}{space}{plain}{space}{marks}"


def fenced(text: str, language: str = "") -> list[str]:
    """Return the lines of ``text`` as a block of code in Markdown, which nothing in ``text`` closes."""
    plain = terminal(text)
    fence = _fence(plain, 3)
    return [f"{fence}{language}", plain, fence]


def _seen(character: str) -> str:
    """Return the character, or its escape where it would not be visible.

    JSON and TOML read most of these escapes.
    """
    if character.isprintable() or unicodedata.category(character) == "Zs":
        return character
    if character in _NAMED:
        return _NAMED[character]
    number = ord(character)
    if number < 0x80:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 1 << 16 else f"\\U{number:08x}"


def _neutral(found: re.Match[str]) -> str:
    given = found[0]
    return _ENDS.get(given) or "".join(f"&#{ord(c)};" for c in given)


def _fence(text: str, least: int) -> str:
    """Return more backticks than ``text`` has in a row, ``least`` or more."""
    return "`" * max(least, 1 + max(map(len, re.findall("`+", text)), default=0))

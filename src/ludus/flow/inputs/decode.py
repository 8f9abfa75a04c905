"""JSON and TOML of files, decoded within bounds.

A file may be anyone's. Python's decoders recurse, convert integers of any length, and need quadratic time for
long dotted keys. Every reader of files decodes here, so that such a file is one error like any other damage.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Callable
from itertools import accumulate
from types import UnionType
from typing import Any, TypeVar, overload

import msgspec

from ludus.flow.inputs.shown import utf8

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MAX_DEPTH = 64
MAX_INTEGER = 10**40  # of TOML

Decoded = TypeVar("Decoded")
#: Error for a TOML text that cannot be used, a ``ValueError``.
TomlError = tomllib.TOMLDecodeError


class TextError(ValueError):
    """Bytes of a file that are not the text that was expected."""


#: Other encodings, by the mark with which editors start such files; longer marks first.
_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}

_TOO_DEEP = f"nested more than {MAX_DEPTH} deep"
_TOO_LONG = "an integer of too many digits"
_AS_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_LONG = b"0" * 21  # digits of an integer that is too long: found several times faster than by a pattern
_JSON_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_JSON_STRING = re.compile(rb'"[^"]*"?')
_JSON_INTEGER = re.compile(rb"(?<![0-9.eE+])[0-9]{21,}(?![0-9.eE])")
_NOT_BRACKETS = bytes(set(range(256)) - set(b'[]{}"'))
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_TOML_OPENS = re.compile(r'"""|\'\'\'|["\'#]')
_TOML_CLOSES = {
    '"""': re.compile(r'\\.|"""', re.DOTALL),
    "'''": re.compile("'''"),
    '"': re.compile(r'\\.|["\n]', re.DOTALL),
    "'": re.compile(r"['\n]"),
    "#": re.compile(r"\n"),
}
#: A key of too many parts, in a text whose strings are empty.
_TOML_KEY = re.compile(rf"(?<![^\s.,=\[\]{{}}])(?:[^\s.,=\[\]{{}}]+[ \t]*\.[ \t]*){{{MAX_DEPTH}}}")
_TOML_DIGITS = re.compile(r"[0-9_]{640,}")  # no limit of Python's can be lower


@overload
def from_json(data: bytes | str | msgspec.Raw) -> Any: ...  # noqa: ANN401
@overload
def from_json(data: bytes | str | msgspec.Raw, kind: type[Decoded]) -> Decoded: ...
@overload
def from_json(data: bytes | str | msgspec.Raw, kind: UnionType) -> Any: ...  # noqa: ANN401
def from_json(data: bytes | str | msgspec.Raw, kind: Any = Any) -> Any:
    """Decode a JSON document as a ``kind``.

    Raises ``msgspec.DecodeError`` for anything else, for text that is not UTF-8, values nested more than
    ``MAX_DEPTH`` deep and integers of more than 20 digits.
    """
    try:
        raw = data.encode() if isinstance(data, str) else bytes(data)
        _check_json(raw)
        return msgspec.json.decode(raw, type=kind)
    except UnicodeError:
        raise msgspec.DecodeError("not UTF-8 text") from None
    except RecursionError:
        raise msgspec.DecodeError(_TOO_DEEP) from None


def json_decoder(kind: Any) -> Callable[[bytes], Any]:  # noqa: ANN401
    """Return a decoder of many documents of one kind, with the bounds and errors of :func:`from_json`."""
    decoder = msgspec.json.Decoder(kind)

    def decode(raw: bytes) -> Any:  # noqa: ANN401
        try:
            _check_json(raw)
            return decoder.decode(raw)
        except UnicodeError:
            raise msgspec.DecodeError("not UTF-8 text") from None
        except RecursionError:
            raise msgspec.DecodeError(_TOO_DEEP) from None

    return decode


def _check_json(raw: bytes) -> None:
    """Raise ``msgspec.DecodeError`` for a document out of bounds; the decoder finds other damage."""
    long = _LONG in raw.translate(_AS_ZEROS)
    if not long and raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH:
        return
    if b"\\" in raw:
        raw = _JSON_ESCAPE.sub(b"", raw)
    if long and _JSON_INTEGER.search(_JSON_STRING.sub(b"", raw)):
        raise msgspec.DecodeError(_TOO_LONG)
    brackets = _JSON_STRING.sub(b"", raw.translate(None, _NOT_BRACKETS))
    steps = memoryview(brackets.translate(_STEPS)).cast("b")
    if max(accumulate(steps), default=0) > MAX_DEPTH:
        raise msgspec.DecodeError(_TOO_DEEP)


def to_json(value: object) -> bytes:
    r"""Encode ``value`` as JSON; bytes of a path that are not UTF-8 become their escapes (``\udcff``)."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_utf8(msgspec.to_builtins(value)))


def _utf8(value: object) -> object:
    if isinstance(value, str):
        return utf8(value)
    if isinstance(value, dict):
        return {_utf8(key): _utf8(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_utf8(item) for item in value]
    return value


def text_of(raw: bytes) -> str:
    """Decode the text of a file that people edit.

    The file is UTF-8, with or without the byte order mark that some editors write. Lines of the result end
    with a line feed.

    Raises :class:`TextError` for another encoding.
    """
    encoding = next((name for mark, name in _MARKS.items() if raw.startswith(mark)), "")
    if encoding:
        raise TextError(f"{encoding} text (by its byte order mark), expected UTF-8; save it as UTF-8")
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise TextError(f"not UTF-8 text (byte {error.start})") from None


def from_toml(text: str) -> dict[str, Any]:
    """Decode a TOML text, with or without a byte order mark.

    Raises ``TomlError`` for anything else, for tables nested more than ``MAX_DEPTH`` deep and integers of
    ``MAX_INTEGER`` or more.
    """
    text = text.removeprefix("\ufeff")
    if _TOML_KEY.search(_without_strings(text)):
        raise TomlError(_TOO_DEEP)
    try:
        document: dict[str, Any] = tomllib.loads(text)
    except RecursionError:
        raise TomlError(_TOO_DEEP) from None
    except TomlError:
        raise
    except ValueError:  # Python's own bound on the digits of an integer
        digits = _TOML_DIGITS.search(text)
        at = f" (at line {text.count(chr(10), 0, digits.start()) + 1})" if digits else ""
        raise TomlError(f"{_TOO_LONG}{at}") from None
    _check_document(document)
    return document


def _without_strings(text: str) -> str:
    """Return ``text`` with empty strings and no comments, up to its first mistake.

    One search after another: a pattern for whole strings takes memory for every character of a long one.
    """
    parts: list[str] = []
    at = 0
    while (opened := _TOML_OPENS.search(text, at)) is not None:
        closing = _TOML_CLOSES[opened[0]].finditer(text, opened.end())
        parts += [text[at : opened.start()], "\n" if opened[0] == "#" else '""']
        at = next((found.end() for found in closing if found[0][0] != "\\"), len(text))
    return "".join([*parts, text[at:]])


def _check_document(document: dict[str, Any]) -> None:
    waiting: list[tuple[object, int, str]] = [(document, 0, "")]
    while waiting:
        value, depth, name = waiting.pop()
        if depth > MAX_DEPTH:
            raise TomlError(_TOO_DEEP)
        if isinstance(value, dict):
            waiting += [(v, depth + 1, k) for k, v in value.items()]
        elif isinstance(value, list):
            waiting += [(v, depth + 1, name) for v in value]
        elif isinstance(value, int) and not -MAX_INTEGER < value < MAX_INTEGER:
            raise TomlError(f"{name[:80]}: {_TOO_LONG}")

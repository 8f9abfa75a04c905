r"""Text of an SGF file: detection of its encoding.

The second byte of a character of Shift_JIS, GBK and Big5 may be ``\`` or ``]``, so a file read in
the wrong encoding loses properties and moves. A byte order mark decides, then ``CA``, then UTF-8. A file
without any of these is read in the encoding that gives it the most properties, then the most common
characters.
"""

from __future__ import annotations

import codecs
import itertools
import re
from collections.abc import Callable
from typing import NamedTuple

#: Encodings that ``CA`` may name, by Python's names. Python's other codecs are no encodings of text.
ENCODINGS = frozenset(
    "utf-8 utf-16 utf-16-le utf-16-be ascii gb2312 gbk gb18030 hz big5 big5hkscs cp950 shift_jis cp932 "
    "shift_jis_2004 shift_jisx0213 euc_jp iso2022_jp euc_kr cp949 johab iso2022_kr koi8-r koi8-u cp437 cp850 "
    "cp866 cp874 tis-620 mac-roman".split()
    + [f"iso8859-{n}" for n in range(1, 17)]
    + [f"cp125{n}" for n in range(9)]
)
LATIN = "Latin-1"  # the standard's default
#: Files are labelled with the standard and written with its extension.
_WIDER = {
    "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs",
    "ascii": "", "utf-16": "", "utf-16-le": "", "utf-16-be": "",
}  # fmt: skip
#: Encodings of files that name none, in order of preference: their common name, and the first bytes of their
#: common characters.
_UNNAMED = {
    "cp932": ("Shift_JIS", (range(0x82, 0x84), range(0x88, 0x98))),
    "gb18030": ("GB18030", (range(0xA3, 0xA4), range(0xB0, 0xD8))),
    "big5hkscs": ("Big5", (range(0xA4, 0xC7),)),
}
_CA = re.compile(rb"(?<![A-Za-z])[Cc][Aa]\s*\[\s*([A-Za-z0-9 ._:-]{1,40}?)\s*\]")
_MOST_LABELS = 8  # that are tried: the text of a comment may look like one


class SgfOutline(NamedTuple):
    """Nodes, values and declared encoding (``CA`` of the first root) of an SGF text."""

    parts: int
    charset: str


#: Reads a text; None if it is no SGF.
ReadOutline = Callable[[str], SgfOutline | None]


class DecodedText(NamedTuple):
    """Text, and a note if neither the file nor UTF-8 determines its encoding."""

    text: str
    note: str = ""


def decode(data: bytes, read: ReadOutline) -> DecodedText:
    """Decode ``data``. It never fails: Latin-1 holds all bytes."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return DecodedText(data.decode("utf-16", errors="replace"))
    for head, name in ((b"(\0;\0", "utf-16-le"), (b"\0(\0;", "utf-16-be")):
        if data.startswith(head):
            return DecodedText(data.decode(name, errors="replace"))
    data = data.removeprefix(codecs.BOM_UTF8)
    named, note = _named(data, read)
    if named is not None:
        return DecodedText(named, note)
    try:
        return DecodedText(data.decode("utf-8"), note)
    except UnicodeDecodeError:
        pass
    best, title = _best(data, read)
    reason = note or "the text is not UTF-8, and CA names no encoding"
    return DecodedText(best, "" if title == LATIN and not note else f"{reason}; read as {title}")


def encoding(name: str) -> str:
    """Return Python's name of the encoding that ``CA`` names; empty if there is none."""
    try:
        found = codecs.lookup(name.strip().replace(" ", "-")).name
    except (LookupError, ValueError):
        return ""
    return _WIDER.get(found, found) if found in ENCODINGS else ""


def _named(data: bytes, read: ReadOutline) -> tuple[str | None, str]:
    """Decode by the file's ``CA``; None, with a note, if there is none or the bytes do not fit."""
    if data.isascii() and b"\x1b" not in data and b"~{" not in data:
        return None, ""
    labels = [found[1].decode("ascii") for found in itertools.islice(_CA.finditer(data), _MOST_LABELS)]
    notes = []
    for label in dict.fromkeys(labels):
        text, note = _by_label(data, label, read)
        if text is not None:
            return text, note
        notes.append(note)
    return None, next(filter(None, notes), "")


def _by_label(data: bytes, label: str, read: ReadOutline) -> tuple[str | None, str]:
    name, title = encoding(label), f"CA[{label}]"
    if not name:
        return None, f"{title}: no encoding that is known here"
    try:
        text = data.decode(name)
    except UnicodeDecodeError:
        if name == "utf-8":
            return data.decode(name, errors="replace"), f"{title}: bytes that are not UTF-8 are replaced"
        return None, f"{title}: the bytes do not fit"
    outline = read(text)
    if outline is None:
        return None, f"{title}: the bytes do not fit"
    if encoding(outline.charset) != name:  # the label was the text of a comment
        return None, ""
    if name != "utf-8" and _is_utf8(data, name, outline.parts, read):
        return data.decode("utf-8"), f"{title}: the text is UTF-8"
    return text, ""


def _is_utf8(data: bytes, name: str, parts: int, read: ReadOutline) -> bool:
    """Return whether a file with another label is UTF-8, as files are that a program has converted.

    Other text is hardly ever valid UTF-8: not with several characters of three bytes, and not in an
    encoding of one byte a character, where each would be a letter and a sign.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    long = sum(c > "\u07ff" for c in text)
    return long > 1 or _parts(text, read) > parts or name.startswith(("iso8859", "cp125", "koi8", "mac"))


def _best(data: bytes, read: ReadOutline) -> tuple[str, str]:
    """Return the text and its encoding: the most properties, then the most common characters."""
    latin = data.decode("latin-1")
    choices = [(_parts(latin, read), _share_of_latin(data), 0, latin, LATIN)]
    for order, (name, (title, heads)) in enumerate(_UNNAMED.items()):
        try:
            text = data.decode(name)
        except UnicodeDecodeError:
            continue
        choices.append((_parts(text, read), _share(text, name, heads), len(_UNNAMED) - order, text, title))
    *_, text, title = max(choices, key=lambda c: c[:3])
    return text, title


def _parts(text: str, read: ReadOutline) -> int:
    outline = read(text)
    return outline.parts if outline is not None else -1


def _share(text: str, name: str, heads: tuple[range, ...]) -> float:
    """Return the part of the characters outside ASCII that are common ones of the encoding."""
    others = [c for c in text if not c.isascii()]
    common = sum(any(c.encode(name)[0] in head for head in heads) for c in others)
    return common / len(others) if others else 0.0


def _share_of_latin(data: bytes) -> float:
    """Return the part of the bytes above 127 that are lone letters of Latin-1; pairs count half."""
    runs = re.findall(rb"[\x80-\xff]+", data)
    letters = [r for r in runs if len(r) <= 2 and min(r) >= 0xC0]
    return sum(1.0 if len(r) == 1 else 0.5 for r in letters) / len(runs) if runs else 0.0

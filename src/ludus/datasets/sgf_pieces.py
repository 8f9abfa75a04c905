"""SGF collections of any size in pieces: one game each, found without reading a file whole.

A piece ends where its first ``(`` is closed. A game that is not closed ends where the next one starts, so
that a record which was cut costs only itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

MAX_GAME = 4 << 20
_CHUNK = 1 << 20
_MARGIN = 256  # bytes behind a bracket that say what it starts

_TOKEN = re.compile(rb"[\[()]")
#: A value without escapes, and text before it that starts nothing.
_VALUE = re.compile(rb"[^\[()]*\[[^\]\\]*\]")
_START = re.compile(rb"\(\s{0,64}(?:;|[A-Za-z]{1,32}\s{0,8}\[)")
#: The start of a game: no variation starts with properties of a root.
_ROOT = re.compile(rb"\(\s{0,64};\s{0,64}(?:GM|FF|CA|SZ|AP)\s{0,8}\[")
#: Properties of a game outside of any brackets.
_LOOSE = re.compile(rb"(?:B|W|AB|AW|SZ|KM|GM)\s?\[")


class SgfPiece(NamedTuple):
    """A stretch of a file with one game.

    Attributes:
        data: Its bytes; None if there are more than 4 MiB.
        offset: Where it starts in the file.
        first: Records of the file before it.
        loose: Whether it has no bracket at its start.
    """

    data: bytes | None
    offset: int
    first: int
    loose: bool = False


def pieces(file: BinaryIO, offset: int = 0, first: int = 0) -> Iterator[SgfPiece]:
    """Yield the games of a collection as bytes.

    Args:
        file: A file, opened to be read.
        offset: Where to start, as a piece has it.
        first: Records before that.
    """
    file.seek(offset)
    yield from _PieceReader(file, offset, first).read()


class _PieceReader:
    """Reader of a file: a window of its bytes, in which a piece starts."""

    def __init__(self, file: BinaryIO, offset: int, first: int) -> None:
        self.file = file
        self.window = b""
        self.base, self.first = offset, first  # of the window; records so far
        self.start = self.at = self.depth = 0  # of the piece; of the next token; open brackets
        self.done = False

    def read(self) -> Iterator[SgfPiece]:
        while True:
            if not self.done and len(self.window) - self.at < _MARGIN:
                yield from self._more()
                continue
            while (value := _VALUE.match(self.window, self.at)) is not None:
                self.at = value.end()
            found = _TOKEN.search(self.window, self.at)
            if found is None or not self.done and len(self.window) - found.start() < _MARGIN:
                self.at = found.start() if found else len(self.window)
                if self.done:
                    break
                yield from self._more()
                continue
            at = found.start()
            if found[0] == b"[":
                end = _end_of_value(self.window, at)
                if end >= 0:
                    self.at = end
                elif self.done:
                    break
                else:
                    yield from self._more()
            else:
                yield from self._bracket(found[0], at)
        if self.depth or _LOOSE.search(self.window, self.start):
            yield self._piece(len(self.window), loose=not self.depth)

    def _bracket(self, bracket: bytes, at: int) -> Iterator[SgfPiece]:
        self.at = at + 1
        if bracket == b")":
            self.depth = max(0, self.depth - 1) if self.depth else 0
            if not self.depth and self.window.startswith(b"(", self.start):
                yield self._piece(at + 1)
        elif not self.depth:
            if _START.match(self.window, at):
                if _LOOSE.search(self.window, self.start, at):
                    yield self._piece(at, loose=True)
                self.start, self.depth = at, 1
        elif _ROOT.match(self.window, at):  # the game before it has no end
            yield self._piece(at)
            self.depth = 1
        else:
            self.depth += 1

    def _piece(self, end: int, *, loose: bool = False) -> SgfPiece:
        made = SgfPiece(self.window[self.start : end], self.base + self.start, self.first, loose)
        self.first += 1
        self.start, self.depth = end, 0
        self.at = max(self.at, end)
        return made

    def _more(self) -> Iterator[SgfPiece]:
        """Read on; without a piece's end within 4 MiB go to the next game instead."""
        if len(self.window) - self.start > MAX_GAME:
            offset, loose = self.base + self.start, not self.depth
            if not loose or _LOOSE.search(self.window, self.start):
                yield SgfPiece(None, offset, self.first)
                self.first += 1
            self._skip()
            return
        got = self.file.read(_CHUNK)
        self.done = not got
        self.window = self.window[self.start :] + got
        self.base += self.start
        self.at -= self.start
        self.start = 0

    def _skip(self) -> None:
        """Go to the next start of a game behind the present piece's."""
        found = _ROOT.search(self.window, self.start + 1)
        while found is None and not self.done:
            keep = max(self.start + 1, len(self.window) - _MARGIN)
            got = self.file.read(_CHUNK)
            self.done = not got
            self.window, self.base, self.start = self.window[keep:] + got, self.base + keep, 0
            found = _ROOT.search(self.window)
        self.start = self.at = found.start() if found else len(self.window)
        self.depth = 0


def _end_of_value(data: bytes, start: int) -> int:
    """Return the place behind the value that starts with a bracket; -1 without its end."""
    end = data.find(b"]", start + 1)
    while end >= 0:
        escapes = end - 1
        while data[escapes] == 0x5C and escapes > start:
            escapes -= 1
        if (end - 1 - escapes) % 2 == 0:
            return end + 1
        end = data.find(b"]", end + 1)
    return -1

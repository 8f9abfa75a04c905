"""Records of Go in SGF: the headers, stones and moves of a file. go_record_text.py writes them.

Headers are read as other programs read them: komi in the units of Go servers, numbers with words behind
them, sizes such as ``19:19``. A header that cannot be read is left out, and a note names it: it never makes
the moves unreadable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

from ludus.flow.inputs.shown import visible
from ludus.games import go
from ludus.games.go_rules import rule_set
from ludus.games.records.sgf import Node, SgfError, read

MIN_SIZE, MAX_SIZE = 2, 19
LEAST_POINTS = 25  # a usual komi may be more than the points of the smallest boards
DEFAULT_SIZE = 19  # of a record of Go without SZ

Point = tuple[int, int]  # column from the left, row from the top

#: Komi as the Fox server (AP[foxwq]) and its copies write it: hundredths of points or of Chinese stones.
SERVER_KOMI: Mapping[float, float] = {
    275: 5.5, 325: 6.5, 350: 7.0, 375: 7.5, 450: 4.5, 550: 5.5, 650: 6.5, 700: 7.0, 750: 7.5
}  # fmt: skip
OWN = "ludus:"  # start of ``AP`` of records that Ludus writes
USUAL_KOMI = 30.0  # a larger one is read, and named
#: Properties of the root that a game keeps: players, event, rules, comments.
INFO = tuple("PB PW BR WR BT WT DT EV RO PC RU TM OT GN GC ON US SO AN CP C AP".split())


@dataclass(slots=True)
class Setup:
    """Stones that a node puts down or takes off, and the colour to move after it (empty: unchanged)."""

    black: list[Point] = field(default_factory=list)
    white: list[Point] = field(default_factory=list)
    empty: list[Point] = field(default_factory=list)
    first: str = ""

    @property
    def stones(self) -> bool:
        """Whether the board changes."""
        return bool(self.black or self.white or self.empty)


@dataclass(slots=True)
class GoRecord:
    """A match of Go. Points are (column, row) from the top left; a move's point is None for a pass.

    Args:
        size: Lines of the board.
        komi: Points for White; None where the file names none that can be read.
        handicap: Handicap stones by the file's header.
        black: Stones on the board before the first move.
        white: The same of White.
        first: B or W if the file names the first to move, else empty.
        moves: Colour and point of each move.
        setups: Changes of the board after so many moves (at least one).
        result: Result as the file has it.
        info: Other properties of the root.
        assumed: Stones of ``black`` that are not in the file, which only names a handicap.
        notes: Parts that were not read, or not as they are written. One line each.
    """

    size: int = DEFAULT_SIZE
    komi: float | None = 0.0
    handicap: int = 0
    black: list[Point] = field(default_factory=list)
    white: list[Point] = field(default_factory=list)
    first: str = ""
    moves: list[tuple[str, Point | None]] = field(default_factory=list)
    setups: dict[int, Setup] = field(default_factory=dict)
    result: str = ""
    info: dict[str, str] = field(default_factory=dict)
    assumed: int = 0
    notes: list[str] = field(default_factory=list)

    def as_written(self) -> GoRecord:
        """Return the record without the stones that are assumed."""
        return replace(self, black=[], assumed=0) if self.assumed else self


def load(data: bytes, until: int | None = None) -> GoRecord:
    """Read the first game of a file: see :func:`record`. Raises :class:`SgfError`."""
    roots, note, others = read(data)
    made = record(roots[0], until)
    several = [f"the file holds {len(roots)} games; the first is read"] if len(roots) > 1 else []
    made.notes[:0] = [*filter(None, [note]), *others, *several]
    return made


def record(root: Node, until: int | None = None) -> GoRecord:
    """Read the main line of a game of Go, up to but without move ``until`` (from 1).

    Raises :class:`SgfError`.
    """
    return _RecordReader(root).read(until)


# --- numbers ----------------------------------------------------------------

_NUMBER = re.compile(r"\s*([+-]?)\s*(\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE]([+-]?\d{1,2}))?")
#: Full-width forms, as texts in Chinese and Japanese have them.
_NARROW = {full: full - 0xFEE0 for full in range(0xFF01, 0xFF5F)} | {0x3000: " ", 0x2212: "-"}
_SIGNS = {"½": 0.5, "¼": 0.25, "¾": 0.75}
_SIGN = re.compile(r"\s*([½¼¾])\s*")
_FRACTION = re.compile(r"\s*(?:又|and|&|\+)?\s*([13])\s*/\s*([24])(?!\d)")
_HALF = re.compile(r"\s*(?:and\s+(?:a|one)\s+half\b|半|반)")
_UNIT = re.compile(r"\s*(?:points?\b|pts?\b\.?|moku\b|目|집|點|点|子)", re.IGNORECASE)


class Number(NamedTuple):
    """Number at the start of a text. ``plain``: the text holds nothing else."""

    value: float
    plain: bool


def leading_number(text: str) -> Number | None:
    """Read ``6.5``, ``7,5``, ``6.5 points``, ``6½`` or ``6 1/2``; None if the text starts with no number."""
    text = text[:80].translate(_NARROW).strip()
    found = _NUMBER.match(text)
    if found is None:
        sign = _SIGN.match(text)
        return Number(_SIGNS[sign[1]], False) if sign else None
    value = float(found[2].replace(",", ".")) * 10.0 ** int(found[3] or 0)
    rest = text[found.end() :]
    if rest and found[2].isdigit():
        value, rest = _with_fraction(value, rest)
    unit = _UNIT.match(rest)
    if unit is not None:
        value, rest = _with_fraction(value, rest[unit.end() :])
        value *= 2 if "子" in unit[0] else 1  # Chinese count: a stone is two points
    return Number((-value if found[1] == "-" else value) + 0.0, found.end() == len(text))  # never -0.0


def _with_fraction(value: float, rest: str) -> tuple[float, str]:
    """Return ``value`` plus the fraction at the start of ``rest``, and the text after it."""
    if found := _SIGN.match(rest):
        return value + _SIGNS[found[1]], rest[found.end() :]
    if (found := _FRACTION.match(rest)) and int(found[1]) < int(found[2]):
        return value + int(found[1]) / int(found[2]), rest[found.end() :]
    if found := _HALF.match(rest):
        return value + 0.5, rest[found.end() :]
    return value, rest


# --- headers ----------------------------------------------------------------

_SIZE = re.compile(r"(\d{1,4})(?:\.0*)?\s*(?:[:x×*,]\s*(\d{1,4}))?", re.IGNORECASE)
_SETS_UP = frozenset(("PL", "AB", "AW", "AE"))
_COLOURS = {"B": "B", "W": "W", "1": "B", "2": "W", "黑": "B", "白": "W"}


class _RecordReader:
    """Reader of the main line of a game."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self.made = GoRecord(komi=None)
        self.notes = self.made.notes

    def read(self, until: int | None) -> GoRecord:
        made = self.made
        self._game()
        made.size = self._size()
        made.info = {name: self.root.first(name) for name in INFO if name in self.root.properties}
        if self._header("RU"):
            made.info["RU"] = self._header("RU")
        made.komi = self._komi()
        made.handicap = self._handicap()
        made.result = self.root.first("RE").strip()[:40]
        follows = self._line(until)
        if until is not None and follows:
            made.result = ""
        self._handicap_stones(follows)
        return made

    def _early(self) -> Iterator[Node]:
        """Yield the nodes up to the first move, including the move's node."""
        for node in self.root.main_line():
            yield node
            if "B" in node.properties or "W" in node.properties:
                return

    def _header(self, name: str) -> str:
        """Return the first value of a header that is not empty; some files have headers behind the root."""
        for number, node in enumerate(self._early()):
            values = list(dict.fromkeys(v.strip() for v in node.properties.get(name, []) if v.strip()))
            if len(values) > 1:
                self._note(f"{name}[{_cut(values[0])}][{_cut(values[1])}]: two values; the first is read")
            if values and number:
                self._note(f"{name}[{_cut(values[0])}] stands in node {number}, behind the root")
            if values:
                return values[0]
        return ""

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _game(self) -> None:
        text = self.root.first("GM").strip()
        number = leading_number(text)
        if number is not None and number.value != 1:
            raise SgfError(f"SGF: GM[{_cut(text)}]: expected 1, a game of Go")
        if text and (number is None or not number.plain):
            self._note(f"GM[{_cut(text)}]: expected 1; read as a game of Go")

    def _size(self) -> int:
        text = self._header("SZ")
        if not text:
            if "SZ" in self.root.properties:
                self._note(f"SZ[]: expected a number of lines; read as {DEFAULT_SIZE}")
            return DEFAULT_SIZE
        plain = text.translate(_NARROW).strip()
        found = _SIZE.match(plain)
        size = int(found[1]) if found else 0
        square = found is not None and (found[2] is None or int(found[2]) == size)
        more = found is None or any(c.isdigit() for c in plain[found.end() :])
        if found is None or more or not square or not MIN_SIZE <= size <= MAX_SIZE:
            raise SgfError(
                f"SGF: SZ[{_cut(text)}]: expected a square board of {MIN_SIZE} to {MAX_SIZE} lines"
            )
        if found.end() < len(plain):
            self._note(f"SZ[{_cut(text)}]: read as {size}")
        return size

    def _komi(self) -> float | None:
        text = self._header("KM")
        if not text:
            self._note("no komi (KM) in the file")
            return None
        number = leading_number(text)
        if number is None:
            self._note(f"KM[{_cut(text)}]: expected a number")
            return None
        value, points = number.value, max(self.made.size**2, LEAST_POINTS)
        if self.root.first("AP").startswith(OWN) and (2 * value) % 1 == 0:
            return value  # as Ludus has written it, also on a board of fewer points
        read = SERVER_KOMI.get(value)
        if read is None:
            if abs(value) > points:
                self._note(f"KM[{_cut(text)}]: more than the {points} points of the board")
                return None
            if -value in SERVER_KOMI:
                self._note(f"KM[{_cut(text)}]: expected a number of points")
                return None
            read = value
            quarters = (2 * read) % 1 and (4 * read) % 1 == 0 and abs(read) < USUAL_KOMI
            if quarters and rule_set(self.made.info.get("RU", "")) == "chinese":
                read = 2 * value  # stones of the Chinese count: 3 3/4
            if (2 * read) % 1:
                self._note(f"KM[{_cut(text)}]: expected a multiple of 0.5")
                return None
        if read != value or not number.plain or abs(read) > USUAL_KOMI:
            self._note(f"KM[{_cut(text)}]: read as {read:g} points")
        return read

    def _handicap(self) -> int:
        text = self._header("HA")
        number = leading_number(text)
        whole = number is not None and number.value % 1 == 0 and 0 <= number.value <= MAX_SIZE**2
        if text and not whole:
            self._note(f"HA[{_cut(text)}]: expected a number of stones; not read")
        elif text and number is not None and not number.plain:
            self._note(f"HA[{_cut(text)}]: read as {number.value:g}")
        return int(number.value) if number is not None and whole else 0

    def _handicap_stones(self, follows: str) -> None:
        """Place the stones of a handicap that the file names and does not set up.

        ``follows``: the colour of the first move that is left out.
        """
        made = self.made
        stones = made.handicap
        if stones < 2:
            return
        if made.black or made.white:
            if not made.moves and not made.white:
                made.first = made.first or follows or "W"
            if len(made.black) != stones and not made.white:
                self._note(f"HA[{stones}]: the file sets up {len(made.black)} black stones, which are kept")
            return
        mover = made.moves[0][0] if made.moves else made.first or follows or "W"
        if mover == "B":
            if [c for c, _ in made.moves[:stones]] != ["B"] * min(stones, len(made.moves)):
                self._note(f"HA[{stones}]: no handicap stones in the file; Black moves first, none placed")
            return
        points = go.star_points(made.size, stones)
        if not points:
            self._note(f"HA[{stones}]: no handicap stones in the file, and no points fixed for so many")
            return
        made.black = [(p % made.size, p // made.size) for p in points]
        made.assumed = stones
        made.first = made.first or "W"

    # --- stones and moves ---------------------------------------------------

    def _line(self, until: int | None) -> str:
        """Read stones and moves; return the colour of move ``until`` if the file has it."""
        made = self.made
        follows = ""
        points, moves = _by_text(made.size), made.moves
        for number, node in enumerate(self.root.main_line()):
            if until is None and len(node.properties) == 1:  # only a move, as nearly all nodes are
                (name, values), *_ = node.properties.items()
                if name in ("B", "W") and len(values) == 1 and values[0] in points:
                    moves.append((name, points[values[0]]))
                    continue
            colours = [name for name in node.properties if name in ("B", "W")]
            first = ""
            if not _SETS_UP.isdisjoint(node.properties):
                first = self._first(node)
                # Beside a move, PL is the turn after it; at the root it is the first turn.
                self._setup(node, number, "" if colours and number else first)
            if until is not None and len(made.moves) >= until - 1 and colours:
                follows = colours[0]
                break
            self._moves(node, colours)
            if first and colours and number:
                made.setups.setdefault(len(made.moves), Setup()).first = first
        if until is not None and len(made.moves) >= until:
            follows = made.moves[until - 1][0]
            del made.moves[until - 1 :]
        if follows:
            self._turn(follows)
        return follows

    def _turn(self, colour: str) -> None:
        """Make it the turn of ``colour`` at the end, unless the file names another."""
        made = self.made
        if not made.moves:
            made.first = made.first or colour
        elif made.moves[-1][0] == colour:
            setup = made.setups.setdefault(len(made.moves), Setup())
            setup.first = setup.first or colour

    def _first(self, node: Node) -> str:
        """Return the colour that ``PL`` of a node names; empty if there is none."""
        texts = [value.strip() for value in node.properties.get("PL", [])]
        colours = [_COLOURS.get(text[:1].upper(), "") for text in texts]
        for text, colour in zip(texts, colours, strict=True):
            if not colour:
                self._note(f"PL[{_cut(text)}]: expected B or W; not read")
        return next(filter(None, colours), "")

    def _setup(self, node: Node, number: int, first: str) -> None:
        """Set up the stones of a node, and the colour to move then."""
        made = self.made
        given = {
            name: list(_points(node.properties.get(name, []), made.size, f"node {number}: {name}"))
            for name in ("AB", "AW", "AE")
        }
        if not made.moves:
            stones = dict.fromkeys(made.black, "B") | dict.fromkeys(made.white, "W")
            for name, points in given.items():
                stones |= dict.fromkeys(points, name[1])
            made.black = [p for p, c in stones.items() if c == "B"]
            made.white = [p for p, c in stones.items() if c == "W"]
            made.first = first or made.first
        elif first or any(given.values()):
            setup = made.setups.setdefault(len(made.moves), Setup())
            taken = {p for points in given.values() for p in points}
            for points in (setup.black, setup.white, setup.empty):
                points[:] = [p for p in points if p not in taken]
            where = {"AB": setup.black, "AW": setup.white, "AE": setup.empty}
            for point, name in {p: name for name, points in given.items() for p in points}.items():
                where[name].append(point)
            setup.first = first or setup.first

    def _moves(self, node: Node, colours: list[str]) -> None:
        made = self.made
        for colour in colours:
            for value in node.properties[colour]:
                text = value.strip()
                passed = text in ("", "tt") or text.lower() == "pass"
                what = f"move {len(made.moves) + 1}, {colour}"
                made.moves.append((colour, None if passed else _point(text, made.size, what)))


@lru_cache(maxsize=64)
def _by_text(size: int) -> Mapping[str, Point | None]:
    """Return the points of a board, and a pass, by their texts."""
    letters = [chr(97 + place) for place in range(size)]
    points = {f"{a}{b}": (x, y) for x, a in enumerate(letters) for y, b in enumerate(letters)}
    return {**points, "": None, "tt": None}


def _cut(text: str) -> str:
    return visible(text if len(text) <= 40 else f"{text[:40]}...")


def _point(text: str, size: int, what: str) -> Point:
    if len(text) == 2 and text.isascii():
        x, y = ord(text[0]) - 97, ord(text[1]) - 97
        if 0 <= x < size and 0 <= y < size:
            return x, y
    raise SgfError(f"SGF: {what}[{_cut(text)}]: expected a point of a board of {size} lines")


def _points(values: list[str], size: int, what: str) -> Iterator[Point]:
    for value in (v.strip() for v in values):
        if len(value) == 5 and value[2] == ":":  # a rectangle
            (x0, y0), (x1, y1) = (_point(v, size, what) for v in value.split(":"))
            yield from (
                (x, y)
                for y in range(min(y0, y1), max(y0, y1) + 1)
                for x in range(min(x0, x1), max(x0, x1) + 1)
            )
        elif value:  # some programs write AB[]
            yield _point(value, size, what)

"""Smart Game Format, FF[3] and FF[4]: records of board games in and out.

Files are untrusted: size, depth, nodes and values are bounded, nothing recurses, and every error names its
place. :func:`parse` keeps every property as written. :class:`Record` holds the data that Go needs: board,
komi, set-up stones, the moves of the main line, result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

MAX_BYTES = 8 << 20
MAX_NODES = 200_000
MAX_VALUES = 1_000_000
MAX_DEPTH = 1_000  # of variations inside variations
MIN_SIZE, MAX_SIZE = 2, 19

Point = tuple[int, int]  # column from the left, row from the top
Properties = dict[str, list[str]]


class SgfError(ValueError):
    """A file that is not SGF, or not a playable match. The message has the place and the expected value."""


@dataclass(slots=True)
class Node:
    """One node: properties as written (values without escapes), and its children."""

    properties: Properties = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)

    def first(self, name: str, default: str = "") -> str:
        """The first value of a property."""
        values = self.properties.get(name)
        return values[0] if values else default

    def main_line(self) -> Iterator[Node]:
        """This node and the first child of each after it."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.children[0] if node.children else None


class _Reader:
    """The text of a file and how far it has been read."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.nodes, self.values = text, 0, 0, 0

    def fail(self, message: str) -> SgfError:
        line = self.text.count("\n", 0, self.at) + 1
        column = self.at - self.text.rfind("\n", 0, self.at)
        return SgfError(f"SGF line {line}, column {column}: {message}")

    def found(self) -> str:
        return repr(self.text[self.at]) if self.at < len(self.text) else "the end"

    def skip_space(self) -> None:
        text, at = self.text, self.at
        while at < len(text) and text[at].isspace():
            at += 1
        self.at = at

    def peek(self) -> str:
        self.skip_space()
        return self.text[self.at] if self.at < len(self.text) else ""

    def collection(self) -> list[Node]:
        start = self.text.find("(;")
        loose = self.text.find("(")
        if start < 0:  # white space between them is allowed too
            start = loose
        if start < 0:
            raise self.fail("expected '(;' where a game begins")
        self.at = start
        trees: list[Node] = []
        while self.peek() == "(":
            trees.append(self.tree())
        return trees

    def tree(self) -> Node:
        root: Node | None = None
        last: Node | None = None
        above: list[Node | None] = []
        while True:
            c = self.peek()
            if c == "(":
                if len(above) >= MAX_DEPTH:
                    raise self.fail(f"variations nested deeper than {MAX_DEPTH}")
                if above and last is None:
                    raise self.fail("expected ';' before a variation")
                above.append(last)
                self.at += 1
                if self.peek() != ";":
                    raise self.fail(f"expected ';' after '(', found {self.found()}")
            elif c == ";":
                self.at += 1
                node = self.node()
                if last is None:
                    if root is not None:
                        raise self.fail("a second root")
                    root = node
                else:
                    last.children.append(node)
                last = node
            elif c == ")":
                self.at += 1
                last = above.pop()
                if not above:
                    if root is None:
                        raise self.fail("a game without a node")
                    return root
            elif c == "":
                raise self.fail("the file ends inside a game; expected ')'")
            else:
                raise self.fail(f"expected ';', '(' or ')', found {self.found()}")

    def node(self) -> Node:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise self.fail(f"more than {MAX_NODES} nodes")
        node = Node()
        while True:
            c = self.peek()
            if not (c.isascii() and c.isalpha()):
                return node
            name = self.name()
            values = node.properties.setdefault(name, [])
            if self.peek() != "[":
                raise self.fail(f"expected '[' after {name}, found {self.found()}")
            while self.peek() == "[":
                self.values += 1
                if self.values > MAX_VALUES:
                    raise self.fail(f"more than {MAX_VALUES} values")
                values.append(self.value(name))

    def name(self) -> str:
        start = self.at
        text = self.text
        while self.at < len(text) and text[self.at].isascii() and text[self.at].isalpha():
            self.at += 1
        # FF[3] allowed small letters between the capitals that count: Black -> B.
        name = "".join(c for c in text[start : self.at] if c.isupper())
        if not name or len(name) > 32:
            raise self.fail(f"expected a property, found {text[start : self.at][:40]!r}")
        return name

    def value(self, name: str) -> str:
        text = self.text
        start = self.at + 1
        end = text.find("]", start)
        while end >= 0:
            escapes = 0
            while text[end - 1 - escapes] == "\\" and end - 1 - escapes >= start:
                escapes += 1
            if escapes % 2 == 0:
                break
            end = text.find("]", end + 1)
        if end < 0:
            raise self.fail(f"the value of {name} has no end; expected ']'")
        self.at = end + 1
        raw = text[start:end]
        return _unescaped(raw) if "\\" in raw else raw


def _unescaped(raw: str) -> str:
    out: list[str] = []
    at = 0
    while at < len(raw):
        c = raw[at]
        if c == "\\" and at + 1 < len(raw):
            at += 1
            # A line break behind a backslash is not there, of either length.
            if raw[at] in "\r\n":
                pair = raw[at : at + 2]
                at += 2 if pair in ("\r\n", "\n\r") else 1
                continue
            out.append(raw[at])
        elif c != "\\":
            out.append(c)
        at += 1
    return "".join(out)


def decode(data: bytes) -> str:
    """The text of a file, by its byte order mark, as UTF-8, else as Latin-1 (FF[4]'s default)."""
    if len(data) > MAX_BYTES:
        raise SgfError(f"SGF of {len(data)} bytes; expected at most {MAX_BYTES}")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def parse(data: bytes | str) -> list[Node]:
    """The root node of each game in a file. Raises :class:`SgfError`."""
    text = decode(data) if isinstance(data, bytes) else data
    if len(text) > MAX_BYTES:
        raise SgfError(f"SGF of {len(text)} characters; expected at most {MAX_BYTES}")
    return _Reader(text).collection()


def write(*roots: Node) -> str:
    """A collection. Reading it gives the same properties and the same tree."""
    out: list[str] = []
    for root in roots:
        _write_tree(root, out)
        out.append("\n")
    return "".join(out)


def _write_tree(root: Node, out: list[str]) -> None:
    # A stack instead of recursion: a line of 100,000 variations may not end the process.
    todo: list[Node | str] = [")", root, "("]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            out.append(item)
            continue
        out.append(";")
        for name, values in item.properties.items():
            out.append(name)
            out.extend(f"[{_escaped(v)}]" for v in values)
        if len(item.children) == 1:
            todo.append(item.children[0])
        else:
            for child in reversed(item.children):
                todo += [")", child, "("]


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("]", "\\]")


# --- Go ----------------------------------------------------------------------


@dataclass(slots=True)
class Record:
    """A match of Go. Points are (column, row) from the top left; a move's point is None for a pass."""

    size: int = 19
    komi: float = 0.0
    handicap: int = 0
    black: list[Point] = field(default_factory=list)  # stones on the board at the start
    white: list[Point] = field(default_factory=list)
    first: str = ""  # B or W where the file says who moves first
    moves: list[tuple[str, Point | None]] = field(default_factory=list)
    result: str = ""
    info: dict[str, str] = field(default_factory=dict)  # other properties of the root: PB, PW, RU, DT, ...


_INFO = ("PB", "PW", "BR", "WR", "BT", "WT", "DT", "EV", "RO", "PC", "RU", "TM", "OT", "GN", "C", "AP")


def _number(text: str, what: str) -> float:
    try:
        value = float(text.strip().replace(",", ".") or 0)
    except ValueError:
        raise SgfError(f"SGF: {what}[{text[:40]}]: expected a number") from None
    if not -1000 <= value <= 1000:
        raise SgfError(f"SGF: {what}[{text[:40]}]: expected a number from -1000 to 1000")
    return value


def _point(text: str, size: int, what: str) -> Point:
    if len(text) == 2 and text.isascii():
        x, y = ord(text[0]) - 97, ord(text[1]) - 97
        if 0 <= x < size and 0 <= y < size:
            return x, y
    raise SgfError(f"SGF: {what}[{text[:40]}]: expected a point of a board of {size} lines")


def _points(values: list[str], size: int, what: str) -> Iterator[Point]:
    for value in values:
        if len(value) == 5 and value[2] == ":":  # a rectangle
            (x0, y0), (x1, y1) = (_point(v, size, what) for v in value.split(":"))
            yield from (
                (x, y)
                for y in range(min(y0, y1), max(y0, y1) + 1)
                for x in range(min(x0, x1), max(x0, x1) + 1)
            )
        else:
            yield _point(value, size, what)


def record(root: Node, until: int | None = None) -> Record:
    """The main line of a game of Go, up to but without move ``until`` (from 1). Raises :class:`SgfError`."""
    if root.first("GM", "1").strip() not in ("1", ""):
        raise SgfError(f"SGF: GM[{root.first('GM')[:40]}]: expected 1, a game of Go")
    size_text = root.first("SZ", "19").strip()
    if not size_text.isascii() or not size_text.isdigit() or not MIN_SIZE <= int(size_text[:4]) <= MAX_SIZE:
        raise SgfError(
            f"SGF: SZ[{size_text[:40]}]: expected a square board of {MIN_SIZE} to {MAX_SIZE} lines"
        )
    size = int(size_text)
    handicap = _number(root.first("HA", "0"), "HA")
    made = Record(
        size=size,
        komi=_number(root.first("KM", "0"), "KM"),
        handicap=int(handicap),
        result=root.first("RE").strip()[:40],
        info={name: root.first(name) for name in _INFO if name in root.properties},
    )
    for number, node in enumerate(root.main_line()):
        _setup(made, node, number)
        _moves(made, node)
        if until is not None and len(made.moves) >= until - 1:
            del made.moves[max(until - 1, 0) :]
            break
    return made


def _setup(made: Record, node: Node, number: int) -> None:
    given = [name for name in ("AB", "AW", "AE") if name in node.properties]
    if "PL" in node.properties:
        colour = node.first("PL").strip().upper()[:1]
        if colour not in ("B", "W"):
            raise SgfError(f"SGF: PL[{node.first('PL')[:40]}]: expected B or W")
        if not made.moves:
            made.first = colour
    if not given:
        return
    if made.moves:
        raise SgfError(f"SGF: node {number}: {given[0]} after the first move is not supported")
    stones = dict.fromkeys(made.black, "B") | dict.fromkeys(made.white, "W")
    for name, colour in (("AB", "B"), ("AW", "W"), ("AE", "")):
        for point in _points(node.properties.get(name, []), made.size, name):
            stones[point] = colour
    made.black = [p for p, c in stones.items() if c == "B"]
    made.white = [p for p, c in stones.items() if c == "W"]


def _moves(made: Record, node: Node) -> None:
    for colour in ("B", "W"):
        for value in node.properties.get(colour, []):
            text = value.strip()
            passed = text == "" or (text == "tt" and made.size <= 19)
            made.moves.append((colour, None if passed else _point(text, made.size, colour)))


def tree(made: Record, more: Mapping[str, str] | None = None) -> Node:
    """A game of one line, ready for :func:`write`."""

    def text(p: Point | None) -> str:
        return "" if p is None else chr(97 + p[0]) + chr(97 + p[1])

    root = Node({"GM": ["1"], "FF": ["4"], "CA": ["UTF-8"], "SZ": [str(made.size)], "KM": [f"{made.komi:g}"]})
    if made.handicap:
        root.properties["HA"] = [str(made.handicap)]
    if made.black:
        root.properties["AB"] = [text(p) for p in made.black]
    if made.white:
        root.properties["AW"] = [text(p) for p in made.white]
    if made.first:
        root.properties["PL"] = [made.first]
    if made.result:
        root.properties["RE"] = [made.result]
    for name, value in {**made.info, **(more or {})}.items():
        root.properties[name] = [value]
    node = root
    for colour, point in made.moves:
        node.children.append(Node({colour: [text(point)]}))
        node = node.children[0]
    return root

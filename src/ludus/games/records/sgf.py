"""Smart Game Format, FF[3] and FF[4]: records of board games in and out.

Files are untrusted: size, depth, nodes and values are bounded, nothing recurses, and every error names its
place. :func:`parse` keeps every property as written, but for control characters, which :func:`plain` makes
visible; :mod:`ludus.games.records.go_record` reads the properties of Go.

A game is found behind any other text, as other programs find it, and also if its first ``(`` or ``;`` is
missing. What is found is always the whole game: text that may be a part of it is refused or noted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ludus.flow.inputs.shown import terminal
from ludus.games.records import sgf_text

MAX_BYTES = 8 << 20
MAX_NODES = 200_000
MAX_VALUES = 1_000_000
MAX_DEPTH = 1_000  # of variations inside variations
#: Properties read in small letters too. A move in small letters (``b``) is refused.
FOLDED = frozenset("GM FF CA SZ KM HA RU RE PL AB AW AE PB PW".split())
#: Properties without which a game has other moves or another board: each needs a value.
NEEDED = frozenset("B W AB AW AE SZ".split())

#: Properties of FF[4] that records of Go have: they show that text without ``(;`` is a record.
USUAL = (
    FOLDED
    | NEEDED
    | frozenset(
        "AN AP AR BL BM BR BT C CP CR DD DM DO DT EV FG GB GC GN GW HO IT KO LB LN MA MN N OB ON OT OW PC PM "
        "RO SL SO SQ ST TB TE TM TR TW UC US V VW WL WR WT".split()
    )
)

#: ``(;`` and the start of a node: prose has ``(;`` too, as in ``(;-)``.
_GAME = re.compile(r"\(\s*;(?=\s*(?:[A-Za-z][A-Za-z0-9]{0,31}\s*[\[;(]|[;()]))")
_UNCLEAR = re.compile(r"\(\s*;\s*[A-Za-z]")
_BRACKET = re.compile(r"\(\s*;")
_PROPERTY = re.compile(r"[A-Za-z][A-Za-z0-9]{0,31}\s*\[")
#: Where the properties of a node without ``(;`` may start: behind one of them, or on a line.
_HEAD = re.compile(r"(?:(?m:^)[ \t]*|[(;]\s*)(?=[A-Za-z][A-Za-z0-9]{0,31}\s*\[)")
#: Moves, stones and headers that change a game, in text that is no part of one.
_LOST = re.compile(r"(?<![A-Za-z])(?:B|W|AB|AW|AE|SZ|KM|HA|PL|GM)\s?\[")
#: A node that is only a move, as nearly all are.
_MOVE = re.compile(r"([BW])\[([a-z]{0,2})\]\n?(?=[;)])")
#: Such nodes one behind another, with their ``;``.
_MOVES = re.compile(r"(?:;[BW]\[[a-z]{0,2}\]\n?){1,1000}(?=[;)])")
_MOST_RUN = 1000
_PAIRS = re.compile(r";([BW])\[([a-z]{0,2})\]")
_BREAK = re.compile(r"\r\n|\n\r|\r")
_SPACES = dict.fromkeys(map(ord, "\t\v\f"), " ")
_ENDS = "\0\x1a\ufeff"  # behind a game: the ends of files of old systems, and marks of joined files

Properties = dict[str, list[str]]


def plain(value: str) -> str:
    r"""Return a value with line breaks as ``\n``, spaces as one kind, and no other control character.

    Records come from anyone, and their names and comments are shown on terminals and pages: control
    characters and marks that turn the direction of writing become escapes, such as ``\x1b``.
    """
    if value.isprintable():
        return value
    return terminal(_BREAK.sub("\n", value).translate(_SPACES))


class SgfError(ValueError):
    """A file that is not SGF, or not a playable match. The message has the place and the expected value."""


@dataclass(slots=True)
class Node:
    """One node: properties as written (values without escapes), and its children."""

    properties: Properties = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)

    def first(self, name: str, default: str = "") -> str:
        """Return the first value of a property."""
        values = self.properties.get(name)
        return values[0] if values else default

    def main_line(self) -> Iterator[Node]:
        """Yield this node and the first child of each after it."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.children[0] if node.children else None


class _Reader:
    """Parser of a file's text, with its position in it."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.nodes, self.values = text, 0, 0, 0
        self.notes: list[str] = []
        self.loose = 0  # nodes without ';', of which the first is noted
        self.trying = False  # an error needs no place: counting lines takes long

    def fail(self, message: str) -> SgfError:
        return SgfError("" if self.trying else f"{self.place()}: {message}")

    def place(self) -> str:
        line = self.text.count("\n", 0, self.at) + 1
        column = self.at - self.text.rfind("\n", 0, self.at)
        return f"SGF line {line}, column {column}"

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
        """Read the first game, and those behind it until one that cannot be read."""
        trees = [self.tree(opened=self._find_first())]
        while (found := _GAME.search(self.text, self.at)) is not None:
            before, self.at = self.at, found.start()
            try:
                trees.append(self.tree())
            except SgfError as error:
                self.at = before
                self.notes.append(f"a game behind the first is not read: {error}")
                return trees
        rest = self.text[self.at :].lstrip().strip(_ENDS).strip()
        if rest:
            self.at = self.text.index(rest, self.at)
            self.notes.append(f"{self.place()}: text behind the game is not read")
        return trees

    def _find_first(self) -> bool:
        """Go to the start of the first game. Return whether it has its ``(``."""
        text = self.text
        found = _GAME.search(text)
        loose = self._without_bracket(found.start() if found else len(text))
        if loose is not None and not (unclear := _UNCLEAR.search(text, 0, loose[0])):
            self.at, opened = loose
        elif loose is not None and unclear:
            self.at, opened, loose = unclear.start(), True, None
        else:
            found = found or _BRACKET.search(text)
            self.at, opened = found.start() if found else text.find("("), True
            if self.at < 0:
                self.at = 0
                raise self.fail("expected '(;' at the start of a game")
        lost = _LOST.search(text, 0, self.at)
        if lost is not None:
            start, self.at = self.at, lost.start()
            if loose is not None:
                raise self.fail("expected '(;' at the start of a game, found properties behind other text")
            self.notes.append(f"{self.place()}: text before the game is not read")
            self.at = start
        return opened

    def _without_bracket(self, end: int) -> tuple[int, bool] | None:
        """Return the start of a game that lacks ``(`` or ``;`` before ``end``, and whether it has its ``(``.

        Its first node must be one: properties with values, one of them usual, and a further node or the end.
        """
        at, start, self.trying = 0, None, True
        while start is None and (found := _HEAD.search(self.text, at, end)) is not None:
            self.at = found.end()
            try:
                node = self.node()
                if self.peek() in ("", ";", "(", ")") and not USUAL.isdisjoint(node.properties):
                    start = found.start(), found[0].startswith("(")
            except SgfError:
                if self.text[self.at : self.at + 1] == "[":  # a value without an end: no other has one
                    break
            at = max(self.at, found.end() + 1)  # never back: each character is read once
        self.at = self.nodes = self.values = 0
        self.trying = False
        return start

    def tree(self, *, opened: bool = True) -> Node:
        """Read a game; without ``opened`` its ``(`` is missing, and the end of the text may end it."""
        root = Node()
        last: Node | None = None
        above: list[Node | None] = []
        varied = False  # a variation has ended: the line before it cannot continue
        if not opened:
            self.notes.append(f"{self.place()}: a game without '(' at its start")
            above.append(None)
            last = root = self._first_node()
        while True:
            c = self.peek()
            if c == "(":
                if len(above) >= MAX_DEPTH:
                    raise self.fail(f"variations nested deeper than {MAX_DEPTH}")
                above.append(last)
                self.at += 1
                node, varied = self._first_node(), False
            elif c == ";":
                if varied:
                    raise self.fail("expected '(' or ')' after a variation, found ';'")
                if last is not None and (run := self._moves(last)) is not None:
                    last = run
                    continue
                self.at += 1
                node = self.node()
            elif c == ")":
                self.at += 1
                last, varied = above.pop(), True
                if not above:
                    return root
                continue
            elif c == "" and not opened and len(above) == 1:
                return root
            elif c == "":
                raise self.fail("the file ends inside a game; expected ')'")
            else:
                raise self.fail(f"expected ';', '(' or ')', found {self.found()}")
            if last is None:
                root = node
            else:
                last.children.append(node)
            last = node

    def _moves(self, last: Node) -> Node | None:
        """Read nodes that are only moves, each behind the one before, and return the last; None = no such."""
        found = _MOVES.match(self.text, self.at)
        if found is None or max(self.nodes - MAX_NODES, self.values - MAX_VALUES) > -_MOST_RUN:
            return None
        moves = _PAIRS.findall(self.text, self.at, found.end())
        for colour, point in moves:
            node = Node({colour: [point]}, [])
            last.children.append(node)
            last = node
        self.nodes += len(moves)
        self.values += len(moves)
        self.at = found.end()
        return last

    def _first_node(self) -> Node:
        """Read the first node behind a ``(``, whose ``;`` may be missing."""
        if self.peek() == ";":
            self.at += 1
        elif _PROPERTY.match(self.text, self.at):
            self.loose += 1
            if self.loose == 1:
                self.notes.append(f"{self.place()}: a node without ';' before it")
        else:
            raise self.fail(f"expected ';' after '(', found {self.found()}")
        return self.node()

    def node(self) -> Node:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise self.fail(f"more than {MAX_NODES} nodes")
        usual = _MOVE.match(self.text, self.at)
        if usual is not None and self.values < MAX_VALUES:
            self.values += 1
            self.at = usual.end()
            return Node({usual[1]: [usual[2]]})
        node = Node()
        while True:
            c = self.peek()
            if not (c.isascii() and c.isalpha()):
                return node
            name = self.name()
            values = node.properties.setdefault(name, [])
            if name not in NEEDED and self.peek() in (";", "(", ")"):
                continue  # a name alone
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
        while self.at < len(text) and text[self.at].isascii() and text[self.at].isalnum():
            self.at += 1
        # FF[3] allowed small letters between the capitals that count: Black -> B.
        written = text[start : self.at]
        name = "".join(c for c in written if not c.islower()) if not written.islower() else written
        name = written.upper() if written.upper() in FOLDED else name
        if name in ("b", "w") or len(name) > 32:
            raise self.fail(f"expected a property, found {written[:40]!r}")
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
        return plain(_unescaped(raw) if "\\" in raw else raw)


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


class Collection(NamedTuple):
    """Root node of each game in a file, a note on its encoding (empty: nothing unusual), and others."""

    roots: list[Node]
    note: str
    notes: tuple[str, ...] = ()


def read(data: bytes) -> Collection:
    """Read the games of a file (encoding: :mod:`ludus.games.records.sgf_text`). Raises :class:`SgfError`."""
    if len(data) > MAX_BYTES:
        raise SgfError(f"SGF of {len(data)} bytes; expected at most {MAX_BYTES}")
    text, note = sgf_text.decode(data, _outline)
    return _collection(text, note)


def parse(data: bytes | str) -> list[Node]:
    """Return the root node of each game in a file. Raises :class:`SgfError`."""
    if isinstance(data, bytes):
        return read(data).roots
    if len(data) > MAX_BYTES:
        raise SgfError(f"SGF of {len(data)} characters; expected at most {MAX_BYTES}")
    return _collection(data, "").roots


def _collection(text: str, note: str) -> Collection:
    reader = _Reader(text.removeprefix("\ufeff"))
    roots = reader.collection()
    return Collection(roots, note, tuple(reader.notes))


def _outline(text: str) -> sgf_text.SgfOutline | None:
    reader = _Reader(text)
    try:
        (root, *_) = reader.collection()
    except SgfError:
        return None
    return sgf_text.SgfOutline(reader.nodes + reader.values, root.first("CA"))


def write(*roots: Node) -> str:
    """Return a collection as text. Reading it gives the same tree, with values as :func:`plain`."""
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
    return plain(value).replace("\\", "\\\\").replace("]", "\\]")

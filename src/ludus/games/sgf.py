"""Smart Game Format, FF[3] and FF[4]: records of board games in and out.

Files are untrusted: size, depth, nodes and values are bounded, nothing recurses, and every error names its
place. :func:`parse` keeps every property as written; :mod:`ludus.games.go_record` reads those of Go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ludus.games import sgf_text

MAX_BYTES = 8 << 20
MAX_NODES = 200_000
MAX_VALUES = 1_000_000
MAX_DEPTH = 1_000  # of variations inside variations
#: Properties that are read in small letters too. A move in small letters (``b``) is refused.
FOLDED = frozenset("GM FF CA SZ KM HA RU RE PL AB AW AE PB PW".split())
#: Properties without which a game has other moves or another board: each needs a value.
NEEDED = frozenset("B W AB AW AE SZ".split())

Properties = dict[str, list[str]]


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
            raise self.fail("expected '(;' at the start of a game")
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


class Collection(NamedTuple):
    """Root node of each game in a file, and a note on its encoding (empty: nothing unusual)."""

    roots: list[Node]
    note: str


def read(data: bytes) -> Collection:
    """Read the games of a file; :mod:`ludus.games.sgf_text` finds its encoding. Raises :class:`SgfError`."""
    if len(data) > MAX_BYTES:
        raise SgfError(f"SGF of {len(data)} bytes; expected at most {MAX_BYTES}")
    text, note = sgf_text.decode(data, _outline)
    return Collection(_Reader(text).collection(), note)


def parse(data: bytes | str) -> list[Node]:
    """Return the root node of each game in a file. Raises :class:`SgfError`."""
    if isinstance(data, bytes):
        return read(data).roots
    if len(data) > MAX_BYTES:
        raise SgfError(f"SGF of {len(data)} characters; expected at most {MAX_BYTES}")
    return _Reader(data).collection()


def _outline(text: str) -> sgf_text.Outline | None:
    reader = _Reader(text)
    try:
        (root, *_) = reader.collection()
    except SgfError:
        return None
    return sgf_text.Outline(reader.nodes + reader.values, root.first("CA"))


def write(*roots: Node) -> str:
    """Return a collection as text. Reading it gives the same properties and the same tree."""
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

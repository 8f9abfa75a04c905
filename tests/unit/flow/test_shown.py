"""Text of files on each medium: every character is visible and nothing acts on it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ludus.cli import console
from ludus.flow.inputs.shown import code, fenced, markdown, markup, shell, shown, terminal, visible

SOURCE = Path(__file__).parents[3] / "src" / "ludus"
HOSTILE = {
    "a script": "<script>alert(1)</script>",
    "an image": '<img src=x onerror="alert(1)">',
    "an image of Markdown": "![x](http://example.org/x.png)",
    "a link": "[x](javascript:alert(1))",
    "an address": "http://example.org www.example.org",
    "an entity": "&lt;script&gt; &#60;b>",
    "a comment": "--><!-- x",
    "an attribute": "' onload='alert(1)' \"",
    "a fence": "```\n<script>alert(1)</script>\n```",
    "code": "`<b>` ``x``",
    "cells": "a | b \\| c",
    "a heading": "x\n# y\n\n- z",
    "colours": "\x1b[31mred\x1b[0m",
    "a title of the window": "\x1b]0;x\x07",
    "C1 controls": "\x9b31m \x85",
    "a way back": "a\rb\x08\x7f",
    "another direction": "\u202egnp.\u202c \u2066x\u2069 \u200f",
    "lines": "a\u2028b\u2029c",
    "nothing to see": "a\u200bb\ufeff\x00",
    "half a character": "\ud800 \udcff",
    "markup of rich": "[red]x[/red] [link=http://example.org]y[/link]",
}
PLAIN = ("tic_tac_toe", "main:12", "simple", "ppo 0.1, rate=3e-4", "Zürich – 東京\u3000x", "~/runs/a.toml")


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.found.append(tag)

    def handle_comment(self, data: str) -> None:
        self.found.append("comment")


@pytest.mark.parametrize("kind", HOSTILE)
def test_text_is_escaped_for_every_medium(kind: str) -> None:
    text = HOSTILE[kind]
    for made in (visible(text), markdown(text), markup(text), code(text), shown(text)):
        assert made.isprintable()
    assert all(c.isprintable() or c in "\n\t" for c in terminal(text))
    assert all(c.isprintable() or c == "\n" for c in "\n".join(fenced(text)))
    (root,) = ElementTree.fromstring(f"<svg><text a='{markup(text)}'>{markup(text)}</text></svg>")
    assert root.text == root.get("a") == visible(text)


@pytest.mark.parametrize("kind", HOSTILE)
def test_markdown_is_inert(kind: str) -> None:
    line = markdown(HOSTILE[kind])
    tags = Tags()
    tags.feed(line)
    assert not tags.found
    assert not re.search(r"[`|<>\[\]\\]|://|www\.", line)
    assert re.fullmatch(r"(?:[^&]|&(?:#\d+|lt|gt|amp);)*", line)


@pytest.mark.parametrize("kind", HOSTILE)
def test_blocks_of_code_are_closed_by_their_own_fence(kind: str) -> None:
    first, *inside, last = "\n".join(fenced(HOSTILE[kind], "toml")).split("\n")
    assert first == f"{last}toml"
    assert set(last) == {"`"}
    assert not any(last in line for line in inside)
    span = code(HOSTILE[kind])
    marks = span[: len(span) - len(span.lstrip("`"))]
    assert span.endswith(marks)
    assert marks not in span[len(marks) : -len(marks)].split(" ")
    assert "|" not in span.replace("\\|", "")


@pytest.mark.parametrize("text", PLAIN)
def test_plain_text_is_unchanged(text: str) -> None:
    assert visible(text) == terminal(text) == markdown(text) == markup(text) == text
    assert terminal(f"{text}\n\t{text}") == f"{text}\n\t{text}"


@pytest.mark.parametrize("kind", HOSTILE)
def test_everything_on_the_console_is_inert(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = HOSTILE[kind]
    console.result(text)
    console.note(text)
    console.result(console.table([(text, "x"), ("y", text)], (text, text)))
    console.document({"text": text.encode("utf-8", "replace").decode()})
    output = capsys.readouterr()
    assert all(c.isprintable() or c in "\n\t" for c in output.out + output.err)
    lines = output.out.splitlines()
    assert json.loads(lines[-1]) == {"text": text.encode("utf-8", "replace").decode()}
    assert len(console.table([(text, "x"), ("y", text)], (text, text)).split("\n")) == 3


def test_boards_print_markup_literally(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich")
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    for text in HOSTILE.values():
        table = Table()
        table.add_column(text)
        table.add_row(text)
        board = console.board()
        board.print(Panel(table, title=Text(text)))
        board.print(text)
    board = console.board()
    board.print(HOSTILE["markup of rich"])
    shown_there = capsys.readouterr().err
    assert all(c.isprintable() or c == "\n" for c in shown_there)
    assert HOSTILE["markup of rich"] in shown_there


def test_nothing_is_printed_or_escaped_past_the_functions() -> None:
    """A new command prints with the console, a new plot escapes with ``markup``."""
    found = set()
    for path in SOURCE.rglob("*.py"):
        text = path.read_text("utf-8")
        name = str(path.relative_to(SOURCE))
        if re.search(r"\bhtml(?: import |\.)escape|from rich\.console import Console\b", text):
            found.add(name)
        if name.startswith("cli/") and re.search(r"(?<![\w.])print\(|\bstd(?:out|err)\.write\b", text):
            found.add(name)
    assert found == {"flow/inputs/shown.py", "cli/console.py", "cli/streams.py"}


PATHS = [
    b"plain/run-1_a.b",
    b"with space",
    b'it\'s "quoted"',
    b"$HOME `id` $(id) ;|&<>*?[x]{a,b}!#~",
    b"~/x",
    b"-dash",
    b"--help",
    b"back\\slash\\n",
    b"a\nb\tc\x1b[31m",
    b"\xff\xfe latin-1 \xe9",
    b"\xff it's \\ \xe9'",
    "Zürich 東京 \u202e\u200b".encode(),
]


def test_printed_paths_can_be_pasted() -> None:
    words = [shell(os.fsdecode(path)) for path in PATHS]
    assert all(word.isprintable() for word in words)
    line = " ".join(["printf", r"'%s\0'", *words])
    printed = subprocess.run(["bash", "-c", terminal(line)], capture_output=True, check=True).stdout
    wanted = [b"./" + path if path.startswith(b"-") else path for path in PATHS]
    assert printed.split(b"\0")[:-1] == wanted


#: A command with a name in it that no function quotes.
COMMAND = re.compile(r"(?<!of )\bludus [a-z]+(?: [a-z-]+)? \{(?!shell\(|shown\}|options)")


def test_printed_commands_quote_what_they_name() -> None:
    """A new message with a command in it quotes its paths and names."""
    found: list[str] = []
    for path in SOURCE.rglob("*.py"):
        found += [line for line in path.read_text("utf-8").splitlines() if COMMAND.search(line)]
    run = "ludus resume {run} {options(result.more)}"  # it is quoted before
    assert [line for line in found if run not in line] == []

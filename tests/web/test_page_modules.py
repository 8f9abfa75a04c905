"""The modules of the pages as text: no class defines a member twice, since the later one would win."""

from __future__ import annotations

import re
from collections import Counter
from importlib import resources

from ludus.web.replay_page import MODULES, asset

MEMBER = re.compile(r"  (?:static )?(?:async )?((?:(?:get|set) )?\w+)\(.*\) \{$")
STATEMENTS = {"if", "for", "while", "switch", "catch"}


def doubled(text: str) -> list[str]:
    """Return ``class.member`` for each member that its class defines again."""
    found, kept, seen = [], "", set[str]()
    for line in text.splitlines():
        if start := re.match(r"(?:export )?class (\w+)", line):
            kept, seen = start[1], set()
        member = MEMBER.match(line)
        if not kept or member is None or member[1] in STATEMENTS:
            continue
        if member[1] in seen:
            found.append(f"{kept}.{member[1]}")
        seen.add(member[1])
    return found


def test_a_doubled_member_is_found() -> None:
    assert doubled("class A {\n  get x() {\n  }\n  get x() {\n  }\n  x() {\n  }\n}") == ["A.get x"]
    assert doubled("class A {\n  x() {\n  }\n}\nclass B {\n  x() {\n  }\n}") == []


def test_no_class_of_the_pages_defines_a_member_twice() -> None:
    read = 0
    for folder in ("replay", "app"):
        for module in (resources.files("ludus.web") / "static" / folder).iterdir():
            if module.name.endswith(".js"):
                read += 1
                assert doubled(module.read_text(encoding="utf-8")) == [], module.name
    assert read > 30


def test_a_name_of_the_replay_page_is_defined_once() -> None:
    """Its modules are joined in one scope, where a second definition is a syntax error."""
    top = re.compile(r"^(?:export )?(?:async )?(?:const|let|class|function) (\w+)", re.MULTILINE)
    names = Counter(name for module in MODULES for name in top.findall(asset(module)))
    assert len(names) > 100
    assert [name for name, count in names.items() if count > 1] == []

"""The phrase check reads prose and no code."""

from __future__ import annotations

import pytest

from tools.check_prose import violations


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("a.py", '"""The run goes on."""\n', ["goes on"]),
        ("a.py", "x = f(begin)\n# The match begins anew.\n", ["anew", "begins"]),
        ("a.py", 'raise ValueError("nobody plays")\n', ["nobody"]),
        ("a.py", "def begin() -> None:\n    slab.begin(told)\n", []),
        ("a.py", '"""Call ``begin`` first."""\n', []),
        ("a.py", 'def f() -> None:\n    """What the caller wants."""\n', ["What"]),
        ("a.py", 'def f() -> None:\n    """Of the present weights: the version."""\n', ["Of the"]),
        ("a.py", 'ask("What is your name?")\n', []),
        ("a.hpp", 'def("begin", begin);', []),
        ("a.hpp", "// What a game offers.\nauto a = v.begin();\n", ["What"]),
        ("a.hpp", 'throw Error("the match went on");\n', ["went on"]),
        ("a.md", "```\nbegin\n```\nA policy whom no one met: `begin`.\n", ["whom"]),
        ("a.md", "See paper 003, at the beginning.\n", ["paper 003"]),
    ],
)
def test_phrases_are_found_in_prose_alone(path: str, text: str, found: list[str]) -> None:
    assert [violation.phrase for violation in violations(path, text)] == found


def test_reported_lines_are_those_of_the_file() -> None:
    (violation,) = violations("a.py", '\n\n"""First.\n\nIt goes on here.\n"""\n')
    assert violation.line == 5

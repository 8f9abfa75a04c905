"""The phrase check reads prose and no code."""

from __future__ import annotations

import pytest

from tools import check_prose
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
        ("a.hpp", "// Nobody moves.\nint a;  // Goes on.\n", ["Nobody", "Goes on"]),
        ("a.hpp", "  // The match goes\n  // on.\n", ["goes\non"]),
        ("a.py", "def f() -> None:\n    # The match goes\n    # on.\n    pass\n", ["goes\non"]),
        ("a.py", 'f"{told} of {len(begin)} seats, {seat} goes on"\n', ["goes on"]),
        ("a.py", '"""Go on 9x9 boards."""\ncall("BEGIN IMMEDIATE")\n', []),
    ],
)
def test_phrases_are_found_only_in_prose(path: str, text: str, found: list[str]) -> None:
    assert [violation.phrase for violation in violations(path, text)] == found


def test_reported_lines_are_lines_of_the_file() -> None:
    (violation,) = violations("a.py", '\n\n"""First.\n\nIt goes on here.\n"""\n')
    assert violation.line == 5


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("All samples, those of the other ranks included.", ["those of"]),
        ("Three times that of A, and half that of B.", []),
        ("Each in a process of its own.", ["process of its own"]),
        ("The learner alone is set.", ["alone"]),
        ("For the run alone.", ["alone"]),
        ("A seat left alone, or alone with a bot.", []),
        ("Orders that hold from now on.", ["from now on"]),
        ("Yield every mistake; none without a league.", ["none"]),
        ("An order stands.", ["stands"]),
        ("`s` stands for a seat.", []),
        ("state: Of the run.", ["state: Of"]),
        ("``state``: of the run.", [": of"]),
        ("A state, as follows: of the run.", []),
        ("The colour that `PL` of a node names.", []),
        ("Return a number; None without matches.", []),
    ],
)
def test_turns_are_found_below_swept_paths(
    text: str, found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_prose, "SWEPT", ("docs/",))
    assert [violation.phrase.strip(" `") for violation in violations("docs/a.md", text)] == found
    assert list(violations("tools/a.md", text)) == []


def test_pieces_stand_on_boards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_prose, "SWEPT", ("cpp/",))
    assert list(violations("cpp/games/go/go.hpp", "// A stone stands here.\n")) == []
    assert len(list(violations("cpp/pool/pool.hpp", "// A stone stands here.\n"))) == 1

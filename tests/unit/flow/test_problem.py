"""Problems as data: each surface writes settings and arguments in its words, and typed text as it is."""

from __future__ import annotations

import pickle

import msgspec
import pytest

from ludus.cli.words import COMMAND_LINE, error_document, said
from ludus.flow.problem import (
    PRESET,
    PYTHON,
    Argument,
    HasProblems,
    Noun,
    Part,
    Problem,
    Setting,
    changed,
    message,
    near_of,
    written,
)
from ludus.presets.errors import ConfigError
from ludus.web.serve.sentences import sentence

TYPED = "./x --run.max-steps 5.py: unknown option, see: --explain"


@pytest.mark.parametrize(
    ("part", "command_line", "python", "preset"),
    [
        (Setting("run.max_step"), "--run.max-step", 'settings["run.max_step"]', "run.max_step"),
        (Setting("run.lag", form="N"), "--run.lag N", 'settings["run.lag"] = N', "run.lag = N"),
        (Setting("run.lag", "0.5"), "--run.lag 0.5", 'settings["run.lag"] = 0.5', "run.lag = 0.5"),
        (Setting("run.lag", "sync"), "--run.lag sync", "settings[\"run.lag\"] = 'sync'", 'run.lag = "sync"'),
        (Argument("max_ticks"), "--max-ticks", "max_ticks=...", "max_ticks"),
        (Argument("game", form="REFERENCE"), "--game REFERENCE", "game=REFERENCE", "game REFERENCE"),
        (Argument("game", "./a.py"), "--game ./a.py", "game='./a.py'", "game ./a.py"),
        (Argument("game", "GO"), "--game GO", "game='GO'", "game GO"),
        (Argument("game", "a b.py"), "--game 'a b.py'", "game='a b.py'", "game a b.py"),
        (
            Argument("explain", command="train PRESET"),
            "--explain",
            "ludus train PRESET --explain",
            "ludus train PRESET --explain",
        ),
        (Noun(), "option", "setting", "setting"),
        (TYPED, TYPED, TYPED, TYPED),
    ],
)
def test_each_surface_has_its_words(part: Part, command_line: str, python: str, preset: str) -> None:
    assert [written(part, words) for words in (COMMAND_LINE, PYTHON, PRESET)] == [
        command_line,
        python,
        preset,
    ]


def test_a_value_that_no_terminal_shows_is_escaped_and_a_long_one_is_cut() -> None:
    assert written(Argument("game", "a\x1b[2Jb"), COMMAND_LINE) == "--game $'a\\033[2Jb'"
    assert len(written(Argument("game", "a" * 100_000), COMMAND_LINE)) < 200


def test_a_problem_is_place_value_expectation_and_nearest_name() -> None:
    problem = Problem(
        "run.lag", value="asynk", expected="one of sync, async", near=near_of("asynk", ["async"])
    )
    assert str(problem) == 'run.lag = "asynk": expected one of sync, async (did you mean async?)'
    placed = problem.within("mine.toml", more="; see: docs")
    assert str(placed) == f"mine.toml: {problem}; see: docs"
    assert str(Problem(value=3.0, expected="a table")) == "this = 3.0: expected a table"
    unknown = Problem("x", "unknown x", near=near_of("x", map(str, range(30)), "numbers"))
    assert str(unknown).startswith("unknown x (numbers: 0, 1, 2,")
    assert str(unknown).endswith("19, ...)")
    assert str(Problem("x", "unknown x", near=near_of("x", ["years"], kind=""))) == "unknown x"


def test_an_error_carries_the_problems_of_another_one() -> None:
    inner = ConfigError(
        Problem("run.lag", value="x", expected="sync"), Problem("a", ("set ", Setting("b.c")))
    )
    outer = ConfigError(inner, where="r@best", more=" here")
    assert outer.problems == tuple(p.within("r@best", more=" here") for p in inner.problems)
    assert said(outer) == 'r@best: run.lag = "x": expected sync here\nr@best: set --b.c here'
    assert str(outer).endswith('r@best: set settings["b.c"] here')
    assert str(ConfigError(KeyError("k"), where="w")) == "w: 'k'"
    assert str(ConfigError("a ", Argument("game"), " b")) == "a game=... b"
    assert str(ConfigError("")) == str(HasProblems()) == ""


def test_problems_cross_to_another_process() -> None:
    error = ConfigError("name it: ", Argument("game", form="NAME"), where=Setting("run.lag"))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is ConfigError
    assert again.problems == error.problems
    assert said(again) == "--run.lag: name it: --game NAME"


def test_plain_text_of_a_problem_can_be_changed() -> None:
    problem = Problem("a", ("/tmp/x: ", Setting("b")), value="/tmp/x", where=("/tmp/x", Setting("c")))
    assert message(changed(problem, lambda text: text.replace("/tmp/x", "mine"))) == (
        'mine: settings["c"]: mine: settings["b"]'
    )
    assert changed((1, "a"), str.upper) == (1, "A")


def test_a_document_has_the_fields_of_every_problem() -> None:
    near = near_of("run.lgg", ["run.lag"])
    problems = [
        Problem("run.lag", value=2**80, expected="sync", near=near, where=(Setting("run.lag"), "f.toml"))
    ]
    problems += [Problem("a.b", ("unknown ", Noun()), value=object, near=near_of("q", ["y", "z"], "keys"))]
    document = error_document(ConfigError(*problems))
    assert document["error"] == "\n".join(map(said, problems))
    first, second = msgspec.convert(document["problems"], list[dict[str, object]])
    assert first == {
        "path": "run.lag",
        "value": 2**80,
        "expected": "sync",
        "near": ["run.lag"],
        "where": ["--run.lag", "f.toml"],
        "message": said(problems[0]),
    }
    assert (second["near"], second["value"]) == ([], "<class 'object'>")
    assert error_document(ValueError("x")) == {"error": "x"}


def test_a_page_shows_one_line_with_keys_of_a_preset() -> None:
    error = ConfigError("\n a\x1b: set ", Setting("run.lag", "1"), " or ", Argument("game"))
    assert sentence(error) == "a\\x1b: set run.lag = 1 or game"
    assert sentence(ValueError()) == "ValueError"

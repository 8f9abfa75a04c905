"""Games that act on the process that runs them are contained, and reported as errors of game or match."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ludus.cli.__main__ import main
from ludus.evaluation.evaluate import evaluate
from ludus.evaluation.settings import MatchSettings
from ludus.games import contained as gate
from ludus.games.contained import GameExit, GameHangs, close_quietly, contained
from ludus.games.names import typed
from ludus.games.registry import maker
from ludus.games.registry import spec as game_spec
from ludus.native import ParamError

if importlib.util.find_spec("gymnasium") is None:
    pytest.skip("gymnasium is not installed", allow_module_level=True)

GUEST = "gymnasium/tests.unit.games.bad_citizens:Guest-v0"
OWN = "tests.unit.games.bad_citizens:Own"
ROOT = str(Path(__file__).parents[3])


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the limit for a game that hangs at creation."""
    monkeypatch.setattr(gate, "START_S", 0.3)


@pytest.fixture
def brief_close(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(close_quietly, "__defaults__", (0.3,))
    monkeypatch.setattr(gate, "_hung", [])


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def state() -> dict[str, Any]:
    """Return the state of the process that a game may not change."""
    import torch

    return {
        "folder": os.getcwd(),
        "dtype": torch.get_default_dtype(),
        "signals": {n: signal.getsignal(n) for n in signal.valid_signals()},
        "alarm": 0 < signal.getitimer(signal.ITIMER_REAL)[0] < 1,  # pytest has one too
        "random": (random.getstate(), np.random.get_state()[1].tolist()),  # type: ignore[index]
        "errors": np.geterr(),
        "recursion": sys.getrecursionlimit(),
        "hook": sys.excepthook,
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "timeout": socket.getdefaulttimeout(),
        "umask": _umask(),
        "environment": os.environ["PATH"],  # libraries add names
        "warnings": list(warnings.filters),
        "exit": (os._exit, os.abort, os.kill, os.execv),
        "stdin": os.fstat(0).st_ino,
    }


CHANGES = (
    "folder dtype signals alarm random numpy-errors recursion hook stdout close-stdout umask environment "
    "warnings read"
).split()


@pytest.mark.parametrize("at", ["init", "reset", "close"])
@pytest.mark.parametrize("does", CHANGES)
def test_creating_a_game_leaves_the_process_as_it_was(does: str, at: str) -> None:
    before = state()
    assert game_spec(typed(GUEST), {"does": does, "at": at}).seats == 1
    assert state() == before


@pytest.mark.parametrize("does", ["print", "os-write", "child-prints"])
def test_output_of_a_game_goes_to_stderr(does: str, capfd: pytest.CaptureFixture[str]) -> None:
    sys.stdout.write("before\n")
    game_spec(typed(GUEST), {"does": does, "at": "reset"})
    sys.stdout.write("after\n")
    out, err = capfd.readouterr()
    assert out == "before\nafter\n"
    assert "hello from the game" in err


@pytest.mark.parametrize(
    ("does", "at"),
    [
        ("close-streams", "init"),
        ("close-streams", "close"),
        ("close-buffers", "reset"),
        ("close-descriptors", "init"),
        ("replace-streams", "reset"),
    ],
)
def test_output_survives_a_game_that_closes_its_streams(
    does: str, at: str, capfd: pytest.CaptureFixture[str]
) -> None:
    before = sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__
    assert main(["games", "show", GUEST, "--param", f"does={does}", "--param", f"at={at}", "--json"]) == 0
    os.write(1, b"as the descriptor\n")
    sys.stderr.write("the log\n")
    assert before == (sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__)
    out, err = capfd.readouterr()
    document, line = out.splitlines()
    assert json.loads(document)["seats"] == 1
    assert line == "as the descriptor"
    assert err.endswith("the log\n")


ERRORS = {
    "exit": r"the game called sys\.exit\(0\)",
    "exit-word": r"the game called sys\.exit\('no display'\)",
    "os-exit": r"the game called os\._exit\(0\)",
    "abort": r"the game called os\.abort\(\)",
    "kill": r"the game called os\.kill\(os\.getpid\(\), 9\)",
    "exec": r"the game called os\.execv\('/bin/true', \['true'\]\)",
    "input": "EOFError: EOF when reading a line",
    "raise": "RuntimeError: the window is gone",
    "hang": "the game did not return within 0.3 s",
}


@pytest.mark.parametrize("game", [GUEST, OWN])
@pytest.mark.parametrize("does", ERRORS)
def test_a_game_that_cannot_be_created_is_named_with_the_reason(
    game: str, does: str, request: pytest.FixtureRequest
) -> None:
    if does == "hang":
        request.getfixturevalue("brief")
    with pytest.raises(ParamError, match=rf"^{game}: cannot be made: {ERRORS[does]}$"):
        game_spec(typed(game), {"does": does})


def test_a_reset_without_options_is_named() -> None:
    name = "gymnasium/tests.unit.games.bad_citizens:Old-v0"
    with pytest.raises(ParamError, match=rf"^{name}: reset\(\) takes no options: expected reset\(self, "):
        game_spec(typed(name))


def test_a_module_that_an_environment_lacks_is_named_alone() -> None:
    with pytest.raises(ParamError, match=r"bad_citizens:Guest-v0: No module named 'no_such_module'$"):
        game_spec(typed(GUEST), {"does": "import"})


def test_a_file_that_exits_while_it_is_read_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "leaving.py"
    file.write_text("import os, sys\nif os.environ.get('LUDUS_TEST_LEAVE'):\n    sys.exit(0)\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LUDUS_TEST_LEAVE", "1")
        with pytest.raises(ParamError, match=r"leaving\.py: cannot be made: the game called sys\.exit\(0\)"):
            game_spec(typed(str(file)))
    with pytest.raises(ParamError, match=r"has no GAME"):
        game_spec(typed(str(file)))


@pytest.mark.parametrize("does", ["exit", "os-exit", "raise"])
def test_a_reset_that_fails_at_creation_is_an_error_of_the_game(does: str) -> None:
    with pytest.raises(ParamError, match=rf"cannot be made: {ERRORS[does]}$"):
        game_spec(typed(GUEST), {"does": does, "at": "reset"})


@pytest.mark.parametrize("does", ["exit", "os-exit", "raise", "hang"])
def test_a_game_whose_close_fails_can_be_played(does: str, request: pytest.FixtureRequest) -> None:
    if does == "hang":
        request.getfixturevalue("brief_close")
    game: Any = maker(typed(GUEST), {"does": does, "at": "close"}).make()
    game.reset(1)
    assert not game.step(np.zeros((1, 1), np.int32))
    message = close_quietly(game)
    assert message.startswith("close()")


MATCH_ERRORS = {
    ("exit", "step"): "step: the game called sys.exit(0)",
    ("exit-word", "step"): "step: the game called sys.exit('no display')",
    ("base-raise", "step"): "step: BaseException: not even an Exception",
    ("os-exit", "step"): "the worker exited with code 0",
}


@pytest.mark.parametrize(("does", "at"), MATCH_ERRORS)
def test_a_game_that_ends_its_process_in_a_match_loses_that_match(
    does: str, at: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    errors: list[str] = []
    words = ["eval", "random", "--game", GUEST, "--param", f"does={does}", "--param", f"at={at}"]
    code = main([*words, "--matches", "2", "--json"])
    out, err = capsys.readouterr()
    assert code == 1
    assert json.loads(out)["errors"] == 2
    assert "no match was played to its end: match 0" in err
    assert MATCH_ERRORS[does, at] in err
    evaluate(
        "random", settings=MatchSettings(matches=1), game=typed(GUEST), params={"does": does, "at": at},
        keep=lambda match: errors.append(match.error),
    )  # fmt: skip
    assert MATCH_ERRORS[does, at] in errors[0]


def test_matches_are_played_outside_the_process(capfd: pytest.CaptureFixture[str]) -> None:
    before = state()
    result = evaluate(
        "random", settings=MatchSettings(matches=2), game=typed(GUEST), params={"does": "much", "at": "step"}
    )
    assert (result.matches, result.errors) == (2, 0)
    assert state() == before
    out, err = capfd.readouterr()
    assert out == ""
    assert "hello from the game" in err


def test_matches_do_not_depend_on_the_order_of_hashes() -> None:
    """Two processes of one game play the same match, whatever the hash seed of this process."""
    seen = []
    for _ in range(2):
        records: list[bytes] = []
        evaluate(
            "random", settings=MatchSettings(matches=1, record=1), game=typed(OWN), params={"does": "hash"},
            keep=lambda match: records.append(match.replay),  # noqa: B023
        )  # fmt: skip
        seen.append(records[0][-60:])
    assert seen[0] == seen[1]


def test_a_command_does_not_wait_for_threads_that_a_game_left_running() -> None:
    command = [sys.executable, "-m", "ludus", "games", "show", GUEST, "--param", "does=company", "--json"]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, cwd=ROOT, check=True
    )
    assert json.loads(done.stdout)["seats"] == 1
    assert "left running by the game: thread 'the-games-own', process " in done.stderr


# ---- containment itself --------------------------------------------------------------------------------


def test_a_call_that_catches_everything_is_stopped_as_well() -> None:
    def stubborn() -> None:
        while True:
            try:
                signal.pause()
            except Exception:
                continue

    with pytest.raises(GameHangs), contained(0.05):
        stubborn()


def test_nested_containments_keep_their_limits() -> None:
    def nested() -> None:
        with contained(60.0):
            pass
        signal.pause()

    with pytest.raises(GameHangs, match=r"within 0\.2 s"), contained(0.2):
        nested()
    assert not 0 < signal.getitimer(signal.ITIMER_REAL)[0] < 60


def test_an_exit_in_another_thread_is_an_error_of_the_game_too() -> None:
    caught: list[BaseException] = []

    def run() -> None:
        try:
            with contained():
                sys.exit(3)
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert isinstance(caught[0], GameExit)
    assert str(caught[0]) == "the game called sys.exit(3)"


def test_child_processes_of_a_game_may_exit_as_they_like() -> None:
    with contained():
        pid = os.fork()
        if pid == 0:
            os._exit(9)
        _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 9


def test_containment_works_without_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with contained():
        sys.stderr.write("into stderr\n")
    assert sys.stdout is None

"""``ludus games check`` of games that act on their process: each action is reported with a remedy."""

from __future__ import annotations

import importlib.util
import json
import re
import signal
import threading
from pathlib import Path

import pytest

from ludus.cli.__main__ import main
from ludus.games import check_game
from ludus.games.checks import process as check_process
from ludus.games.checks.monitor import CallMonitor
from ludus.games.names import typed

if importlib.util.find_spec("gymnasium") is None:
    pytest.skip("gymnasium is not installed", allow_module_level=True)

GUEST = "gymnasium/tests.unit.games.bad_citizens:Guest-v0"
OWN = "tests.unit.games.bad_citizens:Own"

#: action, where -> the check that fails and its detail
FOUND = {
    ("exit", "step"): (
        "plays",
        r"step\(\): the game called sys\.exit\(0\) \(seed 1, tick 1\); instead return terminated",
    ),
    ("os-exit", "step"): ("plays", r"step\(\): the game called os\._exit\(0\) \(seed 1, tick 1\); instead"),
    ("exit-word", "close"): ("plays", r"close\(\): the game called sys\.exit\('no display'\)"),
    ("raise", "close"): ("plays", r"close\(\): raised RuntimeError: the window is gone"),
    ("folder", "step"): ("process_untouched", r"step\(\) \(seed 1, tick 1\) changes the current folder: use"),
    ("dtype", "step"): ("process_untouched", r"step\(\) .* changes the default dtype.*: pass dtype="),
    ("signals", "step"): ("process_untouched", r"step\(\) .* changes the signal handlers: leave them"),
    ("numpy-errors", "close"): ("process_untouched", r"close\(\) .* changes the error handling of numpy"),
    ("recursion", "init"): ("process_untouched", r"__init__\(\) \(making the game\) changes the recursion"),
    ("hook", "init"): ("process_untouched", r"__init__\(\) .* changes the hook for exceptions: put it back"),
}  # fmt: skip


def checked(game: str, does: str, at: str = "init", apart: bool = False) -> dict[str, tuple[bool, str]]:
    report = check_game(typed(game), {"does": does, "at": at}, matches=2, apart=apart)
    return {f.check: (f.passed, f.detail) for f in report.findings}


@pytest.mark.parametrize(("does", "at"), FOUND)
def test_a_change_of_the_process_is_found_with_its_place_and_a_remedy(does: str, at: str) -> None:
    check, detail = FOUND[does, at]
    found = checked(GUEST, does, at)
    failed = [c for c, (passed, _) in found.items() if not passed and c != "speed"]  # torch loads slowly
    assert failed == [check]
    assert re.match(detail, found[check][1]), found[check][1]


@pytest.mark.parametrize("at", ["init", "step"])
@pytest.mark.parametrize("does", ["print", "os-write", "child-prints"])
def test_printed_output_is_reported_as_a_note(does: str, at: str, capfd: pytest.CaptureFixture[str]) -> None:
    passed, detail = checked(GUEST, does, at)["process_untouched"]
    assert passed
    assert re.match(r"(__init__|step)\(\) \(.*\) prints to stdout: 'hello from the game'; .* logging", detail)
    assert capfd.readouterr().out == ""


def test_a_use_of_the_global_random_state_is_a_note_in_the_words_of_the_library() -> None:
    for game, words in (
        (GUEST, "draw from self.np_random"),
        (OWN, "draw from numpy.random.default_rng"),
    ):
        passed, detail = checked(game, "random", "reset")["process_untouched"]
        assert passed
        assert re.search(rf"^reset\(\) .* uses the global random state: {words}", detail)


def test_threads_that_outlive_close_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ludus.games.checks.monitor.GONE_S", 0.0)
    monitor, end = CallMonitor("gymnasium/X-v0"), threading.Event()
    own = threading.Thread(target=end.wait, name="the-games-own")
    own.start()
    assert monitor.verdict() == ("thread 'the-games-own' still runs after close(): join it there", "")
    end.set()
    own.join()
    assert monitor.verdict() == ("", "")
    monitor.close()


def test_the_end_of_a_match_is_described_in_the_words_of_the_library() -> None:
    assert CallMonitor("pettingzoo/x").end_of_match() == "set the agents' terminations or truncations"
    assert CallMonitor("dm_env/x:y").end_of_match().startswith("return dm_env.termination()")
    assert CallMonitor("./mine.py").end_of_match() == "return True from step()"


# ---- in separate processes --------------------------------------------------------------------------


def test_the_command_finds_a_dependence_on_the_order_of_hashes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[3])
    assert main(["games", "check", OWN, "--matches", "2", "--param", "does=hash", "--json"]) == 3
    findings = {f["check"]: f for f in json.loads(capsys.readouterr().out)["findings"]}
    assert [c for c, f in findings.items() if not f["passed"]] == ["hash_order"]
    assert re.match(
        r"the same match gives something else at tick \d of another process; .* sort it",
        findings["hash_order"]["detail"],
    )


def test_a_game_that_leaves_threads_and_processes_does_not_delay_the_check() -> None:
    passed, detail = checked(GUEST, "company", "step", apart=True)["process_untouched"]
    assert not passed
    assert re.search(r"thread 'the-games-own' still runs after close\(\): join it there", detail)
    assert re.search(r"process \d+ still runs after close\(\): end it there", detail)


def test_a_call_that_hangs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_process, "CALL_S", 3.0)
    passed, detail = checked(GUEST, "hang", "step", apart=True)["plays"]
    assert not passed
    assert re.match(r"step\(\) \(seed 1, tick 1\) did not return within 3 s; a pool replaces", detail)


def test_a_crash_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    passed, detail = checked(GUEST, "crash", "step", apart=True)["plays"]
    assert not passed
    assert re.match(
        rf"step\(\) \(seed 1, tick 1\) ended the process \({signal.SIGSEGV.name}\); instead return",
        detail,
    )


@pytest.mark.skipif(importlib.util.find_spec("pettingzoo") is None, reason="pettingzoo is not installed")
def test_a_match_without_agents_is_found_in_the_words_of_pettingzoo() -> None:
    report = check_game(typed("pettingzoo/tests.unit.games.ending_envs"), {"plan": "empty"}, matches=1)
    (failed,) = (f for f in report.findings if not f.passed)
    expected = "agents is empty (seed 1, tick 0); expected at least one until the match is over"
    assert (failed.check, failed.detail) == ("seats", expected)


@pytest.mark.skipif(importlib.util.find_spec("pettingzoo") is None, reason="pettingzoo is not installed")
@pytest.mark.parametrize("plan", ["mix", "back", "absent"])
def test_agents_that_end_apart_keep_the_protocol(plan: str) -> None:
    report = check_game(typed("pettingzoo/tests.unit.games.ending_envs"), {"plan": plan}, matches=2)
    assert not [f for f in report.findings if not f.passed]

"""Errors of the Python API show what a program typed as it was typed, also where it looks like an option."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import ludus
from ludus.flow import Controller, Lineup, SeatPlan
from ludus.presets.options import option_of
from ludus.presets.overrides import setting_paths
from ludus.storage.errors import StorageError

#: Options of settings, and of the arguments that commands and functions share.
TEXTS = [f"{option_of(path)} 5" for path in setting_paths()]
TEXTS += ["--game NAME", "--method=x.py", "--teacher FILE.py", "--max-ticks 20", "--run-dir out", "--explain"]
TWO = Lineup(tuple(SeatPlan((Controller(policy=0),)) for _ in range(2)))

Call = Callable[[str], object]


CALLS: dict[str, Call] = {
    "train preset": lambda t: ludus.train(t),
    "train file": lambda t: ludus.train(f"./{t}.toml"),
    "train setting": lambda t: ludus.train("tic_tac_toe", "never", settings={t: 1}),
    "train value": lambda t: ludus.train("tic_tac_toe", "never", settings={"pool.slots": t}),
    "train game": lambda t: ludus.train("tic_tac_toe", "never", settings={"game.name": t}),
    "train method": lambda t: ludus.train("tic_tac_toe", "never", method=t),
    "resume run_dir": lambda t: ludus.resume(t),
    "evaluate player": lambda t: ludus.evaluate(t, "random", game="tic_tac_toe"),
    "evaluate bot": lambda t: ludus.evaluate(f"./{t}.py", "random", game="tic_tac_toe"),
    "evaluate weights": lambda t: ludus.evaluate(f"{t}@best", "random", game="tic_tac_toe"),
    "evaluate against": lambda t: ludus.evaluate("random", t, game="tic_tac_toe"),
    "evaluate game": lambda t: ludus.evaluate("random", "random", game=t),
    "evaluate parameter": lambda t: ludus.evaluate("random", "random", game="go", params={t: 1}),
    "evaluate value": lambda t: ludus.evaluate("random", "random", game="go", params={"size": t}),
    "evaluate matches": lambda t: ludus.evaluate("random", "random", game="go", matches=t),  # type: ignore[arg-type]
    "evaluate device": lambda t: ludus.evaluate("random", "random", game="go", device=t),  # type: ignore[arg-type]
    "make_pool game": lambda t: ludus.make_pool(t, None, TWO, slots=1),
    "make_pool parameter": lambda t: ludus.make_pool("go", {t: 1}, TWO, slots=1),
    "make_pool value": lambda t: ludus.make_pool("go", {"size": t}, TWO, slots=1),
    "make_pool on_error": lambda t: ludus.make_pool("go", None, TWO, slots=1, on_error=t),  # type: ignore[arg-type]
    "search player": lambda t: ludus.search(ludus.Match("tic_tac_toe"), t),
    "search weights": lambda t: ludus.search(ludus.Match("tic_tac_toe"), f"{t}+search:5"),
    "search device": lambda t: ludus.search(ludus.Match("tic_tac_toe"), device=t),  # type: ignore[arg-type]
    "load_policy reference": lambda t: ludus.load_policy(t),
    "Match game": lambda t: ludus.Match(t),
    "Match parameter": lambda t: ludus.Match("go", {t: 1}),
    "Match value": lambda t: ludus.Match("go", {"size": t}),
}


def _check(call: Call, texts: list[str]) -> None:
    for text in texts:
        with pytest.raises((ValueError, TypeError, StorageError)) as caught:
            call(text)
        assert text in str(caught.value)


@pytest.mark.parametrize("name", CALLS)
def test_a_text_like_an_option_stays_as_it_was_typed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _check(CALLS[name], [*TEXTS[::90], *TEXTS[-6:]])


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_every_option_stays_as_it_was_typed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _check(CALLS[name], TEXTS)


def test_paths_are_named_as_they_were_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"^\./x --run\.max-steps 5\.py: no such file"):
        ludus.evaluate("./x --run.max-steps 5.py", "random", game="tic_tac_toe")
    with pytest.raises(ValueError, match=r"^no --game file\.toml: no such file"):
        ludus.train("no --game file.toml")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings: dict[str, int | list[int]] = {
        "run.max_steps": 100,
        "run.threads": 1,
        "pool.slots": 2,
        "policy.hidden": [4],
        "evaluation.every_steps": 0,
        "evaluation.final_matches": 0,
        "evaluation.floor_matches": 0,
    }
    path = tmp_path_factory.mktemp("typed") / "run"
    ludus.train("tic_tac_toe", path, settings=settings)
    return path


@pytest.mark.parametrize("argument", ["game", "teacher", "method"])
def test_code_of_a_resumed_run_is_named_as_it_was_typed(argument: str, run: Path) -> None:
    _check(lambda t: ludus.resume(run, **{argument: t}), [*TEXTS[::90], *TEXTS[-6:]])  # type: ignore[arg-type]


def test_a_new_run_is_named_as_it_was_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text in TEXTS[-6:]:
        Path(text).mkdir()
        with pytest.raises(StorageError) as caught:
            ludus.train("tic_tac_toe", text)
        assert text in str(caught.value)

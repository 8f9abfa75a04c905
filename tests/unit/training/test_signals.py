"""Signals that end ``ludus train``, at any place: exit code 130, and nothing is lost."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from inspect import getattr_static
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from ludus.cli.__main__ import main
from ludus.flow.process.interrupts import leave_to_parent, like_ctrl_c, on_stop, stop_signals
from ludus.storage import RunDirectory
from ludus.sweep.processes import ProcessCommand, launch
from ludus.training.actor_learner.sync_loop import Rounds
from ludus.training.actor_learner.trainer import Trainer
from ludus.training.alphazero.trainer import AlphaZeroTrainer
from ludus.training.run_evaluator import FINAL, PLAYOFF, RunEvaluator
from ludus.training.run_loop import RunLoop

from .runs import TOML, reproducible_rows
from .test_alphazero import TOML as ALPHAZERO_TOML

SIGNALS = [
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGXCPU,
]
FAST = ["--quiet", "--run.lag", "sync"]
SOON = ["--quiet", "--run.max-steps", "150", "--algorithm.window-matches-min", "5"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run that no signal interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "small.toml").write_text(TOML)
    assert main(["train", str(folder / "small.toml"), "--run-dir", str(folder / "run"), *FAST]) == 0
    return folder / "run"


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Protect the process of the tests, which a signal with its default action would end."""
    before = {s: signal.getsignal(s) for s in SIGNALS}
    for number in SIGNALS:  # a shell's own start: SIGINT raises, the others end the process
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else _unhandled)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Unhandled(BaseException):
    """Error in place of the signal's default action, which would end the process."""


def _unhandled(number: int, frame: object) -> None:
    raise Unhandled(signal.Signals(number).name)


def _rated(number: Callable[[int], bool]) -> Callable[..., bool]:
    return lambda *args, **more: number(args[3])


#: where the signal comes: an object's method, and of which call
PLACES: dict[str, tuple[type, str, Callable[..., bool]]] = {
    "start-up, before the directory": (RunDirectory, "create", lambda *args: True),
    "start-up, with the directory": (RunDirectory, "lock", lambda *args: True),
    "start-up, the trainer": (Trainer, "_start", lambda *args: True),
    "a round": (Rounds, "run", lambda rounds, *args: rounds.components.learner.version == 3),
    "an evaluation": (RunEvaluator, "rate", _rated(lambda number: number == 1)),
    "the last evaluation": (RunEvaluator, "rate", _rated(lambda number: number == 3)),
    "the play-off": (RunEvaluator, "rate", _rated(lambda number: number == PLAYOFF)),
    "the final evaluation": (RunEvaluator, "rate", _rated(lambda number: number == FINAL)),
    "the report": (RunLoop, "write_report", lambda *args: True),
    "closing": (Trainer, "close", lambda *args: True),
}


def signal_at(monkeypatch: pytest.MonkeyPatch, place: str, number: int) -> None:
    """Send the signal once, when the method is called there."""
    owner, name, here = PLACES[place]
    original, sent = getattr(owner, name), list[int]()

    def call(*args: object, **more: object) -> object:
        if not sent and here(*args, **more):
            sent.append(number)
            os.kill(os.getpid(), number)
        return original(*args, **more)

    bound = isinstance(getattr_static(owner, name), (classmethod, staticmethod))
    monkeypatch.setattr(owner, name, staticmethod(call) if bound else call)


#: Places that others are like.
SLOWER = {"start-up, the trainer", "the last evaluation", "the play-off", "the report"}


def everywhere(places: Iterable[str]) -> list[ParameterSet]:
    """Return each place with one of the signals in turn."""
    return [
        pytest.param(place, number, marks=[pytest.mark.slow] * (place in SLOWER))
        for place, number in zip(places, itertools.cycle(SIGNALS), strict=False)
    ]


@pytest.mark.parametrize(("place", "number"), everywhere(PLACES))
def test_a_signal_ends_a_run_in_order(
    tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch, place: str, number: int
) -> None:
    preset, run = tmp_path / "small.toml", tmp_path / "run"
    preset.write_text(TOML)
    train = ["train", str(preset), "--run-dir", str(run), *FAST]
    with monkeypatch.context() as patched:
        signal_at(patched, place, number)
        assert main(train) == 130
    again = ["resume", str(run), "--quiet"] if run.exists() else train
    assert main(again) == 0
    assert reproducible_rows(run / "metrics.jsonl") == reproducible_rows(whole / "metrics.jsonl")
    assert (run / "report.md").is_file()
    assert not list(run.rglob("*.tmp"))


@pytest.mark.parametrize("lag", [pytest.param("pipelined", marks=pytest.mark.slow), "async"])
def test_an_evaluation_is_interrupted_while_others_learn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lag: str
) -> None:
    (tmp_path / "small.toml").write_text(TOML)
    whole, run = tmp_path / "whole" / "run", tmp_path / "run"
    words = ["train", str(tmp_path / "small.toml"), "--quiet", "--run.lag", lag, "--run-dir"]
    assert main([*words, str(whole)]) == 0
    with monkeypatch.context() as patched:
        signal_at(patched, "an evaluation", signal.SIGHUP)
        assert main([*words, str(run)]) == 130
    saved = RunDirectory.open(run).checkpoints.versions()[-1]
    assert f"interrupted after version {saved} was saved" in capsys.readouterr().err
    assert main(["resume", str(run), "--quiet"]) == 0
    if lag == "pipelined":
        assert reproducible_rows(run / "metrics.jsonl") == reproducible_rows(whole / "metrics.jsonl")
    assert (run / "report.md").is_file()


@pytest.mark.parametrize(("name", "number"), everywhere(["_collect", "_learn", "_publish", "close"]))
def test_a_signal_ends_a_run_of_alphazero_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    preset, run = tmp_path / "small.toml", tmp_path / "run"
    preset.write_text(ALPHAZERO_TOML)
    places: dict[str, tuple[type, str, Callable[..., bool]]] = {
        name: (AlphaZeroTrainer, name, lambda *args: True)
    }
    with monkeypatch.context() as patched:
        patched.setattr(sys.modules[__name__], "PLACES", places)
        signal_at(patched, name, number)
        assert main(["train", str(preset), "--run-dir", str(run), *SOON]) == 130
    assert main(["resume", str(run), "--quiet"]) == 0
    assert (run / "report.md").is_file()


@pytest.mark.parametrize("number", SIGNALS[2:])
def test_a_signal_that_is_ignored_stays_ignored(number: int) -> None:
    """``nohup ludus train`` outlives its terminal."""
    signal.signal(number, signal.SIG_IGN)
    assert set(SIGNALS) - set(stop_signals()) == {number}
    with like_ctrl_c():
        assert signal.getsignal(number) is signal.SIG_IGN


def test_workers_leave_signals_to_a_whole_job_to_their_parent() -> None:
    """Programs that a game starts end on them."""
    leave_to_parent()
    for number in SIGNALS:
        os.kill(os.getpid(), number)
        assert signal.getsignal(number) not in (signal.SIG_IGN, signal.SIG_DFL)


def test_signal_handlers_are_restored() -> None:
    came: list[int] = []
    before = {s: signal.getsignal(s) for s in SIGNALS}
    with on_stop(lambda number, frame: came.append(number)):
        for number in SIGNALS:
            os.kill(os.getpid(), number)
    assert came == SIGNALS
    assert {s: signal.getsignal(s) for s in SIGNALS} == before


def test_a_stopped_process_of_a_sweep_ends_on_a_signal(tmp_path: Path) -> None:
    words = ("train", "tic_tac_toe", "--run-dir", str(tmp_path / "run"), "--quiet", "--run.max-minutes", "9")
    process = launch(ProcessCommand("train", words), tmp_path / "lock", tmp_path / "log")
    assert process is not None
    try:
        pid = process._process.pid
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)
        process.stop()
        while (ended := process.poll()) is None:  # else the test's own time limit ends it
            time.sleep(0.02)
        assert ended.code != 0
    finally:
        if process._process.returncode is None:
            process._process.kill()

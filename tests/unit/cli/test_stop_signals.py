"""Every command ends in order on every stop signal: exit code 130, and nothing of it continues."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ludus.cli import __main__ as cli
from ludus.cli.commands.doctor import Doctor
from ludus.flow.process.interrupts import every_stop_signal

PATIENCE_S = 120
HANGS = """
import os, time
from pathlib import Path
from ludus.flow import HeadSpec
from ludus.games.python_game import declare, tensor


class Hangs:
    def __init__(self):
        self.spec = declare("hangs", observation=[tensor("tick", (1,))], heads=[HeadSpec("move", 2)], seats=1)

    def reset(self, seed):
        Path("pid").write_text(str(os.getpid()))
        time.sleep(600)

    def to_act(self):
        return (0,)

    def step(self, actions):
        return True

    def rewards(self, out):
        out[...] = 0

    def outcome(self, out):
        out[...] = 0

    def observe(self, seat, out):
        out["tick"][...] = 0


GAME = Hangs
"""


@pytest.fixture
def handlers() -> Iterator[None]:
    """Protect the process of the tests, which a signal with its default action would end."""
    before = {s: signal.getsignal(s) for s in every_stop_signal()}
    for number in before:
        signal.signal(number, lambda number, frame: None)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("handlers")
@pytest.mark.parametrize("number", every_stop_signal(), ids=lambda number: signal.Signals(number).name)
def test_a_command_that_a_signal_stops_cleans_up_and_ends_with_130(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cleaned: list[bool] = []

    def works(doctor: Doctor) -> int:
        try:
            os.kill(os.getpid(), number)
            time.sleep(0.001)
        finally:
            cleaned.append(True)
        return 0

    monkeypatch.setattr(Doctor, "run", works)
    assert cli.main(["doctor"]) == 130
    assert cleaned == [True]
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.usefixtures("handlers")
def test_a_command_under_nohup_outlives_its_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    def works(doctor: Doctor) -> int:
        os.kill(os.getpid(), signal.SIGHUP)
        time.sleep(0.001)
        return 0

    monkeypatch.setattr(Doctor, "run", works)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert cli.main(["doctor"]) == 0


def test_the_processes_of_a_check_end_with_it(tmp_path: Path) -> None:
    (tmp_path / "hangs.py").write_text(HANGS)
    command = [sys.executable, "-m", "ludus", "games", "check", "./hangs.py"]
    check = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    end = time.monotonic() + PATIENCE_S
    try:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            assert check.poll() is None, check.communicate()[1]
            assert time.monotonic() < end
            time.sleep(0.02)
        player = int((tmp_path / "pid").read_text())
        check.send_signal(signal.SIGHUP)
        _, notes = check.communicate(timeout=PATIENCE_S)
        assert check.returncode == 130, notes
        assert notes.splitlines()[-1] == "interrupted"
        assert not Path(f"/proc/{player}").exists()
    finally:
        check.kill()
        check.wait()


def test_an_engine_that_waits_for_commands_ends_on_a_hangup() -> None:
    command = [sys.executable, "-m", "ludus", "gtp", "random", "--size", "5"]
    engine = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert engine.stdin is not None
        assert engine.stdout is not None
        engine.stdin.write("1 name\n")
        engine.stdin.flush()
        assert engine.stdout.readline().startswith("=1 ")
        engine.send_signal(signal.SIGHUP)
        assert engine.wait(PATIENCE_S) == 130
    finally:
        engine.kill()
        engine.communicate()

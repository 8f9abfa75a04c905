"""Stop signals to a server: the match that is being played is saved, whatever the signal."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ludus.flow.process.interrupts import every_stop_signal
from ludus.games import replays
from ludus.web.serve.library import Library
from ludus.web.serve.matches import Sessions
from ludus.web.serve.server import PageServer
from ludus.web.serve.watching import watch_run
from tests.web.serving import PATIENCE_S, Client, free_port
from tests.web.small_runs import make_run

BOARD = "connect_four"


_unhandled: list[str] = []  # signals whose default action would have ended the process


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Protect the process of the tests from signals that the server does not handle."""
    _unhandled.clear()
    before = {s: signal.getsignal(s) for s in every_stop_signal()}
    for number in before:
        signal.signal(number, _note)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def _note(number: int, frame: object) -> None:
    _unhandled.append(signal.Signals(number).name)


def serve_until_signalled(folder: Path, play: Callable[[PageServer], object], *numbers: int) -> None:
    """Serve in this thread; another one plays, and sends the signals then."""
    server = PageServer(Library(folder), free_port())
    failed: list[BaseException] = []

    def meanwhile() -> None:
        try:
            assert server.wait_until_ready(PATIENCE_S)
            play(server)
        except BaseException as error:
            failed.append(error)
            server.stop()
            return
        for number in numbers:
            os.kill(os.getpid(), number)
        end = time.monotonic() + PATIENCE_S
        while not server._server.should_exit and not _unhandled and time.monotonic() < end:
            time.sleep(0.01)
        server.stop()

    thread = threading.Thread(target=meanwhile, daemon=True)
    thread.start()
    server.run()
    thread.join(PATIENCE_S)
    assert failed == []
    assert _unhandled == []


def one_move(server: PageServer) -> None:
    """Play one move against a bot."""
    page = Client(server).play(BOARD, "person", "tactical").greet()
    page.act(3)
    page.get("moment")


@pytest.mark.parametrize("number", every_stop_signal(), ids=lambda number: signal.Signals(number).name)
def test_a_stop_signal_saves_the_match_in_play(number: int, tmp_path: Path) -> None:
    serve_until_signalled(tmp_path, one_move, number)
    (file,) = (tmp_path / "plays").glob("*.ludus")
    assert replays.verify(file.read_bytes()).same
    assert not replays.info(file.read_bytes()).over
    assert signal.getsignal(number) is _note


def test_a_second_hangup_does_not_cut_off_the_saving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel and the shell each send one when a terminal closes."""
    stop = Sessions.stop

    def hung_up(matches: Sessions, seconds: float) -> None:
        os.kill(os.getpid(), signal.SIGHUP)
        stop(matches, seconds)

    monkeypatch.setattr(Sessions, "stop", hung_up)
    serve_until_signalled(tmp_path, one_move, signal.SIGHUP)
    assert len(list((tmp_path / "plays").glob("*.ludus"))) == 1


def test_a_second_ctrl_c_does_not_wait_for_the_saving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sessions, "stop", lambda matches, seconds: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        serve_until_signalled(tmp_path, lambda server: None, signal.SIGINT)


def test_the_watched_match_of_a_run_is_saved_on_a_hangup(tmp_path: Path) -> None:
    run = make_run(tmp_path / "mine")

    def watch(server: PageServer) -> None:
        session = watch_run(server.matches, run.path)
        page = Client(server).socket(session.match).greet()
        page.get("moment")

    serve_until_signalled(tmp_path, watch, signal.SIGHUP)
    assert list(run.path.rglob("played/*.ludus"))


def test_a_hangup_that_nohup_ignores_ends_no_server(tmp_path: Path) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def play_on(server: PageServer) -> None:
        page = Client(server).play(BOARD, "person", "tactical").greet()
        os.kill(os.getpid(), signal.SIGHUP)
        page.act(3)
        page.get("moment")
        assert not server._server.should_exit

    serve_until_signalled(tmp_path, play_on, signal.SIGTERM)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN

"""How far a command is: bars on a terminal, lines elsewhere, bounds of the time left."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from ludus.cli import console, live, progress
from ludus.cli.match_options import hooks_of
from ludus.cli.progress import Display, Progress, Ticker, bar, counted
from ludus.evaluation.play import opponent, play_matches
from ludus.evaluation.progress import MatchProgress
from ludus.evaluation.settings import MatchSettings
from ludus.games import spec
from ludus.presets.file import load_preset
from ludus.reporting.sinks import RunStart


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [50.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


class Ended:
    """A match that is over."""

    def __init__(self, ticks: int) -> None:
        self.ticks = ticks


def test_a_bar_is_as_full_as_its_share() -> None:
    assert bar(0.0) == "[----------------]"
    assert bar(0.5) == "[########--------]"
    assert bar(1.0) == bar(7.0) == "[################]"
    assert bar(-1.0) == bar(0.0)
    assert counted("the rules: match 1,500 of 2,000 by random decisions") == 0.75
    assert counted("bot 1 of 3: match 5 of 20") == 0.25
    assert counted("speed") is None
    assert counted("0 of 0") is None


def test_moves_count_and_the_limit_bounds_the_time_before_a_match_is_over(clock: list[float]) -> None:
    matches = MatchProgress(10)
    assert matches.left() == ""
    matches.started(spec("connect_four"))  # at most 42 moves a match
    matches.played(42)
    clock[0] += 10.0
    assert matches.share() == pytest.approx(0.1)
    assert matches.text() == "0 of 10 matches are over, 42 moves, at most 1:30 min left"
    matches.finished([Ended(20)])  # type: ignore[list-item]
    assert "at most" in matches.left(), "the first to end are the shortest"
    matches.finished([Ended(20), Ended(20)])  # type: ignore[list-item]
    matches.played(58)
    assert matches.text() == "3 of 10 matches are over, 100 moves, about 0:10 min left"
    matches.finished([Ended(20)] * 7)  # type: ignore[list-item]
    assert matches.left() == ""


def test_the_limit_of_a_game_in_real_time_is_no_estimate(clock: list[float]) -> None:
    matches = MatchProgress(10)
    matches.started(spec("minirts"))
    matches.played(500)
    clock[0] += 10.0
    assert matches.text() == "0 of 10 matches are over, 500 ticks"
    matches.finished([Ended(400)])  # type: ignore[list-item]
    clock[0] += 5000.0
    assert matches.left() == "about 12:31 h left"


def test_matches_tell_their_game_and_moves() -> None:
    game = spec("tic_tac_toe")
    shown = Progress(8, quiet=True)
    one, two = (opponent("mcts:5", game, {}, seed) for seed in (1, 2))
    play_matches(game, {}, one, two, MatchSettings(matches=8), hooks_of(shown))
    assert re.fullmatch(r"8 of 8 matches, \d\d moves, 0:0\d min", shown.line())


@pytest.mark.parametrize(("columns", "barred"), [(60, True), (40, False), (24, False)])
def test_a_line_on_a_terminal_is_no_longer_than_it(
    monkeypatch: pytest.MonkeyPatch, columns: int, barred: bool
) -> None:
    drawn: list[str] = []
    monkeypatch.setattr(console, "redraws", lambda: True)
    monkeypatch.setattr(console, "draw", drawn.append)
    monkeypatch.setattr(progress, "REDRAW_S", 0.01)
    monkeypatch.setattr(progress, "_columns", lambda: columns)
    with Display("check: match 10 of 20") as display:
        while not drawn:
            display._closed.wait(0.01)
    line = "[0:00 min] check: match 10 of 20"
    line = f"[########--------] {line}" if barred else line
    assert drawn[0] == f"\r{line[: columns - 1]}\x1b[K"
    assert drawn[-1] == "\r\x1b[K"


def test_matches_that_are_watched_fill_the_bar_by_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    matches = MatchProgress(4)
    matches.started(spec("connect_four"))
    matches.played(84)
    monkeypatch.setattr(progress, "_columns", lambda: 80)
    display = Display("first")
    display.watch("old against new", matches)
    assert display.text() == f"old against new: 0 of 4 matches, {matches.left()}"
    assert display._barred("text") == "[########--------] text"
    display.say("2 of 8")
    assert display._barred("text") == "[####------------] text"
    display.say("no count")
    assert display._barred("text") == "text"


def test_lines_elsewhere_have_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    for quiet in (False, True):
        with Ticker(lambda: "match 1 of 2", quiet=quiet, every_s=0.01) as ticker:
            ticker._closed.wait(0.1)
    out, err = capsys.readouterr()
    assert out == ""
    assert set(err.splitlines()) == {"match 1 of 2"}


def test_the_board_has_a_bar_of_the_work_before_the_first_update(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    view = live.LiveView()
    view.console = Console(file=io.StringIO(), width=70, height=20)
    loaded = load_preset("minirts")

    def drawn(share: float | None) -> str:
        view.start(RunStart(Path("run"), loaded.preset, spec("minirts"), lambda: "self-play", lambda: share))
        with view.console.capture() as capture:
            view.console.print(view.render())
        return capture.get()

    assert "━" in drawn(0.5)
    assert "━" not in drawn(None)

    def broken() -> float:
        raise RuntimeError("a number changed")

    view.share = broken
    with view.console.capture() as capture:
        view.console.print(view.render())
    assert "self-play" in capture.get()

"""Views of a run: lines without a terminal, a board with one."""

from __future__ import annotations

import io
import itertools
import os
import queue
from pathlib import Path

import msgspec
import pytest

from ludus.cli import line_view, live, update_texts
from ludus.evaluation.results import EvalResult
from ludus.games import spec
from ludus.presets.file import load_preset
from ludus.reporting.metrics import EvaluationMetrics, UpdateMetrics
from ludus.reporting.sinks import RunStart


def update(minutes_left: float | None = 2.5) -> UpdateMetrics:
    numbers = {
        "policy/entropy": 1.25,
        "learner/sample_reuse": 0.98,
        "rollout/length": 4012.0,
        "rollout/win_rate/simple": 0.5,
        "lag/mean": 1.0,
        "lag/max": 2.0,
        "time/minutes": 1.5,
        "time/update_s": 0.5,
        "throughput/ticks_per_s": 1.2e6,
        "throughput/steps_per_s": 24_000.0,
    }
    if minutes_left is not None:
        numbers["time/minutes_left"] = minutes_left
    return UpdateMetrics(
        version=12,
        steps=345_678,
        received=400_000,
        ticks=17_000_000,
        matches=4321,
        progress=0.25,
        numbers=numbers,
    )


def evaluation() -> EvaluationMetrics:
    result = EvalResult(
        player="version 12",
        against="simple",
        game="minirts",
        matches=200,
        win_rate=0.684,
        ci_low=0.617,
        ci_high=0.745,
        wins=137,
        draws=0,
        losses=63,
        score=0.684,
        mean_ticks=4000.0,
        mean_return=0.3,
        errors=0,
        seed=1,
    )
    return EvaluationMetrics(12, 345_678, 0.617, True, (result,))


def test_lines_come_every_ten_seconds_and_with_every_event(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [40.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    view = line_view.LineView()
    for passed in (60.0, 3.0, 6.9, 0.2):  # at 100, 103, 109.9 and 110.1 s, 40 of which came before the view
        now[0] += passed
        view.update(update())
    view.evaluation(evaluation())
    view.message("problem: the disk is full")
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 4
    numbers = (
        "version 12, 346 k decisions, 1.2 M ticks/s, 24 k decisions/s, "
        "2.00 updates/s, lag 1.00 (max 2), reuse 0.98, won simple 50.0%"
    )
    assert lines[:2] == [f"[{minutes} min, 2:30 min left] {numbers}" for minutes in ("1:00", "1:10")]
    assert lines[2] == "evaluation of version 12: simple 68.4% [61.7, 74.5] of 200 (best so far)"
    assert lines[3] == "problem: the disk is full"


@pytest.mark.parametrize("update_s", [0.02, 0.9, 1.2, 2.5, 7.0])
def test_no_activity_takes_the_place_of_numbers(monkeypatch: pytest.MonkeyPatch, update_s: float) -> None:
    """A line every second: each has the newest numbers, whatever the time between two updates."""
    now, lines = [0.0], list[tuple[float, str]]()
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("ludus.cli.console.note", lambda text: lines.append((now[0], text)))
    view = line_view.LineView(every_s=1.0)
    view.doing = lambda: "matches are being played"
    sent = 0
    while now[0] < 42.0:
        now[0] = round(now[0] + 0.01, 2)
        if now[0] >= (sent + 1) * update_s:
            sent += 1
            view.update(msgspec.structs.replace(update(), version=sent))
        if now[0] >= view._due():  # what the view's thread does
            view._write(now[0])
    first = next(i for i, (_, text) in enumerate(lines) if "version" in text)
    assert all("won simple 50.0%" in text and "] version" in text for _, text in lines[first : first + 1])
    assert all("version" in text and "won simple 50.0%" in text for _, text in lines[first:])
    gaps = [b[0] - a[0] for a, b in itertools.pairwise(lines)]
    assert max(gaps) <= max(1.0, min(update_s, 2.0)) + 0.02  # an activity where no update came for two
    numbers = [text for _, text in lines if "] version" in text]
    assert len(numbers) >= min(sent, 42.0 / max(1.0, update_s)) - 1
    clocks = [text[1:5] for _, text in lines]
    assert clocks == sorted(clocks)
    if update_s <= 2.0:
        assert len(numbers) == len(lines) - first


def test_quiet_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with live.make_view(quiet=True) as view:
        view.start(RunStart(Path("r"), load_preset("minirts").preset, spec("minirts")))
        view.update(update())
        view.evaluation(evaluation())
        view.message("anything")
    assert capsys.readouterr() == ("", "")


def test_without_a_terminal_the_view_writes_lines() -> None:
    assert isinstance(live.make_view(quiet=False), line_view.LineView)


def with_win_rates(names: list[str]) -> UpdateMetrics:
    numbers = {n: v for n, v in update().numbers.items() if not n.startswith("rollout/win_rate/")}
    numbers |= {f"rollout/win_rate/{name}": 0.5 for name in names}
    return msgspec.structs.replace(update(), numbers=numbers)


def board(view: live.LiveView, width: int = 120, height: int = 40) -> str:
    from rich.console import Console

    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=False)
    view.console = console
    console.print(view.render())
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_the_board_shows_numbers_messages_and_time_left() -> None:
    pytest.importorskip("rich")
    view = live.LiveView()
    assert "│ starting" in board(view)
    view.start(RunStart(Path("runs/r"), load_preset("minirts").preset, spec("minirts")))
    view.update(update())
    text = board(view)
    shown_always = (
        "runs/r|1.2 M ticks/s|24 k decisions/s|2.00 updates/s|lag 1.00 (max 2)|reuse 0.98|2:30 min left"
    )
    for shown in [
        *shown_always.split("|"),
        "simple",
        "50.0%",
        "not yet",
        "policy: entropy 1.25",
        "no checkpoint yet",
    ]:
        assert shown in text
    view.evaluation(evaluation())
    view.checkpoint(Path("c"), 12)
    view.message("something was decided")
    text = board(view)
    for shown in ("68.4% [61.7, 74.5] of 200", "best 12", "checkpoint 12", "something was decided"):
        assert shown in text
    view.update(update(minutes_left=None))
    assert "Ctrl-C saves and ends" in board(view)


@pytest.mark.parametrize("opponents", [1, 3, 20])
def test_the_board_fits_a_small_terminal_with_the_win_rates_first(opponents: int) -> None:
    pytest.importorskip("rich")
    view = live.LiveView()
    view.start(
        RunStart(Path("runs/minirts-20261120-1530-3f2a"), load_preset("minirts").preset, spec("minirts"))
    )
    (result,) = evaluation().results
    names = [f"opponent_{i}" for i in range(opponents)]
    results = tuple(msgspec.structs.replace(result, against=name) for name in names)
    view.evaluation(msgspec.structs.replace(evaluation(), results=results))
    view.update(with_win_rates(names))
    for i in range(9):
        view.message(f"message {i} " + "of many words " * 9)
    lines = board(view, 60, 15).splitlines()
    assert len(lines) <= 14  # the cursor is below
    assert all(len(line) <= 60 for line in lines)
    assert lines[1].split()[1:6] == ["against", "evaluation", "of", "version", "12"]
    assert "68.4% [61.7, 74.5] of 200" in lines[2]
    assert "50.0%" in lines[2]
    if opponents == 1:
        text = "\n".join(lines)
        for shown in ("1.2 M ticks/s", "2.00 updates/s", "lag 1.00", "2:30 min left", "message 8"):
            assert shown in text


def test_a_league_has_a_row_for_each_member() -> None:
    pytest.importorskip("rich")
    view = live.LiveView()
    view.start(RunStart(Path("runs/r"), load_preset("minirts").preset, spec("minirts")))
    rates = {"throughput/received_per_s": 1500.0, "throughput/consumed_per_s": 4500.0}
    main = msgspec.structs.replace(update(), player="main", outcomes={"main:0": (6, 4, 0)})
    main = msgspec.structs.replace(main, numbers=main.numbers | rates)
    view.update(main)
    other = msgspec.structs.replace(update(), player="exploiter", steps=1000, version=3, outcomes={})
    view.update(other)
    view.update(msgspec.structs.replace(main, outcomes={"main:0": (0, 0, 5), "simple": (0, 0, 5)}))
    view.evaluation(evaluation())
    lines = board(view).splitlines()
    assert lines[1].split()[1:7] == ["member", "version", "decisions", "score", "return", "lag"]
    assert lines[1].split()[7:] == ["received", "consumed", "│"]
    assert lines[2].split()[1:8] == ["main", "12", "346", "k", "72.0%", "-", "1.00"]
    assert lines[2].split()[8:-1] == ["1.5", "k/s", "4.5", "k/s"]
    assert lines[3].split()[1:-1] == ["exploiter", "3", "1", "k", "-", "-", "1.00", "-", "-"]
    text = "\n".join(lines)
    assert "347 k decisions, 8.64 k matches" in text
    assert "simple 68.4% [61.7, 74.5] of 200" in text


def test_a_run_without_a_league_shows_what_its_learner_receives_and_consumes() -> None:
    numbers = {"throughput/received_per_s": 24_000.0, "throughput/consumed_per_s": 72_000.0}
    metrics = msgspec.structs.replace(update(), numbers=update().numbers | numbers)
    assert update_texts.flow_text(metrics) == "24 k/s received, 72 k/s consumed"
    assert update_texts.flow_text(update()) == ""
    pytest.importorskip("rich")
    view = live.LiveView()
    view.start(RunStart(Path("runs/r"), load_preset("minirts").preset, spec("minirts")))
    view.update(metrics)
    assert "24 k/s received, 72 k/s consumed" in board(view)


def with_rollouts(count: int) -> UpdateMetrics:
    """Return an update by ``count`` rollouts, of which the last is slow and another died."""
    numbers = {"cluster/rollouts": float(count), "cluster/wait_s": 0.31}
    numbers |= {"cluster/deaths": 1.0, "cluster/slabs_dropped": 1.0, "cluster/ahead": 2.0}
    for i in range(count):
        slow = i == count - 1
        numbers[f"cluster/matches_per_s/{i}"] = 0.5 if slow else 12.25
        numbers[f"cluster/lag/{i}"] = 4.0 if slow else 1.0
        numbers[f"cluster/idle/{i}"] = 0.0 if slow else 0.125
    return msgspec.structs.replace(update(), numbers=update().numbers | numbers)


def test_a_cluster_has_a_row_for_each_rollout() -> None:
    pytest.importorskip("rich")
    view = live.LiveView()
    view.start(RunStart(Path("runs/r"), load_preset("minirts").preset, spec("minirts")))
    view.update(with_rollouts(11))
    lines = [line.split()[1:-1] for line in board(view).splitlines()]
    head = lines.index(["part", "matches/s", "lag", "idle"])
    assert lines[head + 1] == ["0", "12.25", "1", "12.5%"]
    assert lines[head + 10] == ["9", "12.25", "1", "12.5%"]
    assert lines[head + 11] == ["10", "0.50", "4", "0.0%"]
    assert "11 rollouts: waited 0.31 s, 2 rounds ahead, 1 died, 1 slab lost" in board(view)
    fewer = with_rollouts(11)
    view.update(msgspec.structs.replace(fewer, numbers=fewer.numbers | {"cluster/present": 4.0}))
    assert "4 of 11 rollouts: waited 0.31 s" in board(view)


def test_a_board_with_many_rollouts_fits_a_small_terminal() -> None:
    pytest.importorskip("rich")
    view = live.LiveView()
    view.start(RunStart(Path("runs/r"), load_preset("minirts").preset, spec("minirts")))
    view.update(with_rollouts(200))
    lines = board(view, 60, 15).splitlines()
    assert len(lines) <= 14
    assert "lag 1.00" in "\n".join(lines)
    assert any(line.split()[1:3] == ["0", "12.25"] for line in lines)


def test_a_run_in_one_process_has_no_rows_of_rollouts() -> None:
    pytest.importorskip("rich")
    view = live.LiveView()
    view.start(RunStart(Path("runs/r"), load_preset("minirts").preset, spec("minirts")))
    view.update(update())
    assert "rollout" not in board(view)


def test_a_line_names_the_member(capsys: pytest.CaptureFixture[str]) -> None:
    view = line_view.LineView(every_s=0.0)
    view.update(msgspec.structs.replace(update(), player="main"))
    assert "] main version 12," in capsys.readouterr().err


def test_a_method_without_rates_of_training_shows_the_last_evaluation(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """AlphaZero plays against itself; an opening has no rates yet."""
    view = line_view.LineView(every_s=0.0)
    view.update(with_win_rates([]))
    assert capsys.readouterr().err.endswith("reuse 0.98\n")
    view.evaluation(evaluation())
    view.update(with_win_rates([]))
    assert capsys.readouterr().err.endswith("reuse 0.98, version 12: won simple 68.4%\n")
    view.update(update())
    assert capsys.readouterr().err.endswith("reuse 0.98, won simple 50.0%\n")


def test_a_board_says_what_the_run_does_where_no_update_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    now = [1000.0]
    monkeypatch.setattr("ludus.cli.live.time.monotonic", lambda: now[0])
    view = live.LiveView()
    matches = "evaluation of version 12: 3 of 200 matches are over, 1,204 ticks"
    view.start(RunStart(Path("r"), load_preset("minirts").preset, spec("minirts"), lambda: matches))
    view.update(update())
    assert matches not in board(view)
    now[0] += 6.0
    for height in (40, 15):
        assert matches in board(view, 120, height)


def test_a_board_shows_that_a_curriculum_helps() -> None:
    helped = update()
    numbers = dict(helped.numbers)
    numbers["rollout/win_rate_with_help/simple"] = numbers.pop("rollout/win_rate/simple")
    helped = msgspec.structs.replace(helped, numbers=numbers)
    assert "won with help simple 50.0%" in update_texts.results_text(helped)
    board = live.LiveView()
    for metrics, wanted in ((helped, True), (update(), False)):
        board.update(metrics)
        text = io.StringIO()
        board.console = type(board.console)(file=text, width=100, height=30)
        board.console.print(board.render())
        assert ("training, with help" in text.getvalue()) == wanted
        assert "50.0%" in text.getvalue()


def test_a_run_in_the_background_leaves_the_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """``ludus train minirts &``: a process in the background that sets the terminal is stopped."""
    ours, other = os.openpty()
    called: list[object] = []
    monkeypatch.setattr("termios.tcsetattr", lambda *given: called.append(given))
    try:
        for group, calls in ((os.getpgrp() + 1, 0), (os.getpgrp(), 2)):
            monkeypatch.setattr("os.tcgetpgrp", lambda file, group=group: group)
            called.clear()
            with live.quiet_control_keys(other):
                assert len(called) == calls // 2
            assert len(called) == calls
    finally:
        os.close(ours)
        os.close(other)


@pytest.mark.parametrize(("term", "draws"), [("", False), ("dumb", False), ("xterm-256color", True)])
def test_boards_need_a_terminal_that_redraws(monkeypatch: pytest.MonkeyPatch, term: str, draws: bool) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert isinstance(live.make_view(quiet=False), live.LiveView) is draws


def test_lines_come_before_the_first_update_and_between_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    """AlphaZero's first update may take minutes."""
    spoken: queue.Queue[str] = queue.Queue()
    monkeypatch.setattr("ludus.cli.console.note", spoken.put)

    def fails() -> str:
        raise RuntimeError("the run is just being closed")

    with line_view.LineView(every_s=0.001) as view:
        assert spoken.get(timeout=60).endswith("min] starting")  # while games and processes start
        loaded = load_preset("go5").preset
        view.start(RunStart(Path("r"), loaded, spec("go"), lambda: "self-play: 12 moves"))
        while spoken.get(timeout=60) != "[0:00 min] self-play: 12 moves":
            pass
        view.update(update())
        while "version 12, 346 k decisions" not in spoken.get(timeout=60):
            pass
        last = "; last update: version 12, won simple 50.0%"
        assert spoken.get(timeout=60) == "[0:00 min] self-play: 12 moves" + last
        view.doing = fails
        while "] working; last" not in spoken.get(timeout=60):
            pass
    assert not view._thread.is_alive()

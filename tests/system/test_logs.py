"""Logs of runs without a terminal: every line has numbers, and one clock that never goes back."""

from __future__ import annotations

import itertools
import re
import subprocess
import time
from pathlib import Path

import pytest

from ludus.cli.line_view import LineView
from ludus.cli.progress import Display, Progress
from ludus.presets.config import Preset
from ludus.presets.file import load_preset, parse_preset
from ludus.reporting.metrics import UpdateMetrics
from ludus.reporting.sinks import Sink
from ludus.training.runs import start_run

from .test_command_line import COMMAND, ENVIRONMENT, PRESET

CLOCK = re.compile(r"^\[(\d+):(\d\d) min")
NUMBERS = re.compile(
    r"^\[\d+:\d\d min(, \d+:\d\d min left)?\] version \d+, .* decisions/s, .* won random \d+\.\d%$"
)
ENDLESS = {"run.max_steps": "0", "run.max_minutes": "10", "evaluation.final_matches": "0"}


def clocks(lines: list[str]) -> list[int]:
    """Return the seconds of every line that has a clock."""
    found = [CLOCK.match(line) for line in lines]
    return [60 * int(m[1]) + int(m[2]) for m in found if m]


class Enough(Sink):
    """Sink that ends the run after as many lines as are wanted, or after a while."""

    def __init__(self, lines: list[str], wanted: re.Pattern[str], count: int) -> None:
        self.lines, self.wanted, self.count = lines, wanted, count
        self.until = time.monotonic() + 200

    def update(self, metrics: UpdateMetrics) -> None:
        if sum(bool(self.wanted.search(line)) for line in list(self.lines)) >= self.count:
            self.stop = "enough lines"
        elif time.monotonic() > self.until:
            self.stop = "too late"


def logged(preset: Preset, run: Path, monkeypatch: pytest.MonkeyPatch, wanted: re.Pattern[str]) -> list[str]:
    """Return the lines of a run that ends after four of the ``wanted`` ones, a line each quarter second."""
    lines: list[str] = []
    monkeypatch.setattr("ludus.cli.console.note", lines.append)
    with LineView(every_s=0.25) as view:
        start_run(preset, run, sinks=[view, Enough(lines, wanted, 4)])
    return lines


def test_a_line_in_each_interval_has_version_and_win_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preset = parse_preset(PRESET.encode(), "small.toml", overrides=ENDLESS).preset
    lines = logged(preset, tmp_path / "run", monkeypatch, NUMBERS)
    timed = [line for line in lines if CLOCK.match(line)]
    numbers = [bool(NUMBERS.search(line)) for line in timed]
    assert sum(numbers) >= 4, lines
    assert clocks(lines) == sorted(clocks(lines))
    first = next(i for i, line in enumerate(timed) if "won random" in line)
    for line in timed[first:]:  # what the run does repeats the last numbers
        assert re.search(r"version \d+.*won random \d+\.\d%", line), lines


def test_alphazero_starts_with_self_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The initial weights are evaluated with the last ones, if there is no evaluation before."""
    overrides = {
        "algorithm.self_play.slots": "8",
        "algorithm.round_positions": "48",
        "algorithm.window_matches_min": "4",
        "algorithm.search.visits": "16",
        "evaluation.matches": "4",
        "evaluation.final_matches": "0",
        "evaluation.every_steps": "0",
        "run.max_steps": "200",
        "run.max_minutes": "0",
        "run.threads": "1",
    }
    preset = load_preset("tic_tac_toe-alphazero", overrides).preset
    seen: list[str] = []

    class Watching(Sink):
        """Sink that notes the order of reports."""

        def evaluation(self, evaluation: object) -> None:
            seen.append("evaluation")

        def update(self, metrics: UpdateMetrics) -> None:
            seen.append("update")

    lines: list[str] = []
    monkeypatch.setattr("ludus.cli.console.note", lines.append)
    with LineView(every_s=0.02) as view:
        start_run(preset, tmp_path / "run", sinks=[view, Watching()])
    assert seen[0] == "update"
    assert seen[-2:] == ["evaluation", "evaluation"]  # of the initial weights, then of the last
    doing = [line.partition("] ")[2] for line in lines if CLOCK.match(line) and "] starting" not in line]
    assert re.match(
        r"self-play: \d+ of 48 positions( and \d+ of 4 matches)? until the first update, ", doing[0]
    ), lines
    rated = [text for text in doing if text.startswith("evaluation of the initial weights: ")]
    assert all(re.search(r": \d+ of \d+ matches are over, \d+ moves", text) for text in rated), rated
    assert all("; last update: version" in text for text in rated), rated


def test_commands_say_how_far_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread writes the line, whatever the work does: also before the first match is over."""
    lines: list[str] = []
    monkeypatch.setattr("ludus.cli.console.note", lines.append)

    def wait_for(text: str) -> None:
        until = time.monotonic() + 100
        while not any(text in line for line in list(lines)):
            assert time.monotonic() < until, lines
            time.sleep(0.005)

    with Progress(400, every_s=0.01) as progress:
        wait_for("0 of 400 matches, 0:0")
        progress.played(512)
        wait_for("0 of 400 matches, 512 ticks, 0:0")
        progress.count(200)
        wait_for("200 of 400 matches, 512 ticks, 0:0")
        wait_for("min left")
    with Display("reading the run", every_s=0.01) as display:
        wait_for("min] reading the run")
        display.say("old against new")
        wait_for("min] old against new")
    count = len(lines)
    with Progress(9, every_s=0.001, quiet=True), Display("x", every_s=0.001, quiet=True):
        time.sleep(0.05)
    assert len(lines) == count


@pytest.mark.slow
def test_a_piped_run_of_a_minute_shows_its_numbers(tmp_path: Path) -> None:
    """The command itself, at the lowest priority: a line every ten seconds."""
    (tmp_path / "small.toml").write_text(PRESET.replace("max_steps = 1000", "max_minutes = 1.0"))
    done = subprocess.run(
        ["nice", "-n", "19", *COMMAND, "train", "small.toml", "--run-dir", "runs/r"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert sum(bool(NUMBERS.search(line)) for line in lines) >= 4, done.stderr
    times = clocks(lines)
    assert times == sorted(times)
    trained = clocks([line for line in lines if NUMBERS.search(line)])
    assert sum(b - a <= 12 for a, b in itertools.pairwise(trained)) >= 3

"""``make bench-peers`` ends all processes of a row: one that stays would slow the next row's sides."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from benchmarks.peers.curves import Curve, CurvesDocument, Episode
from benchmarks.peers.curves import figures_of as curve_figures
from benchmarks.peers.curves import lines_of as curve_lines
from benchmarks.peers.record import Document, Row, Settings, figures_of, lines_of, wanted_of
from benchmarks.peers.turns import Side, tree

# Starts a process that outlives it, as Sample Factory's workers do, and prints its progress.
PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
with open(sys.argv[2], "a", buffering=1) as out:
    print(child.pid, 1, file=out)
    time.sleep(60)
"""


def test_a_sides_children_end_with_it_though_they_outlive_their_parent(tmp_path: Path) -> None:
    side = Side("one", [sys.executable, "-c", PARENT], tmp_path)
    side.warm_up(1, 60.0)
    child = int(side.progress.read_text().split()[0])
    assert child in tree(side.process.pid)
    side.close()
    until = time.monotonic() + 60
    while _runs(child) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _runs(child)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_the_time_of_a_side_has_its_start_and_no_pauses(tmp_path: Path) -> None:
    side = Side("one", [sys.executable, "-c", PARENT], tmp_path)
    side.warm_up(1, 60.0)
    started = side.ran_s(time.monotonic_ns())
    time.sleep(0.3)  # stopped
    assert started > 0.0
    assert side.ran_s(time.monotonic_ns()) == started
    side.run(0.2)
    side.close()
    begun, end = side.spans[1]
    assert side.ran_s(end) == pytest.approx(started + (end - begun) / 1e9)
    assert side.ran_s(begun + 10**8) == pytest.approx(started + 0.1)


def test_curves_have_the_kills_of_each_part_of_the_time_and_the_floors() -> None:
    episodes = tuple(Episode(s, 0.0, k) for s, k in ((10.0, 1.0), (20.0, 3.0), (50.0, 4.0), (60.0, 6.0)))
    curve = Curve("Ludus", ((5.0, 4096), (55.0, 8192)), episodes)
    floors: dict[str, tuple[float, ...]] = {"standing still": (0.0, 1.0)}
    lines = curve_lines(CurvesDocument(1.0, 1, "auto", (curve,), floors), 2)
    assert [(line.label, line.samples) for line in lines] == [
        ("Ludus, until minute 0.5", (1.0, 3.0)),
        ("Ludus, until minute 1", (4.0, 6.0)),
        ("Ludus, frames", (0.008192,)),
        ("standing still", (0.0, 1.0)),
    ]
    assert [figure.value for figure in curve_figures(lines)] == [2.0, 5.0, 0.008, 0.5]


def test_a_record_has_the_goal_of_each_measured_row() -> None:
    rows = (
        Row("atari-sf", 2.5, peer_turns=(100.0, 110.0), ludus_turns=(150.0, 165.0)),
        Row("vizdoom-sf", 3.0, error="no such package"),
        Row("cartpole-sf", 4.0, peer_turns=(1.0, 1.0), ludus_turns=(9.0, 9.0)),
    )
    document = Document(Settings(12.0, 2, 0, "float32"), rows)
    figures = {figure.label: figure for figure in figures_of(lines_of(document))}
    assert [goal.text(figures[goal.label]) for goal in wanted_of([document])] == [
        "Breakout, Sample Factory, float32: wanted at least 2.5x, missed",
        "CartPole, Sample Factory (its best settings), float32: wanted at least 4x, reached",
    ]

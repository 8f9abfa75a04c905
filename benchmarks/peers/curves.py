"""Learning curves over wall time: Sample Factory's and Ludus's training of Battle, in turns on one machine.

    python -m benchmarks.peers.curves --minutes 20 --json curves.json
    python -m benchmarks.peers.curves --from curves.json --record vizdoom-curves

Both train with the settings of the row ``vizdoom-sf`` of ``compare.py``. One side runs for ``--seconds``
while the other is stopped, until each has run for ``--minutes`` after its first update: neither pays for its
start, as in ``compare.py``. Every episode of the training is written with its return (of the shaped reward)
and its objective: the scenario's own reward, which counts kills. The record has the mean objective of the
episodes that ended in each of ``--windows`` parts of the time, and the same for uniform play and for standing
still.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.peers.environments import Unavailable, python_of
from benchmarks.peers.rows import HERE, ROOT, ROWS, SIDES
from benchmarks.peers.turns import Side, SideError
from ludus.flow import Controller, Lineup, PoolOptions, SeatPlan
from ludus.flow.process.interrupts import like_ctrl_c
from ludus.pool.hosted.process import ProcessPool
from ludus.presets.checks.game import params_text
from ludus.presets.file import load_preset
from tools.figures import figure_of
from tools.new_record import add_record_options, own_command, published
from tools.raw_lines import Line, sampled
from tools.records import Figure

ROW = next(row for row in ROWS if row.name == "vizdoom-sf")
PRESET = HERE / "presets" / f"{ROW.preset}.toml"
PEER, OURS = "Sample Factory", "Ludus"
UNIFORM, STILL = "uniform play", "standing still"
KILLS, FRAMES = "kills a match", "M frames"


class Episode(msgspec.Struct, frozen=True, array_like=True):
    """An episode of a training: when it was received (0: before the first update), and what it earned."""

    seconds: float
    returned: float
    objective: float


class Curve(msgspec.Struct, frozen=True):
    """One side's training: ``frames`` trained on after so many ``seconds``, and every episode."""

    side: str
    frames: tuple[tuple[float, int], ...]
    episodes: tuple[Episode, ...]


class CurvesDocument(msgspec.Struct, frozen=True):
    """Everything that was measured. ``floors``: objective of each match of players that learn nothing."""

    minutes: float
    seed: int
    precision: str
    curves: tuple[Curve, ...]
    floors: dict[str, tuple[float, ...]]


def curve_of(side: Side, name: str, episodes: Path, limit_s: float) -> Curve:
    """Return what a side has written until it had trained for ``limit_s``."""
    steps = [(trained_s(side, int(at)), int(frames)) for at, frames in _rows(side.progress)]
    ended = [Episode(trained_s(side, int(at)), float(r), float(o)) for at, r, o in _rows(episodes)]
    return Curve(
        name,
        tuple(step for step in steps if step[0] <= limit_s),
        tuple(episode for episode in ended if episode.seconds <= limit_s),
    )


def trained_s(side: Side, at: int) -> float:
    """Return the seconds that a side had run at ``at`` (monotonic ns) since its first update."""
    begun, ready = side.spans[0]
    return max(0.0, side.ran_s(at) - (ready - begun) / 1e9)


def _rows(path: Path) -> list[list[str]]:
    """Return the words of each whole line of a file."""
    text = path.read_text() if path.exists() else ""
    return [line.split() for line in text[: text.rfind("\n") + 1].splitlines()]


def measure(args: argparse.Namespace) -> CurvesDocument:
    """Train both sides and play the floors. Raises ``Unavailable`` and ``SideError``."""
    interpreter = python_of(ROW.peer, args.envs.resolve(), sys.executable)
    folder = Path(tempfile.mkdtemp(prefix="ludus-curves-"))
    files = {name: folder / f"{name}.episodes" for name in (PEER, OURS)}
    script = str(HERE / SIDES[ROW.peer])
    peer = [str(interpreter), script, *ROW.program, f"--seed={args.seed}"]
    ours = [sys.executable, str(HERE / "ludus_side.py"), str(PRESET), "--seed", str(args.seed)]
    ours += ["--frames-per-decision", str(ROW.frames_per_decision), "--precision", args.precision]
    path = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])}
    sides = [
        Side(PEER, [*peer, "--episodes", str(files[PEER])], folder / "peer"),
        Side(OURS, [*ours, "--episodes", str(files[OURS])], folder / "ludus", path if args.sources else None),
    ]
    limit_s = 60.0 * args.minutes
    try:
        for side in sides:
            side.warm_up(1, args.limit)
        while any(trained_s(side, time.monotonic_ns()) < limit_s for side in sides):
            for side in sides:
                side.run(args.seconds)
        curves = tuple(curve_of(side, side.name, files[side.name], limit_s) for side in sides)
    finally:
        for side in sides:
            side.close()
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)
    floors = {name: floor(args.matches, args.seed, still=name == STILL) for name in (UNIFORM, STILL)}
    return CurvesDocument(args.minutes, args.seed, args.precision, curves, floors)


def floor(matches: int, seed: int, *, still: bool) -> tuple[float, ...]:
    """Return the objective of each of ``matches`` matches of uniform play, or of doing nothing."""
    game = load_preset(str(PRESET)).preset.game
    options = PoolOptions(slots=8, groups=2, threads=2, seed=seed, num_matches=matches)
    found: list[float] = []
    lineup = Lineup((SeatPlan((Controller(policy=0),)),))
    with ProcessPool(game.name, params_text(game.params), lineup, options) as pool:
        slab = pool.slab(32)
        for group in range(2):
            pool.attach(group, slab)
        step = 0
        while not pool.finished:
            step += 1
            for group in range(2):
                if pool.group_finished(group):
                    continue
                batch = pool.recv(group)
                for result in batch.results:
                    scores = getattr(result, "scores", ())
                    found.append(float(scores[0][0] if scores else result.returns[0]))
                if pool.group_finished(group):
                    continue
                if batch.t == slab.steps:
                    pool.attach(group, slab)
                    batch = pool.recv(group)
                if still:
                    slab.actions[batch.t, batch.rows] = 0
                else:
                    pool.random_actions(group, seed + step)
                pool.send(group)
    return tuple(found)


def lines_of(document: CurvesDocument, windows: int) -> list[Line]:
    """Return for each side and window the objectives of its episodes; frames at the end; the floors."""
    found = []
    for curve in document.curves:
        for end, kills in windowed(curve, document.minutes, windows):
            if kills:
                found.append(sampled(f"{curve.side}, until minute {end:g}", kills))
        frames = max((frames for _, frames in curve.frames), default=0)
        found.append(sampled(f"{curve.side}, frames", [frames / 1e6]))
    return [*found, *(sampled(name, kills) for name, kills in document.floors.items())]


def windowed(curve: Curve, minutes: float, windows: int) -> list[tuple[float, list[float]]]:
    """Return the end of each window in minutes, with the objectives of the episodes that ended in it."""
    ends = [minutes * (n + 1) / windows for n in range(windows)]
    found: list[tuple[float, list[float]]] = [(end, []) for end in ends]
    for episode in curve.episodes:
        at = int(episode.seconds / 60.0 / minutes * windows)
        found[min(at, windows - 1)][1].append(episode.objective)
    return found


def figures_of(lines: Sequence[Line]) -> list[Figure]:
    """Return the figure of each line."""
    found = []
    for line in lines:
        if line.label.endswith(", frames"):
            found.append(figure_of(lines, line.label, FRAMES, "exact"))
        elif len(line.samples) == 1:
            found.append(figure_of(lines, line.label, KILLS, "exact"))
        else:
            found.append(figure_of(lines, line.label, KILLS, "matches"))
    return found


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=20.0, help="of training on each side")
    parser.add_argument("--seconds", type=float, default=60.0, help="of a turn")
    parser.add_argument("--seed", type=int, default=1, help="of both trainings and of the floors")
    parser.add_argument("--matches", type=int, default=100, help="of each floor")
    parser.add_argument("--windows", type=int, default=10, help="parts of the time in the record")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds that a side may start for")
    parser.add_argument("--envs", type=Path, default=ROOT / "build" / "peers", help="folder of environments")
    parser.add_argument("--precision", default="auto", choices=("auto", "float32", "bfloat16"))
    parser.add_argument("--sources", action="store_true", help="Ludus from src/, not the installed one")
    parser.add_argument("--keep", action="store_true", help="leave logs and run directories")
    parser.add_argument("--json", type=Path, help="file for everything that was measured")
    parser.add_argument("--from", type=Path, dest="document", help="such a file: nothing is measured")
    add_record_options(parser)
    return parser


def main() -> None:
    """Run the command line."""
    parser = parser_of()
    args = parser.parse_args()
    if args.minutes <= 0 or args.seconds < 1 or args.windows < 1 or args.matches < 1:
        parser.error(
            "--minutes, --seconds, --windows, --matches: expected numbers above 0, seconds from 1 on"
        )
    try:
        if args.document is not None:
            document = msgspec.json.decode(args.document.read_bytes(), type=CurvesDocument)
        else:
            with like_ctrl_c():
                document = measure(args)
        if args.json is not None:
            args.json.write_bytes(msgspec.json.encode(document) + b"\n")
        lines = lines_of(document, args.windows)
        figures = figures_of(lines)
    except (OSError, ValueError, Unavailable, SideError) as error:
        parser.error(str(error))
    for figure in figures:
        print(figure.text())
    published(
        args,
        section="throughput",
        title="Training of Battle over wall time, Ludus beside Sample Factory, in turns",
        lines=lines,
        figures=figures,
        commands=[own_command("benchmarks.peers.curves")],
        budget=f"{document.minutes:g} minutes of each side, seed {document.seed}",
        notes=[
            "Kills of the training's own matches, by the time at which they ended; one run of each side.",
            "Time counts from the first update of a side, without its pauses.",
        ],
    )


if __name__ == "__main__":
    main()

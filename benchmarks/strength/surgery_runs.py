"""Runs that surgery changes while they train: what `surgery_stages` and `surgery_horizon` share.

Every run is a directory of one folder. A run that has its budget is not trained again, one that was stopped
is resumed, and evaluations are kept in `lines.jsonl`: a second call with the same folder does what is left.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from ludus.evaluation.evaluate import evaluate
from ludus.evaluation.settings import MatchSettings
from ludus.presets.document import to_toml
from ludus.presets.file import load_preset
from ludus.storage import RunDirectory, read_jsonl, read_weights
from tools.raw_lines import UNIFORM, Line, line_of, read_lines

PRESET = "extended"
BOTS = ("rush", "swords", "riders")
UPDATE = 2048  # decisions of an update: 64 slots of 32
#: Of every run: a network that may take any width, and rates that no budget changes.
SETTINGS = {
    "pool.slots": "64",
    "policy.norm": "none",
    "policy.dense": "64",
    "policy.hidden": "64",
    "policy.memory": "lstm",
    "policy.memory_size": "64",
    "algorithm.learning_rate": "5e-4",
    "algorithm.learning_rate_schedule": "constant",
    "algorithm.entropy_coefficient": "0.01",
    "algorithm.entropy_coefficient_final": "0.01",
    "algorithm.minibatches": "4",
    "evaluation.every_steps": "0",
    "evaluation.final_matches": "0",
    "evaluation.initial": "false",
    "run.max_minutes": "0",
    "run.threads": "1",
}
WIDER = {"policy.hidden": "128", "policy.memory_size": "128"}


class Work:
    """A folder of runs, and the lines of the evaluations that were played."""

    def __init__(self, folder: Path, matches: int) -> None:
        """Read the lines of ``folder``. ``matches``: against each bot, in one evaluation."""
        self.folder, self.matches = folder, matches
        self.store = folder / "lines.jsonl"
        self.known = read_lines(self.store) if self.store.is_file() else []

    def run(self, name: str) -> Path:
        """Return the directory of a run."""
        return self.folder / name

    def train(self, name: str, settings: Mapping[str, str]) -> Path:
        """Train a run to its budget, or what is left of it."""
        run = self.run(name)
        if not run.exists():
            _ludus("train", str(self._preset(name, settings)), "--run-dir", str(run), "--quiet")
        elif RunDirectory.open(run).status().state != "finished":
            _ludus("resume", str(run), "--quiet")
        print(f"{name}: {steps_of(run):,} decisions", file=sys.stderr, flush=True)
        return run

    def cut(self, old: str, name: str, settings: Mapping[str, str], *options: str) -> Path:
        """Carry the run ``old`` over to other settings with ``ludus surgery``, where that is not done yet."""
        run = self.run(name)
        if not run.exists():
            target = str(self._preset(name, settings))
            words = ["surgery", f"{self.run(old)}@last", "--to", target, "--run-dir", str(run), "--json"]
            text = _ludus(*words, "--verify", *options)
            (self.folder / f"{name}.surgery.json").write_text(text)
        return run

    def outline(self, name: str) -> dict[str, object]:
        """Return the document that ``ludus surgery`` printed about a run."""
        found: dict[str, object] = json.loads((self.folder / f"{name}.surgery.json").read_text())
        return found

    def judge(self, run: Path, label: str, seed: int | None, *, version: str = "last") -> list[Line]:
        """Play against every bot with equal seeds in each call. Return a line for each bot."""
        found = [line for line in self.known if (line.label, line.seed) == (label, seed)]
        if found:
            return found
        player = UNIFORM if version == UNIFORM else f"{run}@{version}"
        game = load_preset(str(run / "config.toml")).preset.game
        for bot in BOTS:
            settings = MatchSettings(matches=self.matches, seed=1)
            result = evaluate(player, bot, settings, game=game.name, params=dict(game.params))
            line = line_of(result, label, seed=seed, play="drawn")
            found.append(line)
        self.known += found
        with self.store.open("ab") as file:
            file.writelines(msgspec.json.encode(line) + b"\n" for line in found)
        print(f"seed {seed}, {label}: {percent(found):.1f}%", file=sys.stderr, flush=True)
        return found

    def _preset(self, name: str, settings: Mapping[str, str]) -> Path:
        path = self.folder / f"{name}.toml"
        path.write_text(to_toml(load_preset(PRESET, {**SETTINGS, **settings}).preset))
        return path


def _ludus(*words: str) -> str:
    """Run a command of ludus. Return its output. Raises ``ValueError`` with its last line of error."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "ludus", *words],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise ValueError(f"ludus {words[0]}: exit code {done.returncode}: {' '.join(last)}")
    return done.stdout


@contextmanager
def folder_of(args: argparse.Namespace) -> Iterator[Path]:
    """Give ``--folder``, or one that is removed at the end."""
    if args.folder is not None:
        args.folder.mkdir(parents=True, exist_ok=True)
        yield args.folder
        return
    made = Path(tempfile.mkdtemp())
    try:
        yield made
    finally:
        shutil.rmtree(made)


def add_options(parser: argparse.ArgumentParser, matches: int) -> None:
    """Add the options that both programs have."""
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3], help="of the runs")
    parser.add_argument(
        "--matches", type=int, default=matches, help="against each of the three bots, in one evaluation"
    )
    parser.add_argument("--folder", type=Path, help="of the runs; a second call does what is left")
    parser.add_argument("--record", default="", help="name of a record of benchmarks/results to write")
    parser.add_argument("--commit", default="", help="of the record")
    parser.add_argument("--machine", default="", help="of the record")


def steps_of(run: Path) -> int:
    """Decisions of the newest weights of a run, with those before surgery."""
    path = RunDirectory.open(run).checkpoints.weights_path("last")
    return read_weights(path).meta.steps


def percent(lines: Sequence[Line]) -> float:
    """Share of the matches of ``lines`` that were won, in percent."""
    won, matches = (sum(getattr(line, key) or 0 for line in lines) for key in ("won", "matches"))
    return 100.0 * won / matches


def difference(label: str, before: Sequence[Line], after: Sequence[Line], seed: int | None = None) -> Line:
    """Return the line of ``after`` minus ``before`` in points, with its interval over independent matches."""
    spread = 0.0
    for lines in (before, after):
        rate = percent(lines) / 100.0
        spread += rate * (1.0 - rate) / sum(line.matches or 0 for line in lines)
    value, half = percent(after) - percent(before), 196.0 * math.sqrt(spread)
    return Line(label, seed, value=round(value, 3), low=round(value - half, 3), high=round(value + half, 3))


class Window(msgspec.Struct, frozen=True):
    """Training matches of some decisions: ``steps`` since the run or its surgery, ``won`` of ``matches``."""

    steps: int
    won: int
    matches: int


def windows(run: Path, length: int) -> list[Window]:
    """Return the training matches of a run by windows of ``length`` decisions, without earlier ones."""
    found: list[Window] = []
    won = matches = cut = 0
    start: int | None = None
    for row in read_jsonl(run / "metrics.jsonl"):
        if row.get("kind") != "update":
            continue
        outcomes = msgspec.convert(row["outcomes"], dict[str, tuple[int, int, int]])
        won += sum(w for w, _, _ in outcomes.values())
        matches += sum(map(sum, outcomes.values()))
        total = msgspec.convert(row["steps"], int)
        start = total - UPDATE if start is None else start
        if (steps := total - start) >= cut + length:
            found.append(Window(steps, won, matches))
            won, matches, cut = 0, 0, steps
    return found


def reached(found: Sequence[Window], threshold: float, count: int = 5) -> int | None:
    """Return the decisions after which ``count`` windows in a row have ``threshold`` percent of wins."""
    for last in range(count, len(found) + 1):
        part = found[last - count : last]
        matches = sum(w.matches for w in part)
        if matches and 100.0 * sum(w.won for w in part) >= threshold * matches:
            return part[-1].steps
    return None

"""Runs that surgery changes while they train: what `surgery_stages` and `surgery_horizon` share.

Every run is a directory of one folder. A run that has its budget is not trained again, one that was stopped
is resumed, and evaluations are kept in `lines.jsonl`: a second call with the same folder does what is left.
"""

from __future__ import annotations

import argparse
import io
import json
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import msgspec

from benchmarks.strength.evaluated import Store
from ludus.cli.__main__ import main
from ludus.policies.weights import load_meta
from ludus.presets.checks.game import params_text
from ludus.presets.document import to_toml
from ludus.presets.file import load_preset
from ludus.reporting.run_view import RunView
from ludus.storage import RunDirectory, read_weights, resolve_weights
from tools.kept_weights import kept_path
from tools.new_record import add_record_options
from tools.play_lines import TOGETHER, play, run_of, setting_of
from tools.raw_lines import Line
from tools.records import Run

PRESET = "extended"
BOTS = ("rush", "swords", "riders")
SEED = 1  # of the matches
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
    """A folder of runs, the weights that are kept of them, and the lines of finished evaluations."""

    def __init__(self, folder: Path, matches: int, weights: Path, command: str = "") -> None:
        """Read the lines of ``folder``. ``matches``: against each bot, in one evaluation.

        ``weights``: folder of kept weights. ``command``: of the program, which trained the runs.
        """
        self.folder, self.matches, self.weights, self.command = folder, matches, weights, command
        self.store = Store(folder / "lines.jsonl")
        self.runs: dict[tuple[str, str], Run] = {}  # by cell and run
        self.kept_runs = folder / "kept.json"  # of an earlier call: a run may have learned since
        if self.kept_runs.is_file():
            known = msgspec.json.decode(self.kept_runs.read_bytes(), type=list[tuple[str, str, Run]])
            there = (k for k in known if kept_path(k[2].weights, weights).is_file())
            self.runs = {(cell, name): run for cell, name, run in there}

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
            text = _ludus(*words, *options)
            (self.folder / f"{name}.surgery.json").write_text(text)
        return run

    def outline(self, name: str) -> dict[str, object]:
        """Return the document that ``ludus surgery`` printed about a run."""
        found: dict[str, object] = json.loads((self.folder / f"{name}.surgery.json").read_text())
        return found

    def kept(self, run: Path, cell: str, pair: int | None = None) -> Run:
        """Keep the newest weights of a run, once, as a run of ``cell``."""
        key = cell, run.name
        if key not in self.runs:
            reference = f"{run}@last"
            self.runs[key] = run_of(reference, self.command, cell=cell, pair=pair, folder=self.weights)
            rows = [(*names, made) for names, made in self.runs.items()]
            self.kept_runs.write_bytes(msgspec.json.encode(rows))
        return self.runs[key]

    def judge(
        self,
        run: Path,
        label: str,
        *,
        cell: str = "",
        pair: int | None = None,
        rules: str = "",
        times: int = 1,
    ) -> list[Line]:
        """Play against the three bots together, with equal seeds in each call. Return one line.

        Args:
            run: The run of the player.
            label: Label of the line.
            cell: Cell of the experiment (default: the label).
            pair: The seed that the run counts for, where its own is another.
            rules: Text of another rulebook than the run's, with the same spec.
            times: Factor on the number of matches.
        """
        made = self.kept(run, cell or label, pair)
        game = load_preset(str(run / "config.toml")).preset.game
        params = params_text({**game.params, **({"rulebook": rules} if rules else {})})
        matches = times * self.matches * len(BOTS)
        meta = load_meta(resolve_weights(f"{run}@last"))
        setting = setting_of(
            game.name, params, TOGETHER.join(BOTS), "drawn", matches, frame_skip=meta.frame_skip
        )
        found = self.store.find(label, made.counts_for, setting, made.weights)
        line = found or self.store.add(play(label, setting, SEED, run=made, folder=self.weights))
        return [line]

    def _preset(self, name: str, settings: Mapping[str, str]) -> Path:
        path = self.folder / f"{name}.toml"
        path.write_text(to_toml(load_preset(PRESET, {**SETTINGS, **settings}).preset))
        return path


def _ludus(*words: str) -> str:
    """Run a command of ludus in this process. Return its output. Raises ``ValueError`` where it fails."""
    with io.TextIOWrapper(io.BytesIO(), encoding="utf-8") as output:
        with redirect_stdout(output):
            code = main(words)
        if code:
            raise ValueError(f"ludus {shlex.join(words)}: exit code {code}")
        output.flush()
        output.seek(0)
        return output.read()


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
    add_record_options(parser)


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Return the options. A seed that is there twice, which would count twice, ends the program."""
    args = parser.parse_args()
    if len(set(args.seeds)) < len(args.seeds):
        parser.error(f"--seeds {' '.join(map(str, args.seeds))}: expected each seed once")
    for name in ("matches", "steps"):
        if getattr(args, name) < 1:
            parser.error(f"--{name} {getattr(args, name)}: expected at least 1")
    return args


def steps_of(run: Path) -> int:
    """Decisions of the newest weights of a run, with those before surgery."""
    path = RunDirectory.open(run).checkpoints.weights_path("last")
    return read_weights(path).meta.steps


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
    for update in RunView(RunDirectory(run)).metrics().updates:
        won += sum(w for w, _, _ in update.outcomes.values())
        matches += sum(map(sum, update.outcomes.values()))
        start = update.steps - UPDATE if start is None else start
        if (steps := update.steps - start) >= cut + length:
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

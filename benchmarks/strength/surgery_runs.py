"""Runs that surgery changes while they train: what `surgery_stages` and `surgery_horizon` share.

Every run is a directory of one folder. A run that has its budget is not trained again, one that was stopped
is resumed, and evaluations are kept in `lines.jsonl`: a second call with the same folder does what is left.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import msgspec

from benchmarks.strength.run_floors import floor_lines
from ludus.cli.__main__ import main
from ludus.evaluation.evaluate import evaluate
from ludus.evaluation.settings import MatchSettings
from ludus.presets.document import to_toml
from ludus.presets.file import load_preset
from ludus.storage import RunDirectory, read_jsonl, read_weights
from tools.raw_lines import INITIAL, UNIFORM, Line, figures_of, line_of, read_lines
from tools.records import Figure

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
            text = _ludus(*words, *options)
            (self.folder / f"{name}.surgery.json").write_text(text)
        return run

    def weights(self, old: str, name: str, *options: str) -> Path:
        """Return the newest weights of ``old``, carried over to the settings of the run ``name``."""
        file = self.folder / f"{name}.safetensors"
        if not file.exists():
            target = str(self.folder / f"{name}.toml")
            _ludus("surgery", f"{self.run(old)}@last", "--to", target, "--out", str(file), *options)
        return file

    def outline(self, name: str) -> dict[str, object]:
        """Return the document that ``ludus surgery`` printed about a run."""
        found: dict[str, object] = json.loads((self.folder / f"{name}.surgery.json").read_text())
        return found

    def judge(
        self, run: Path, label: str, seed: int | None, *, player: str = "", rules: str = "", times: int = 1
    ) -> list[Line]:
        """Play against every bot, with equal seeds in each call. Return a line for each bot.

        Args:
            run: The run of the player.
            label: Of the lines.
            seed: Of the run; None for a player that was not trained.
            player: Another player than the newest weights of the run.
            rules: Text of another rulebook than that of the run, with the same spec.
            times: Factor on the number of matches.
        """
        key = label, seed, times * self.matches
        found = [line for line in self.known if (line.label, line.seed, line.matches) == key]
        if found:
            return found
        game = load_preset(str(run / "config.toml")).preset.game
        params = {**game.params, **({"rulebook": rules} if rules else {})}
        for bot in BOTS:
            settings = MatchSettings(matches=times * self.matches, seed=1)
            result = evaluate(player or f"{run}@last", bot, settings, game=game.name, params=params)
            name = Path(player).name  # no folder of this machine
            found.append(line_of(result, label, seed=seed, play="drawn", player=name))
        self.known += found
        with self.store.open("ab") as file:
            file.writelines(msgspec.json.encode(line) + b"\n" for line in found)
        print(f"seed {seed}, {label}: {percent(found):.1f}%", file=sys.stderr, flush=True)
        return found

    def floors(self, run: Path, kind: str, seed: int) -> list[Line]:
        """Return the matches of a run's initial weights, and those of uniform play in its game.

        ``kind``: of the game and network, in the labels. The run was trained with :meth:`with_floor`.
        """
        initial = [
            msgspec.structs.replace(line, label=f"{INITIAL}{kind}")
            for line in floor_lines(run / "metrics.jsonl", seed)
            if line.label.startswith(INITIAL)
        ]
        return [*initial, *self.judge(run, f"{UNIFORM} legal play{kind}", None, player=UNIFORM)]

    def with_floor(self) -> dict[str, str]:
        """Return the settings by which a run evaluates its initial weights."""
        return {"evaluation.initial": "true", "evaluation.floor_matches": str(self.matches)}

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
    parser.add_argument("--record", default="", help="name of a record of benchmarks/results to write")
    parser.add_argument("--commit", default="", help="of the record")
    parser.add_argument("--machine", default="", help="of the record")


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


def percent(lines: Sequence[Line]) -> float:
    """Share of the matches of ``lines`` that were won, in percent."""
    won, matches = (sum(getattr(line, key) or 0 for line in lines) for key in ("won", "matches"))
    return 100.0 * won / matches


def print_lines(lines: Sequence[Line]) -> None:
    """Print a line of text for each label."""
    for label in dict.fromkeys(line.label for line in lines):
        mine = [line for line in lines if line.label == label]
        values = [line.value for line in mine if line.value is not None]
        text = ", ".join(f"{v:g}" for v in values) if values else f"{percent(mine):.1f}%"
        print(f"{label}: {text}")


def figures(lines: Sequence[Line], unit: str, seeds: int) -> tuple[Figure, ...]:
    """Return a figure for each label, over the seeds; of fewer than three seeds one for each of them."""
    if seeds >= 3:
        return figures_of(lines, unit, "seeds")
    return figures_of(lines, unit, "wilson" if all(line.won is not None for line in lines) else "line")


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
